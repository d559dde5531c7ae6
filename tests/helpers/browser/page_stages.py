"""A visit in a real browser through every stage that there is, each looked at once: consent,
fields, instructions, questions of every kind, breaks, the end."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from chromium import Chromium, Tab
from hands import Warp
from page_bench import data_folder, hands_of, served

from spanlab.core.locale import sentence
from spanlab.extensions.browser.visits.offers import StudyOffer
from spanlab.sessions.studies.study import load_study

#: Looks at a stage in a tab.
Look = Callable[[str, Tab], None]

EVERYTHING = """\
paradigm: everything
version: 1
title: {en: A little of everything, de: Von allem etwas}
factors:
  list_length: [3]
draw:
  slots: {permutation: {of: 9, take: =list_length}}
  letters: {several: {of: [a, b, c, d, e], count: =list_length}}
timeline:
  - phase: fixation
    model_steps: 0
    show: {fixation: {}, ms: 300}
  - for: slot in slots
    phase: present
    show: {matrix: {grid: 3, filled: "=[slot]", colour: red}, ms: 200}
  - phase: place
    show: {blank: {}}
    ask: {choice: {options: 9, layout: 3x3}, answer: "=slots[0]", prompt: {en: Which place came first?, de: Welcher Ort kam zuerst?}}
  - phase: verdict
    feedback: {right: {text: right, ms: 1500}, wrong: {text: wrong, ms: 1500}}
  - phase: keys
    show: {text: 3 + 4 = 8}
    ask: {choice: {options: ["true", "false"], keys: [f, j]}, answer: "='false'", prompt: {en: Is the sum right?, de: Stimmt die Rechnung?}}
  - phase: marks
    show: {blank: {}}
    ask: {cells: {grid: 3, take: =list_length}, answer: =slots}
  - phase: order
    show: {blank: {}}
    ask: {sequence: {options: [a, b, c, d, e], take: =list_length, unknown: true}, answer: =letters}
  - phase: typed
    show: {blank: {}}
    ask: {text: {more: "äöüß ", most: 12}, answer: "='ab'", prompt: {en: Type the first two letters., de: Tippen Sie die ersten zwei Buchstaben.}}
  - phase: sure
    show: {blank: {}}
    ask: {rating: {from: 1, to: 7, labels: {1: not at all, 4: so so, 7: very}}, prompt: {en: How sure are you?, de: Wie sicher sind Sie?}}
  - phase: effort
    show: {blank: {}}
    ask:
      rating: {from: 0, to: 100, labels: {0: no effort at all, 100: as much as I could}}
      prompt: {en: How hard did you try?, de: Wie sehr haben Sie sich bemüht?}
set_size: =list_length
instructions:
  en: "Remember the places and letters, and answer some questions about them."
  de: "Merken Sie sich Orte und Buchstaben, und beantworten Sie einige Fragen dazu."
translations:
  de: {right: richtig, wrong: falsch, "true": wahr, "false": falsch, not at all: gar nicht, so so: teils, very: sehr, no effort at all: gar nicht,
    as much as I could: so sehr ich konnte}
practice: {trials: 1, feedback: true}
designs:
  human: {repetitions: 2, blocks: 2, interval: 300}
"""  # noqa: E501

STUDY = """\
study: stages
title: Memory at home
languages: [en, de]
paradigms: [{paradigm: everything.yaml}, {paradigm: continuous_colour, trials: 1, practice: false}, {paradigm: corsi, trials: 1, practice: false}]
consent: {en: "You take part of your own free will, and can stop at any time. Your answers are stored without your name.", de: Sie nehmen freiwillig teil.}
debrief: {en: "This was about memory for places and letters. Thank you for your help.", de: Es ging um das Gedächtnis.}
breaks: {text: {en: Rest a little., de: Ruhen Sie sich aus.}}
fields: [age, handedness]
online:
  endings: {completed: {code: C0DE42, redirect: 'https://example.org/done?cc=C0DE42'}}
  require: {phones: PHONES}
