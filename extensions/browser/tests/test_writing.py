"""What participants press and write in a real browser: open questions take every sign, a key that lies down answers
nothing, and the pulses of a scanner are no presses."""

from __future__ import annotations

import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from chromium import Chromium, Tab, chromium
from page_bench import data_folder

from spanlab.core import SpanLabError
from spanlab.extensions.browser.visits.offers import StudyOffer
from spanlab.extensions.browser.visits.one_paradigm import ParadigmOffer
from spanlab.extensions.browser.visits.serving import make_server, running
from spanlab.extensions.browser.visits.visits import VisitDesk
from spanlab.sessions.record import read_events
from spanlab.sessions.studies import load_study

OPEN = """
paradigm: afterwards
version: 1
title: Afterwards
questionnaire: true
timeline:
  - phase: strategy
    show: {blank: {}}
    ask: {open_text: {most: 200, more: äöüß}, prompt: {en: "How did you remember?"}}
instructions: {en: Please answer some questions.}
designs: {human: {repetitions: 1}}
"""
SAID = "I said the letters aloud! It was a 2-back (hard). Why?"
#: emoji of several code points, a letter with a combining mark, scripts from right to left and shaped ones
SCRIPTS = "日本語, Größe – 😀👩‍🔬 e\u0301 שלום مرحبا नमस्ते "
SHIFTED = {"!": ("Digit1", 49), "?": ("Slash", 191), "(": ("Digit9", 57), ")": ("Digit0", 48)}
PLAIN = {"-": ("Minus", 189), ".": ("Period", 190), " ": ("Space", 32), "\r": ("Enter", 13)}


SCAN = """
study: scan
title: Scan
paradigms:
  - {paradigm: cd, set: {feature: colour, set_size: 2, retention_steps: 0}, trials: 2, practice: false}
  - {paradigm: ./afterwards.yaml, scanned: false}
start: {pulse: "5", at: 3}
"""


@pytest.fixture
def browser(tmp_path: Path) -> Generator[Chromium]:
    with chromium(tmp_path / "chromium") as found:
        yield found


#: what a page waits for
ANSWER = "(document.getElementById('stage')?.dataset.waits ?? '').startsWith('answer')"


def key(tab: Tab, sign: str, kind: str = "keyDown", **more: object) -> None:
    """A key of a US keyboard, as the browser hears of it."""
    code, number = {**SHIFTED, **PLAIN}.get(
        sign, (f"Digit{sign}" if sign.isdigit() else f"Key{sign.upper()}", ord(sign.upper()))
    )
    shift = 8 if sign in SHIFTED or sign.isupper() else 0
    name = "Enter" if sign == "\r" else sign
    text = {"text": sign} if kind == "keyDown" else {}
    tab.ask(
        "Input.dispatchKeyEvent",
        type=kind,
        key=name,
        code=code,
        windowsVirtualKeyCode=number,
        modifiers=shift,
        **text,
        **more,
    )


def begin(tab: Tab, port: int, until: str = ANSWER) -> None:
    """Open the page, and go on until something is so: a question waits."""
    tab.screen(1280, 800)
    tab.open(f"http://127.0.0.1:{port}/?participant=P1")
    last = time.monotonic() + 60
    while not tab.evaluate(until):
        assert time.monotonic() < last
        tab.evaluate("document.querySelector('#sheet button:enabled')?.click()")
        time.sleep(0.05)


