"""Every paradigm by every way of answering, in a real browser: the response table is that of the
same answers at the window."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import battery_bench
import pandas as pd
import pytest
from battery_bench import SAID, Typist, study_in
from chromium import Chromium
from hands import By, Warp
from image_paradigms import write_faces
from page_bench import at_window, data_folder, hands_of, served, unmeasured
from paradigm_texts import old_or_new
from session_tools import ended_well

from spanlab.extensions.browser.visits.offers import StudyOffer
from spanlab.extensions.browser.visits.one_paradigm import ParadigmOffer
from spanlab.paradigms import list_paradigms
from spanlab.paradigms.compile import one_of_each
from spanlab.sessions.plan import plan_trials
from spanlab.sessions.record.reader import read_events
from spanlab.sessions.studies import load_study

OBSERVER = "capacity:3"
#: size of the screen in CSS pixels, and pixels of the screen in one of them
SCREENS = {"keys": ((1280, 800), 1.0), "mouse": ((1024, 768), 1.25), "touch": ((390, 844), 3.0)}

SURE = old_or_new(
    """\
instructions: {en: Remember the words.}
designs:
  human: {repetitions: 4}
""",
    lengths="[2]",
    after="""\
  - phase: effort
    show: {blank: {}}
    ask: {rating: {from: 0, to: 100, labels: {0: no effort at all, 100: as much as I could}}, prompt: {en: How hard did you try?}}
""",  # noqa: E501
)

TYPING = """\
paradigm: typing
version: 1
title: Type what you saw
factors:
  list_length: [2]
draw:
  words: {several: {of: [bär, größe, müde, straße, das ä], count: =list_length}}
timeline:
  - for: item in words
    phase: present
    show: {text: =item, ms: 100}
  - for: item in words
    phase: recall
    show: {blank: {}}
    ask: {text: {more: "äöüß ", most: 12}, answer: =item, prompt: {en: "Which word came {ordinal}?"}}
list_length: =list_length
instructions: {en: Remember the words and type them.}
designs:
  human: {repetitions: 4}
"""

OPEN = """\
paradigm: afterwards
version: 1
title: How did you do it?
timeline:
  - phase: strategy
    show: {blank: {}}
    ask: {open_text: {more: äöüß, most: 60}, prompt: {en: "How did you remember the words?"}}
instructions: {en: Please answer.}
questionnaire: true
designs:
  human: {repetitions: 2}
"""

MARKS = """\
paradigm: marks
version: 1
title: Mark two places, and put three letters in order
factors:
  list_length: [3]
draw:
  places: {permutation: {of: 9, take: 2}}
  letters: {several: {of: [a, b, c, d, e], count: =list_length}}
timeline:
  - phase: present
    show: {matrix: {grid: 3, filled: =places, colour: red}, ms: 200}
  - phase: marks
    show: {blank: {}}
    ask: {cells: {grid: 3, take: 2}, answer: =places}
  - for: letter in letters
    phase: letters
    show: {letter: =letter, ms: 100}
  - phase: order
    show: {blank: {}}
    ask: {sequence: {options: [a, b, c, d, e], take: =list_length, unknown: true}, answer: =letters}
set_size: =list_length
instructions: {en: Remember places and letters.}
designs:
  human: {repetitions: 4}