"""  # noqa: E501


def stage_of(look: Mapping[str, Any], heading: str, phase: str) -> str:
    """What is on the page, in a word or two; empty in between."""
    if look["notice"]:
        return "notice"
    if look["stage"]:
        what, _, where = str(look["waits"]).partition(" ")
        return f"trial: {phase}" if where and phase and what == "answer" else ""
    if look["form"]:
        return "fields, with what is wrong" if "abc" in look["values"] else "fields"
    return f"page: {heading}" if heading else ""


_MORE = """JSON.stringify({
  heading: document.querySelector("#sheet h1")?.textContent ?? "",
  enabled: [...document.querySelectorAll("#sheet button")].every(button => !button.disabled),
  values: [...document.querySelectorAll("#sheet input")].map(input => input.value).join(" "),
})"""


def walk(
    folder: Path,
    browser: Chromium,
    look_at: Look,
    size: tuple[int, int],
    ratio: float = 1.0,
    touch: bool = False,
    language: str = "en",
) -> list[str]:
    """Take a study from the link to the completion code, and look at each stage once; returns their
    names."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "everything.yaml").write_text(EVERYTHING, encoding="utf-8")
    (file := folder / "stages.yaml").write_text(STUDY.replace("PHONES", "allowed"), encoding="utf-8")
    seen: list[str] = []

    def once(stage: str, tab: Tab) -> None:
        if stage and stage not in seen:
            seen.append(stage)
            look_at(stage, tab)

    with (
        served(StudyOffer.checked(load_study(file), data_folder(folder)), "capacity:2") as server,
        browser.window() as tab,
    ):
        clock = Warp(tab)
        tab.screen(*size, ratio, touch=touch)
        tab.open(server.address("P07"))
        tab.until("document.querySelector('#sheet button') !== null && document.fonts.status === 'loaded'")
        once("start", tab)
        paused: list[bool] = []

        def meanwhile(look: Mapping[str, Any]) -> bool | None:
            more = json.loads(tab.evaluate(_MORE))
            if not more["enabled"]:
                return False
            plan = None
            what, _, where = str(look["waits"]).partition(" ")
            if look["stage"] and what == "answer" and server.agents:
                command, _, step = where.partition(":")
                plan = server.agents[-1].decisions.get((int(command), int(step)))
            phase = "" if plan is None else f"{type(plan.ask.kind).name} {len(plan.ask.kind.surface().regions)}"
            once(stage_of({**look, **more}, more["heading"], phase), tab)
            if plan is not None and "trial: text 31" in seen and not paused and phase.startswith("text"):
                paused.append(True)
                tab.press("escape")
                tab.until("!document.getElementById('notice').hidden")
                once("notice: pause", tab)
                return None
            return False

        for age in ("abc", "31"):
            hands = hands_of(
                tab,
                server,
                "touch" if touch else "mouse",
                {"age": age, "handedness": "left", "language": language},
                clock,
            )
            hands.meanwhile = (
                (lambda look: meanwhile(look) or "abc" in str(look["text"])) if age == "abc" else meanwhile
            )
            text = hands.go()
            if age == "abc":
                once("fields, with what is wrong", tab)
        assert "C0DE42" in text
        once("end: code", tab)
        assert server.said == []
        # somebody else's tab, a line that is lost, and what stops a visit
        with browser.window() as other:
            other.screen(*size, ratio, touch=touch)
            for name, address in (
                ("error: link", f"http://127.0.0.1:{server.port}/?participant=no%20such%20name"),
                ("error: lost", server.address("P08")),
            ):
                other.open(address)
                other.until("document.querySelector('#sheet button') !== null")
                other.evaluate("document.querySelector('#sheet button').click()")
                if name == "error: lost":
                    other.until("document.querySelector('form') !== null")
                    server.server.should_exit = True
                    server.cut_lines()
                    other.until("!document.getElementById('status').hidden")
                else:
                    title = sentence("online.refused_title", "en")
                    other.until(f"document.body.innerText.includes({json.dumps(title)})")
                once(name, other)
    return seen