def test_every_sign_of_an_open_answer_is_kept(tmp_path: Path, browser: Chromium) -> None:
    (file := tmp_path / "afterwards.yaml").write_text(OPEN, encoding="utf-8")
    desk = VisitDesk(ParadigmOffer.checked(str(file), data_folder(tmp_path)), print)
    with running(make_server(desk), desk) as port, browser.window() as tab:
        begin(tab, port)
        for sign in SAID:
            key(tab, sign)
            key(tab, sign, "keyUp")
        key(tab, "\r")
        tab.write(SCRIPTS)
        tab.ask("Input.imeSetComposition", text="にほ", selectionStart=2, selectionEnd=2)  # as it is being put together
        tab.write("日本")
        for command in ("selectAll", "copy", "moveToEndOfDocument", "paste"):
            tab.ask("Input.dispatchKeyEvent", type="keyDown", key="v", code="KeyV", modifiers=2, commands=[command])
        ä = tab.evaluate(
            "(() => { const b = document.getElementById('canvas').getBoundingClientRect(); return [b.left + b.width *"
            " (2 + 92 / 8) / 96, b.top + b.height * 87 / 96]; })()"
        )
        tab.click(*ä)
        done = tab.middle("#buttons [data-name=done]")
        assert done is not None
        assert tab.evaluate("document.querySelector('#buttons [data-name=unknown]').textContent") == "No answer"
        tab.click(*done)
        tab.until("document.querySelector('#sheet [data-name=on]:enabled') !== null")
        tab.evaluate("document.querySelector('#sheet [data-name=on]').click()")
        tab.until("document.body.dataset.ended === 'true'")
    (session,) = (tmp_path / "data").iterdir()
    (step,) = [dict[str, Any](event) for event in read_events(session) if event["event"] == "step"]
    written = f"{SAID}\n{SCRIPTS}日本"
    assert step["value"] == written + written + "ä"
    assert step["outcome"] == "answered"


@pytest.mark.parametrize(
    ("language", "parts", "side"),
    [
        ("zh", ["请记住每个图形。", "然后按出现的顺序点击它们：", "1. 第一个", "2. 第二个"], "left"),
        ("ar", ["تذكّر كل شكل.", "ثم انقر عليها بالترتيب:", "1. الأول", "2. الثاني"], "right"),
    ],
)
def test_translated_instructions_keep_their_parts(
    tmp_path: Path, browser: Chromium, language: str, parts: list[str], side: str
) -> None:
    heading, *rest = parts
    text = "\n".join(f"    {line}\n" for line in (heading, f"# {rest[0]}", *rest[1:]))
    (file := tmp_path / "own.yaml").write_text(
        f"extends: sfr\nparadigm: own\ninstructions:\n  {language}: |\n{text}", encoding="utf-8"
    )
    desk = VisitDesk(ParadigmOffer.checked(str(file), data_folder(tmp_path), language=language, trials=1), print)
    with running(make_server(desk), desk) as port, browser.window() as tab:
        begin(tab, port, f"document.querySelector('#sheet > p')?.innerText === '{heading}'")
        shown = tab.evaluate("[...document.querySelectorAll('#sheet > h2, #sheet > p')].map(one => one.innerText)")
        assert shown[: len(parts)] == parts
        edges = f"""(p => {{
            const text = document.createRange();
            text.selectNodeContents(p);
            return Math.abs(text.getBoundingClientRect().{side} - p.getBoundingClientRect().{side});
        }})(document.querySelector('#sheet > p'))"""
        assert tab.evaluate(edges) < 2, "a text begins at the side at which its script does"


def test_a_key_that_lies_down_answers_one_question_and_no_more(tmp_path: Path, browser: Chromium) -> None:
    desk = VisitDesk(ParadigmOffer.checked("cd", data_folder(tmp_path), trials=3, practice=False), print)
    with running(make_server(desk), desk) as port, browser.window() as tab:
        begin(tab, port)
        first = tab.evaluate("document.getElementById('stage').dataset.waits")
        key(tab, "f")
        second = (
            f"(w => w.startsWith('answer') && w !== '{first}')(document.getElementById('stage').dataset.waits ?? '')"
        )
        until, held = time.monotonic() + 30, list[float]()
        while time.monotonic() < until and (not held or held[-1] - held[0] < 0.9):  # of its two seconds
            key(tab, "f", autoRepeat=True)
            tab.evaluate("document.querySelector('#sheet [data-name=on]:enabled')?.click()")  # a rest
            held += [time.monotonic()] if tab.evaluate(second) else []
            time.sleep(0.033)
        assert len(held) > 3, "the next question waited all the while"
        key(tab, "f", "keyUp")
        key(tab, "j")
        key(tab, "j", "keyUp")
        time.sleep(1.0)
    (session,) = (tmp_path / "data").iterdir()
    answers = [dict[str, Any](event) for event in read_events(session) if event["event"] == "step" and event.get("ask")]
    assert [answer["value"] for answer in answers][:2] == ["same", "different"]
    does = [press["does"] for press in answers[1]["raw"]["presses"]]
    assert does.count("answer") == 1
    assert does.count("held") > 3


