"""Visits in a real browser: a study from consent to completion code, and the pixels of its
pictures."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chromium import Chromium
from page_bench import data_folder, hands_of, served
from PIL import Image

from spanlab.extensions.browser.participant.frames import FrameStore
from spanlab.extensions.browser.visits.offers import StudyOffer
from spanlab.extensions.browser.visits.one_paradigm import ParadigmOffer
from spanlab.paradigms import plan_session
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.sessions import read_responses
from spanlab.sessions.studies.study import load_study
from spanlab.sessions.studies.visit_files import completed, read_head, states

STUDY = """
study: athome
title: Memory at home
languages: [en, de]
paradigms: [{paradigm: vsr, trials: 1, practice: false}, {paradigm: cd, trials: 1, practice: false}]
order: latin_square
consent: {en: You take part of your own free will., de: Sie nehmen freiwillig teil.}
debrief: {en: This was about memory., de: Es ging um das Gedächtnis.}
breaks: {text: {en: Rest a little., de: Ruhen Sie sich aus.}}
fields: [age, colour_vision]
online: {endings: {completed: {code: C0DE42, redirect: 'https://example.org/done?cc=C0DE42'}}}
"""


#: a phone has no full screen, and a browser may be told to load no fonts
PHONE = """
Object.defineProperty(Document.prototype, "fullscreenElement", { get: () => undefined });
delete Document.prototype.exitFullscreen;
FontFaceSet.prototype.load = () => Promise.reject(new Error("blocked"));
"""


@pytest.mark.slow
@pytest.mark.parametrize("lacks", ["", PHONE], ids=["whole", "phone"])
def test_a_study_is_taken_from_consent_to_completion_code(tmp_path: Path, browser: Chromium, lacks: str) -> None:
    data = data_folder(tmp_path)
    (file := tmp_path / "athome.yaml").write_text(STUDY)
    offer = StudyOffer.checked(load_study(file), data)
    with served(offer, "ideal") as server, browser.tab() as tab:
        tab.screen(1024, 768)
        tab.ask("Page.addScriptToEvaluateOnNewDocument", source=lacks)
        tab.open(server.address("P07"))
        tab.until("document.querySelector('#sheet button') !== null")
        hands = hands_of(tab, server, fields={"age": "abc", "colour_vision": "red_green", "language": "de"})
        hands.meanwhile = lambda look: "abc" in look["text"]
        assert "abc" in hands.go(), "what is wrong is said beside the field"
        hands = hands_of(tab, server, fields={"age": "31", "colour_vision": "red_green", "language": "de"})
        assert "C0DE42" in hands.go()
        assert tab.evaluate("document.querySelector('a.button').href") == "https://example.org/done?cc=C0DE42"
        assert tab.evaluate("document.documentElement.lang") == "de"
        tab.open(server.address("P07"))
        tab.until("document.querySelector('#sheet button') !== null")
        assert "C0DE42" in hands_of(tab, server).go(), "who comes again sees the code again"
        assert server.said == []
    assert states(data / "athome" / "P07" / "session-1").keys() == {"vsr", "cd"}
    head = read_head(data / "athome" / "P07" / "session-1")
    assert head["fields"] == {"age": 31, "colour_vision": "red_green"}
    assert head["language"] == "de"
    assert completed(data / "athome" / "P07" / "session-1")
    responses = read_responses(data)
    assert set(responses.paradigm) == {"vsr", "cd"}
    assert responses.correct.all()


PICTURES = """\
paradigm: pictures
version: 1
title: Pictures that stay
timeline:
  - phase: one
    show: {matrix: {grid: 3, filled: [0, 4, 5], colour: red}}
  - phase: two
    show: {text: How sharp}
  - phase: three
    show: {switch_boxes: {marker: 2}}
    ask: {choice: {options: [yes, no], keys: [f, j]}, answer: "='yes'"}
instructions: {en: Look.}
example: {show: false}
designs:
  human: {repetitions: 1}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "ratio"), [((1280, 800), 1.0), ((1024, 768), 1.25), ((820, 1180), 2.0), ((390, 844), 3.0)]
)
def test_a_photograph_of_the_screen_has_the_pixels_of_the_renderer(
    tmp_path: Path, browser: Chromium, size: tuple[int, int], ratio: float
) -> None:
    """Whatever the number of pixels of the screen in a CSS pixel: nothing is made larger or smaller
    on the way."""
    (source := tmp_path / "pictures.yaml").write_text(PICTURES, encoding="utf-8")
    data, compared = data_folder(tmp_path), dict[str, int]()
    offer = ParadigmOffer.checked(str(source), data, trials=1, practice=False)
    steps = (
        plan_session(offer.paradigm, 1, design=SessionDesign(), trials=1)[0].compile(offer.paradigm, "corrected").steps
    )
    with served(offer, "ideal") as server, browser.tab() as tab:
        tab.screen(*size, ratio)
        tab.open(server.address("P01"))
        tab.until("document.querySelector('#sheet button') !== null")
        hands = hands_of(tab, server)

        def compare(look: Mapping[str, Any]) -> bool:
            what, _, where = str(look["waits"]).partition(" ")
            if look["stage"] and what in ("on", "answer") and where not in compared:
                left, top, wide, px = tab.evaluate(
                    "(() => { const c = document.getElementById('canvas'), b = c.getBoundingClientRect(); return"
                    " [b.left, b.top, b.width, c.width]; })()"
                )
                assert wide * ratio == pytest.approx(px, abs=0.01)
                screen = np.asarray(Image.open(tab.screenshot(tmp_path / "screen.png")).convert("RGB"), int)
                x, y = round(left * ratio), round(top * ratio)
                drawn = (
                    FrameStore()
                    .frame(steps[int(where.partition(":")[2])].percept.displays[0].stimulus, px, "published")
                    .result()
                )
                compared[where] = int(
                    np.abs(
                        screen[y : y + px, x : x + px] - np.asarray(Image.open(io.BytesIO(drawn)).convert("RGB"), int)
                    ).max()
                )
            return False

        hands.meanwhile = compare
        assert "Thank you" in hands.go()
    assert list(compared.values()) == [0, 0, 0]