"""


def own(name: str, folder: Path, repository: Path) -> str:
    """The file of a paradigm of one's own."""
    if name == "own_images":
        return str(write_faces(folder))
    if name == "questionnaire":
        text = (repository / "docs" / "questions.md").read_text(encoding="utf-8")
        text = next(
            block
            for block in re.findall(r"```yaml\n(.*?)```", text, flags=re.DOTALL)
            if block.startswith("paradigm: after_the_task")
        )
    else:
        text = {"sure": SURE, "typing": TYPING, "open": OPEN, "marks": MARKS}[name]
    (file := folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return str(file)


OWN = ["own_images", "questionnaire", "sure", "typing", "open", "marks"]


def ways(source: str) -> list[By]:
    """By what the questions of a paradigm can be answered; fingers find a button for each key."""
    chosen = plan_trials(source, 1)
    surfaces = [
        kind.surface()
        for planned in one_of_each(chosen.plan)
        for kind in planned.compile(chosen.paradigm, chosen.generator).kinds
    ]
    by_keys = any(surface.keys or surface.dial is not None for surface in surfaces)
    by_mouse = any(surface.clickable or surface.several for surface in surfaces)
    possible: list[tuple[By, bool]] = [("keys", by_keys), ("mouse", by_mouse), ("touch", True)]
    return [by for by, is_possible in possible if is_possible]


def visit(
    folder: Path, browser: Chromium, source: str, by: By, trials: int, warped: bool = True
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The table of a visit, and that of the same answers at the window.

    Parameters
    ----------
    warped : whether the page has a clock of its own, which waits for the hands however busy the
        computer is
    """
    data = data_folder(folder)
    (size, ratio), offer = SCREENS[by], ParadigmOffer.checked(source, data, trials=trials, practice=False)
    with served(offer, OBSERVER) as server, browser.window() as tab:
        clock = Warp(tab) if warped else None
        tab.screen(*size, ratio, touch=by == "touch")
        tab.open(server.address("P01"))
        tab.until("document.querySelector('#sheet button') !== null")
        assert "Thank you" in hands_of(tab, server, by, clock=clock).go()
        assert (tab.complaints, server.said) == ([], [])
    (session,) = data.iterdir()
    return unmeasured(session), unmeasured(at_window(session, folder / "window", OBSERVER))


@pytest.mark.slow
@pytest.mark.parametrize("name", [*list_paradigms(), *OWN])
def test_the_response_table_is_that_of_the_same_answers_at_the_window(
    tmp_path: Path, browser: Chromium, repository: Path, name: str
) -> None:
    source = own(name, tmp_path, repository) if name in OWN else name
    by = ways(source)

    def table(way: By) -> tuple[pd.DataFrame, pd.DataFrame]:
        return visit(tmp_path / way, browser, source, way, 2 if name in OWN else 1)

    with ThreadPoolExecutor(len(by)) as people:
        tables = list(people.map(table, by))
    for here, there in tables:
        assert len(here) > 0
        pd.testing.assert_frame_equal(here, there)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "by"),
    [
        ("vsr", "touch"),
        ("cd", "keys"),
        ("corsi", "mouse"),
        ("operation_span", "keys"),
        ("nback_verbal_feedback", "keys"),
    ],
)
def test_also_by_the_clock_of_the_computer(tmp_path: Path, browser: Chromium, name: str, by: By) -> None:
    here, there = visit(tmp_path, browser, name, by, 1, warped=False)
    assert len(here) > 0
    pd.testing.assert_frame_equal(here, there)


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Xvfb")
def test_a_battery_with_everything_has_the_same_answers_at_the_window_and_in_the_browser(
    tmp_path: Path, browser: Chromium
) -> None:
    """A box, digits that are typed, an open question, two languages and the pulses of a scanner; in the browser keys
    stand for the box."""
    (here := tmp_path / "here").mkdir()
    ended_well(
        subprocess.run([sys.executable, battery_bench.__file__, str(tmp_path)], capture_output=True, timeout=600)
    )
    offer = StudyOffer.checked(load_study(study_in(here, box=False)), here)
    with served(offer, Typist()) as server, browser.window() as tab:

        def pulse(look: Mapping[str, Any]) -> bool:
            if "dem Scanner" in look["text"]:
                tab.press("5")
            return False

        tab.screen(1280, 900)
        tab.open(server.address("p1"))
        tab.until("document.querySelector('#sheet button') !== null")
        hands = hands_of(tab, server, "keys", {"language": "de"})
        hands.meanwhile = pulse
        hands.go()
        assert (tab.complaints, server.said) == ([], [])

    def given(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
        return {
            path.parent.name.split("-")[0]: [
                (step["trial"], step["phase"], step["value"], step["outcome"], step["scores"])
                for step in (dict[str, Any](event) for event in read_events(path.parent))
                if step["event"] == "step" and "ask" in step
            ]
            for path in folder.rglob("session-1/*/session.json")
        }

    window = given(tmp_path / "window")
    assert {name: len(answers) for name, answers in window.items()}.keys() == {"cd", "digit_span", "afterwards"}
    assert given(here) == window
    assert SAID in [answer[2] for answer in window["afterwards"]]