def test_trials_begin_with_the_pulses_of_a_scanner(tmp_path: Path, browser: Chromium) -> None:
    (tmp_path / "afterwards.yaml").write_text(OPEN, encoding="utf-8")
    (file := tmp_path / "scan.yaml").write_text(SCAN, encoding="utf-8")
    desk = VisitDesk(StudyOffer.checked(load_study(file), data_folder(tmp_path)), print)

    def pulse() -> None:
        key(tab, "5")
        key(tab, "5", autoRepeat=True)
        key(tab, "5", "keyUp")

    with running(make_server(desk), desk) as port, browser.window() as tab:
        begin(tab, port, "document.body?.innerText.includes('together with the scanner')")
        for _ in range(2):
            pulse()
        time.sleep(0.5)
        assert tab.evaluate("document.body?.innerText.includes('together with the scanner')"), "repeats are no pulses"
        pulse()
        for answer in "fj":
            tab.until(ANSWER)
            pulse()
            key(tab, answer)
            key(tab, answer, "keyUp")
            tab.until(f"!{ANSWER}")
        until = time.monotonic() + 60
        while not tab.evaluate(ANSWER):
            assert time.monotonic() < until
            tab.evaluate("document.querySelector('#sheet button:enabled')?.click()")
            time.sleep(0.05)
        key(tab, "5")
        key(tab, "5", "keyUp")
        tab.click(*(tab.middle("#buttons [data-name=done]") or (0, 0)))
        tab.until(
            "document.body.dataset.ended !== undefined || document.querySelector('#sheet [data-name=on]') !== null"
        )
        tab.evaluate("document.querySelector('#sheet [data-name=on]:enabled')?.click()")
        time.sleep(2)
    scanned, asked = (
        [dict[str, Any](event) for event in read_events(path.parent)]
        for name in ("cd", "afterwards")
        for path in (tmp_path / "data").rglob(f"{name}-*/session.json")
    )
    kept = {
        kind: [event for event in scanned if event["event"] == kind] for kind in ("scan_start", "pulses", "volumes")
    }
    times = [at for event in kept["pulses"] for at in event["at_ms"]]
    (begun,) = kept["scan_start"]
    assert (begun["pulse"], begun["first_ms"], begun["at_ms"]) == (3, times[0], times[2])
    assert len(times) == 5
    assert times == sorted(times)
    assert kept["volumes"][0]["pulses"] == 5
    steps = [event for event in scanned if event["event"] == "step"]
    assert steps[0]["shown"][0]["onset_ms"] > times[2]
    answers = [step for step in steps if step.get("ask")]
    assert [answer["value"] for answer in answers] == ["same", "different"]
    assert all(len(answer["raw"]["presses"]) == 1 for answer in answers), "a pulse is no press"
    assert [event["value"] for event in asked if event["event"] == "step"] == ["5"]


def test_what_a_page_cannot_take_of_a_scanner_is_refused(tmp_path: Path) -> None:
    (tmp_path / "afterwards.yaml").write_text(OPEN, encoding="utf-8")
    file = tmp_path / "scan.yaml"
    for study, told in (
        (SCAN.replace('"5"', "serial:COM3"), "from one key"),
        (SCAN.replace('"5"', "f"), "gives the answer 'same'"),
        (SCAN.replace(", scanned: false", ""), "is written in an open question"),
    ):
        file.write_text(study, encoding="utf-8")
        with pytest.raises(SpanLabError, match=told):
            StudyOffer.checked(load_study(file), tmp_path)
