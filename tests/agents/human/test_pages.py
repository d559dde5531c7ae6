"""Pages for people, without a window: pictured examples, sheets for screens of any size, colours and
palettes, and what a German session says."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lab_pages import easy, nothing_is_cut_off, right, wrong
from session_tools import AtTheWindow, take

from spanlab.agents.human import WindowOptions
from spanlab.agents.human.display.colours import ACCENT, ACCENT_STRONG, MUTED, ON_ACCENT, TEXT
from spanlab.agents.human.input.answering import Press
from spanlab.agents.human.pages import between_trials
from spanlab.agents.human.pages.between_trials import blocks, lay_out, page_letter
from spanlab.agents.human.pages.pictured import Strip, fitted
from spanlab.agents.human.participant import Participant
from spanlab.agents.human.trial_player import Player
from spanlab.agents.window import Option, PageContent
from spanlab.core.errors import SpanLabError
from spanlab.core.locale import sentence
from spanlab.paradigms import AnswerKeys, compile_trial, list_paradigms, load_paradigm, plan_practice, plan_session
from spanlab.paradigms.compile import resolve_levels
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.paradigms.preview.example import (
    MOST,
    displays_of,
    example_displays,
    example_levels,
    worked_answers,
)
from spanlab.sessions import Request, Runner, begin, read_responses, reopen
from spanlab.sessions.practice import NotPassedError
from spanlab.sessions.record.reader import read_events
from spanlab.stimuli.render.fonts import wrap
from spanlab.stimuli.render.palette import PALETTES, recoloured
from spanlab.stimuli.render.pixels import picture
from spanlab.stimuli.scene import BACKGROUND, CANVAS, COLOURS, Colour

#: width and height of windows in pixels, and of letters (half a degree at usual distances)
WINDOWS = [
    ((800, 600), 14),
    ((1024, 768), 16),
    ((1280, 1024), 22),
    ((1920, 1080), 20),
    ((1920, 1080), 30),
    ((2560, 1440), 26),
    ((3840, 2160), 36),
    ((3840, 2160), 70),
]
LANGUAGES = ("en", "de")


def instructions(name: str, language: str, number: int = 0) -> PageContent:
    """The first page of a paradigm, in the ``number``-th combination of factor levels."""
    paradigm = load_paradigm(name)
    combinations = paradigm.combinations()
    levels = resolve_levels(paradigm, combinations[number % len(combinations)], 1)
    asks = [step.percept.ask.kind for step in compile_trial(paradigm, levels, 1).steps if step.percept.ask is not None]
    keys = AnswerKeys(words=paradigm.translations.get(language, {}))
    displays = tuple(
        replace(
            display,
            questions=tuple(replace(question, kind=question.kind.with_keys(keys)) for question in display.questions),
        )
        for display in example_displays(paradigm, language, levels)
    )
    worked = worked_answers(displays, language)
    legends = dict.fromkeys(
        f"{kind.with_keys(keys).legend('participant', language)} {kind.finality('first', language)}".rstrip()
        for kind in asks
    )
    after = "\n\n".join([*worked, f"# {sentence('session.how', language)}", *legends])
    return PageContent(
        paradigm.instructions_in(language, levels, for_people=True), paradigm.titled(language), "", displays, after
    )


# -- sheets ----------------------------------------------------------------------------------------


# Of every paradigm one language, by turns; all of them with the slow proofs.
@pytest.mark.sampled(11)
@pytest.mark.parametrize(
    ("name", "language"),
    [
        pytest.param(name, language, marks=() if (place + number) % len(LANGUAGES) == 0 else pytest.mark.slow)
        for place, name in enumerate(list_paradigms())
        for number, language in enumerate(LANGUAGES)
    ],
)
def test_instructions_are_whole_on_small_screens(name: str, language: str) -> None:
    page = instructions(name, language)
    assert page.example
    assert nothing_is_cut_off(page, *WINDOWS[0], language) <= 3


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("window", "letter"), WINDOWS)
def test_pages_fit_windows_of_all_sizes(window: tuple[int, int], letter: int) -> None:
    for name in ("cs", "nback_verbal"):
        assert nothing_is_cut_off(instructions(name, "de"), window, letter, "de") <= (
            4 if letter > window[1] / 36 else 3
        )
    assert nothing_is_cut_off(PageContent("Rest.", "Pause", progress=0.4), window, letter, "en") == 1
    assert page_letter(letter, window) >= 12
    assert page_letter(100, (380, 2600)) == page_letter(100, (3800, 260)) == 10


@pytest.mark.sampled(2)
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("window", "letter"), [WINDOWS[0], WINDOWS[4], WINDOWS[7]])
def test_buttons_fit_windows_of_all_sizes(window: tuple[int, int], letter: int, language: str) -> None:
    """Those of a page lie beside or below one another, inside the window, and not on the text."""
    of_consent = [sentence(f"study.{name}", language) for name in ("agree", "refuse")]
    of_practice = [sentence(f"session.{name}", language) for name in ("practise_again", "regardless", "leave")]
    for labels in (of_consent, of_practice):
        page = PageContent(
            "Words and more words.\n\n" * 20,
            "Title",
            options=tuple(Option(label, f"{label}  (F2)", "f2") for label in labels),
        )
        nothing_is_cut_off(page, window, letter, language)
        *others, last = lay_out(page, language, window, letter)
        assert not any(sheet.buttons for sheet in others)
        assert len(last.buttons) == len(labels)
        assert last.footer is not None
        for number, (x0, y0, x1, y1) in enumerate(last.buttons):
            assert -window[0] / 2 <= x0 < x1 <= window[0] / 2
            assert -window[1] / 2 <= y0 < y1 <= last.y - last.body.height / 2
            assert all(x1 < a0 or a1 < x0 or y1 < b0 or b1 < y0 for a0, b0, a1, b1 in last.buttons[:number])
            left, top = x0 + last.footer.width // 2, last.footer_y + last.footer.height // 2 - y1
            button = np.asarray(last.footer)[top : top + y1 - y0, left : left + x1 - x0]
            assert (button[len(button) // 2, 0] != BACKGROUND).any(), "its edge is where a click counts"


@settings(max_examples=25, deadline=None)
@given(
    text=st.text(st.sampled_from("aeins .\n#WÄß"), max_size=1500),
    width=st.integers(640, 4000),
    height=st.integers(480, 2400),
    letter=st.integers(10, 80),
)
@pytest.mark.slow
def test_any_text_fits_any_window(text: str, width: int, height: int, letter: int) -> None:
    words = re.sub(r"\S{12,}", lambda run: run[0][:12], text)  # a word that is wider than the screen cannot be helped
    nothing_is_cut_off(PageContent(words, "Title", progress=0.5), (width, height), letter, "de")


def test_keys_and_what_they_mean_stay_on_one_line() -> None:
    text = (
        "Is it the same letter as the one just before? Right: no match (-). Press one of these keys: m = match, - = no"
        " match, f = oben/links. "
    )
    for column in range(120, 700, 20):
        lines = [line for block in blocks(text, 16) for line in wrap(block.text, block.size, column, block.weight)]
        assert not any(re.match(r"\(-|=|\S+ = ?$", line) or re.search(r"(=|^m|\b[mf-])$", line) for line in lines), (
            lines
        )
        assert " ".join(lines).replace("\xa0", " ") == text.strip()


def test_what_is_given_in_order_stays_on_one_line() -> None:
    (worked,) = [
        question
        for display in example_displays(load_paradigm("digit_span"), "en", {"direction": "forward", "list_length": 3})
        for question in display.questions
    ]
    assert isinstance(worked.answer, tuple)
    assert f"Correct answer: {chr(160).join(map(str, worked.answer))}." in worked.describe("en")


def test_a_page_says_how_to_go_back_where_one_can() -> None:
    sheets = lay_out(PageContent("Words and more words.\n\n" * 60, "Title"), "en", (800, 600), 14)
    assert len(sheets) > 2
    first, second, *_, last = [np.asarray(sheet.footer) for sheet in sheets if sheet.footer is not None]
    assert first.shape != second.shape
    assert last.shape not in (first.shape, second.shape)


def test_pictures_of_an_example_have_one_form() -> None:
    """In a row of small displays, answers with and without the word before them look like two
    things."""
    displays = example_displays(load_paradigm("nback_verbal"), "en", {"n": 1, "lures": "none"})
    for room, answers in (
        (60, ["-", "-", "-", "m"]),
        (300, [f"Correct answer: {one}" for one in ("- (j)",) * 3 + ("m (f)",)]),
    ):
        found = [[(line.sign, line.words) for line in lines] for lines in fitted(displays, "en", 14, room) if lines]
        assert found == [
            [("", f"Question {number}"), ("right", answer)] for number, answer in enumerate(answers, start=1)
        ]


# -- which trial is pictured -----------------------------------------------------------------------


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", list_paradigms())
def test_examples_come_from_trials_that_no_session_has(name: str) -> None:
    paradigm = load_paradigm(name)
    for levels in paradigm.combinations()[:: max(1, len(paradigm.combinations()) // 4)]:
        displays = example_displays(paradigm, "de", levels := resolve_levels(paradigm, levels, 1))
        assert 2 <= len(displays) <= MOST
        assert any(display.asks is not None for display in displays)
        chosen = example_levels(paradigm, "de", levels)
        assert paradigm.instructions_in("de", chosen) == paradigm.instructions_in("de", levels), (
            "the example is of what the text says"
        )
    seeds = {
        trial.seed >> 50
        for trial in (*plan_session(paradigm, 3, SessionDesign(), trials=5), *plan_practice(paradigm, 3))
    }
    assert 7 not in seeds  # the purpose of examples' seeds


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in list_paradigms()
        if name.startswith(("cd", "nback")) and getattr(load_paradigm(name).example, "answer", None) is not None
    ],
)
@pytest.mark.sampled(3)
def test_examples_show_what_it_is_about(name: str) -> None:
    """A change among the bars, a match among the letters, in every condition that has instructions
    of its own."""
    paradigm = load_paradigm(name)
    assert paradigm.example is not None
    told: set[str] = set()
    for levels in paradigm.combinations():
        levels = resolve_levels(paradigm, levels, 1)
        if (text := paradigm.instructions_in("en", levels)) in told:
            continue
        told.add(text)
        displays = example_displays(paradigm, "en", levels)
        if name.startswith("cd"):
            arrays = [display.stimulus for display in displays if display.stimulus.name == "bars"]
            assert len(arrays) == 2
            assert arrays[0] != arrays[1]
        else:
            asked = [display.stimulus for display in displays if display.asks is not None]
            pairs = zip(asked, asked[levels["n"] :], strict=False)
            assert any(_match(name, one, other) for one, other in pairs), levels
    assert len(told) > 2


def _match(name: str, one: Any, other: Any) -> bool:
    """Whether two items of an N-back paradigm match."""
    if name.startswith("nback_verbal"):
        return bool(set(one.symbol) & set(other.symbol) & set("bcdfghjklnpqrstvwxyz"))
    if name.startswith("nback_spatial"):
        return one.at == other.at
    near = one.at // one.grid == other.at // one.grid or one.at % one.grid == other.at % one.grid
    return near and not (name.endswith("strict") and one.at == other.at)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", list_paradigms())
def test_examples_picture_every_item_of_their_right_answers(name: str) -> None:
    """Nothing is left out before the last question of an example, but the noise of an interval, in
    which nothing is to be remembered, and words that come once more beside their digits."""
    left = {"cd_noise": {"retention"}, "task_switching": {"cue"}}
    paradigm = load_paradigm(name)
    combinations = paradigm.combinations()
    for levels in combinations[:: max(1, len(combinations) // 4)]:
        displays = example_displays(paradigm, "en", resolve_levels(paradigm, levels, 1))
        left_out = {display.phase for display in displays if display.more and display.asks is None}
        assert left_out <= left.get(name, set()), levels


def test_long_lists_are_pictured_as_far_as_they_have_room() -> None:
    """A session of the longest lists alone has an example of them."""
    trial = compile_trial(load_paradigm("operation_span"), {"list_length": 7}, 1)
    assert len(displays_of(trial, None)) == 15
    trial = compile_trial(load_paradigm("sfr"), {"list_length": 18}, 1)
    pictured = displays_of(trial, None)
    assert [display.more for display in pictured] == [False] * 5 + [True, False]
    assert pictured[-1].asks is not None


def test_the_same_step_that_comes_again_is_pictured_again_and_an_interval_is_not() -> None:
    paradigm = load_paradigm("smu")
    for seed in range(12):  # markers often move to and fro
        pictured = displays_of(compile_trial(paradigm, {"set_size": 1}, seed), None)
        assert [display.phase for display in pictured].count("update") == 8
    board, *_ = corsi = displays_of(
        compile_trial(load_paradigm("corsi"), {"direction": "forward", "list_length": 3}, 1), None
    )
    assert [display.phase for display in corsi] == ["fixation", "present", "present", "present", "probe"]
    assert board.stimulus == corsi[-1].stimulus


def test_an_arrow_with_dots_is_explained() -> None:
    whole = example_displays(load_paradigm("cd"), "de", {"feature": "gap", "set_size": 4, "retention_steps": 6})
    noisy = example_displays(load_paradigm("cd_noise"), "de", {"feature": "gap", "set_size": 4, "retention_steps": 6})
    for displays, explained in ((whole, False), (noisy, True)):
        strip = Strip.within(displays, (1200, 400), 24)
        assert strip is not None
        assert strip.left_out == explained
        bottom = np.asarray(strip.draw(displays, "de"))[strip.height - strip.caption :]
        assert bool((bottom[:, strip.width // 2 - strip.side : strip.width // 2] != BACKGROUND).any()) == explained


@pytest.mark.parametrize("name", ["vsr", "cs"])
def test_marks_of_right_answers_hide_nothing_of_what_is_there(name: str) -> None:
    """A pattern or an arrow at a place is seen whole: only the rim of its place has the frame."""
    paradigm = load_paradigm(name)
    levels = {"list_length": 3} if name == "vsr" else {"storage": "spatial", "distractor_domain": "visual", "load": 1}
    for display in example_displays(paradigm, "en", levels):
        for question in display.questions:
            region = next(
                (region for region in question.kind.surface().regions if region.value == question.answer), None
            )
            if region is None:
                continue
            strip = Strip.within((display,), (400, 460), 20)
            assert strip is not None
            drawn, plain = (
                np.asarray(strip.draw((display,), "en")),
                np.asarray(picture(display.stimulus.scene(), strip.side)),
            )
            rim, scale = 3.0, strip.side / CANVAS
            x0, y0, x1, y1 = (
                round(value * scale) for value in (region.x0 + rim, region.y0 + rim, region.x1 - rim, region.y1 - rim)
            )
            left, top, right, bottom = strip.box
            assert (drawn[1 + y0 - top : 1 + y1 - top, 1 + x0 - left : 1 + x1 - left] == plain[y0:y1, x0:x1]).all()
            assert tuple(drawn[1, 1]) != ACCENT  # no second blue frame, around the whole display
            assert (drawn[1 : 1 + bottom - top, 1 : 1 + right - left] != plain[top:bottom, left:right]).any()


@pytest.mark.parametrize("name", ["vsr", "lsr", "cs", "smu"])
def test_no_number_of_a_place_is_called_the_right_answer(name: str) -> None:
    """On a number pad another key lies there."""
    paradigm = load_paradigm(name)
    displays = example_displays(paradigm, "en", resolve_levels(paradigm, paradigm.combinations()[-1], 1))
    shown = [
        question.shown_answer("en")
        for display in displays
        for question in display.questions
        if question.kind.surface().regions
    ]
    assert shown
    assert not any(character.isdigit() for text in shown for character in text)


def test_every_pictured_letter_is_explained() -> None:
    displays = example_displays(load_paradigm("nback_verbal"), "en", {"n": 1, "lures": "none", "block_length": 24})
    prompt, *answers = worked_answers(displays, "en")
    assert prompt == "Is it the same letter as the one just before?"
    assert [answer.partition(".")[0] for answer in answers] == [f"Question {number}" for number in (1, 2, 3, 4)]


def test_what_is_asked_about_twice_is_pictured_twice() -> None:
    """A letter that comes again is a match, and the point of the example; a display that stays for
    several questions shows the answer to each of them."""
    letters = example_displays(load_paradigm("nback_verbal"), "en", {"n": 1, "lures": "none", "block_length": 24})
    asked = [display.stimulus for display in letters if display.asks is not None]
    assert len(asked) == 4
    assert any(one == other for one, other in itertools.pairwise(asked))
    asked_of_places = [
        display
        for display in example_displays(load_paradigm("vsr"), "en", {"list_length": 5})
        if display.asks is not None
    ]
    assert [len(display.questions) for display in asked_of_places] == [1] * len(asked_of_places)


def test_a_file_chooses_its_example(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(
        "extends: vsr\nparadigm: mine\nexample: {factors: {list_length: 5}, each: 6}\n", encoding="utf-8"
    )
    (tmp_path / "wrong.yaml").write_text(
        "extends: vsr\nparadigm: wrong\nexample: {factors: {list_length: 15}}\n", encoding="utf-8"
    )
    assert (
        len(example_displays(load_paradigm(tmp_path / "mine.yaml"), "en", {"list_length": 2})) == 5 + 5
    )  # the patterns, and the questions about them
    with pytest.raises(SpanLabError, match="15 is not a level"):
        load_paradigm(tmp_path / "wrong.yaml")


# -- colours ---------------------------------------------------------------------------------------

#: How people without one kind of cones see linear RGB (Viénot, Brettel and Mollon, 1999).
BLINDNESS = {
    "none": np.eye(3),
    "protanopia": np.array([[0.11238, 0.88762, 0.0], [0.11238, 0.88762, -0.0], [0.00401, -0.00401, 1.0]]),
    "deuteranopia": np.array([[0.29275, 0.70725, 0.0], [0.29275, 0.70725, -0.0], [-0.02234, 0.02234, 1.0]]),
}


def linear(colour: Colour) -> np.ndarray:
    value = np.asarray(colour) / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def seen(colour: Colour, blindness: str) -> np.ndarray:
    return np.clip(BLINDNESS[blindness] @ linear(colour), 0, 1)


def contrast(one: Colour, other: Colour, blindness: str) -> float:
    """The contrast ratio of the WCAG."""
    light, dark = sorted(
        (float(seen(colour, blindness) @ [0.2126, 0.7152, 0.0722]) for colour in (one, other)), reverse=True
    )
    return (light + 0.05) / (dark + 0.05)


def difference(one: Colour, other: Colour, blindness: str) -> float:
    """The distance of two colours in CIELAB."""

    def lab(colour: Colour) -> np.ndarray:
        to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
        x, y, z = np.cbrt((to_xyz @ seen(colour, blindness)) / [0.9505, 1.0, 1.089])
        return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])

    return float(np.linalg.norm(lab(one) - lab(other)))


@pytest.mark.parametrize("blindness", BLINDNESS)
def test_everything_that_is_read_stands_out(blindness: str) -> None:
    for ink, ground in (
        (TEXT, BACKGROUND),
        (MUTED, BACKGROUND),
        (ACCENT, BACKGROUND),
        (ACCENT_STRONG, BACKGROUND),
        (ON_ACCENT, ACCENT),
        (ON_ACCENT, ACCENT_STRONG),
    ):
        assert contrast(ink, ground, blindness) >= 4.5, (ink, ground)


@pytest.mark.parametrize("blindness", BLINDNESS)
def test_the_safe_palette_can_be_told_apart(blindness: str) -> None:
    red, green = PALETTES["safe"][COLOURS["red"]], PALETTES["safe"][COLOURS["green"]]
    assert difference(red, green, blindness) > 40
    assert min(difference(colour, BACKGROUND, blindness) for colour in (red, green)) > 20
    if blindness == "deuteranopia":
        assert difference(red, green, blindness) > difference(COLOURS["red"], COLOURS["green"], blindness)


@pytest.mark.parametrize("blindness", ["protanopia", "deuteranopia"])
def test_the_published_colours_are_not_safe(blindness: str) -> None:
    assert difference(COLOURS["red"], COLOURS["green"], blindness) < 40


def test_the_palette_is_recorded_and_checked() -> None:
    assert Participant().settings()["palette"] == "published"
    assert Participant(WindowOptions(palette="safe")).settings()["palette"] == "safe"
    with pytest.raises(SpanLabError, match="palettes are published, safe; found 'pink'"):
        Participant(WindowOptions(palette="pink"))  # type: ignore[arg-type]


def test_examples_have_the_colours_of_the_window() -> None:
    displays = example_displays(load_paradigm("sfr"), "en", {"list_length": 3})
    strip = Strip.within(displays, (1200, 600), 24)
    assert strip is not None
    drawn = strip.draw(displays, "en", look=lambda scene: recoloured(scene, PALETTES["safe"]))
    pixels = {tuple(pixel) for pixel in np.asarray(drawn).reshape(-1, 3).tolist()}
    assert PALETTES["safe"][COLOURS["red"]] in pixels
    assert COLOURS["red"] not in pixels
    assert CANVAS == 96


# -- what sessions say -----------------------------------------------------------------------------


class Spoken(AtTheWindow):
    """Notes the language in which it is spoken to, and everything that pages bring."""

    def __init__(self, answer: Any) -> None:
        super().__init__(answer)
        self.heard: list[str] = []
        self.brought: list[PageContent] = []

    def speak(self, language: str) -> None:
        self.heard.append(f"{language} before page {len(self.pages) + 1}")

    def page(self, page: PageContent) -> None:
        super().page(page)
        self.brought.append(page)


def test_the_first_page_is_in_the_sessions_language_and_has_an_example(tmp_path: Path) -> None:
    agent = Spoken(right)
    take(tmp_path, load_paradigm("vsr"), agent, 1, language="de")
    assert agent.heard == ["de before page 1"]
    assert agent.pages[0].startswith("Visuelle serielle Wiedergabe: Sie sehen")
    assert "So antworten Sie\n\nKlicken Sie auf Ihre Antwort." in agent.pages[0]
    assert agent.pages[0].endswith("Ihre Antwort gilt sofort; Sie können sie nicht mehr ändern.")
    assert "Welches Muster kam als erstes? Richtige Antwort: " in agent.pages[0]
    assert len(agent.brought[0].example) >= 2
    assert agent.pages[-1].startswith("Vielen Dank")


def test_each_question_of_an_example_has_its_own_reason() -> None:
    displays = example_displays(load_paradigm("axcpt"), "en", {"trial_type": "BX", "delay_ms": 1000})
    whys = [question.why.text and question.why.text.text_in("en") for one in displays for question in one.questions]
    assert "only X after A" in str(whys[-1])
    assert "only X after A" not in str(whys[:-1])


# -- practice and pauses ---------------------------------------------------------------------------


def test_a_result_of_practice_that_was_not_noted_is_noted_when_the_session_goes_on(tmp_path: Path) -> None:
    """As after a power cut on the last page of practice."""
    session = take(tmp_path, easy(tmp_path), Spoken(wrong), 1, practice=True)
    events = session.folder / "events.jsonl"
    before = events.read_bytes()
    events.write_bytes(before[: before.index(b'{"event":"practice"')])
    (session.folder / "responses.csv").unlink()
    Runner(reopen(session.folder), Spoken(wrong)).run()
    assert [event["rounds"] for event in read_events(session.folder) if event["event"] == "practice"] == [2]


def test_nothing_comes_between_the_scanner_and_the_first_trial(tmp_path: Path) -> None:
    agent = Spoken(right)
    agent.await_pulse = lambda *_: agent.pages.append("SCANNER")  # type: ignore[method-assign]
    agent.pulses = lambda: [0.0]  # type: ignore[method-assign]
    paradigm, levels = load_paradigm("nback_verbal"), {"n": [3]}
    plan = plan_session(paradigm, 1, SessionDesign(), levels=levels, trials=1)
    session = begin(
        tmp_path,
        paradigm,
        agent,
        plan,
        Request(1, practice=True, extra={"start": {"pulse": "5", "at": 1, "each_trial": False}}),
    )
    Runner(session, agent).run()
    assert agent.pages[agent.pages.index("SCANNER") + 1].startswith("Thank you")


def test_a_page_counts_anew_after_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second click of two on "Go on" is no answer to the page behind it."""
    clock, ends = iter([0.0, 60.0]), list[Press]()
    escape, soon, later = (
        Press("key", at, key=name) for at, name in ((50.0, "escape"), (60.1, "space"), (60.5, "space"))
    )
    presses = SimpleNamespace(set_aside=list, take=iter([[escape], [soon], [later]]).__next__, aside=ends)
    room = MagicMock(presses=presses, replace=lambda *_: next(clock))
    monkeypatch.setattr(between_trials, "pause", lambda room, language: None)
    between_trials._until(room, "en", lambda: None, lambda press: "on")
    assert presses.ended_by == later


def test_what_is_not_known_is_no_confirmation() -> None:
    marker, step = MagicMock(), MagicMock()
    step.take.return_value, step.sheet.presses = "mark", [{}]
    Player._take(SimpleNamespace(marker=marker), step, MagicMock(), 0, 0.0)  # type: ignore[arg-type]
    assert marker.answered.call_args.args[0] == "unknown"


def test_practice_that_is_not_passed_is_recorded_and_the_session_goes_on(tmp_path: Path) -> None:
    session = take(tmp_path, easy(tmp_path), Spoken(wrong), 1, practice=True)
    (event,) = [event for event in read_events(session.folder) if event["event"] == "practice"]
    assert event == {"event": "practice", "rounds": 2, "right": 0, "items": 2, "passed": False}
    assert (~read_responses(session.folder).practice).any()


def test_practice_that_is_not_passed_may_stop_the_session(tmp_path: Path) -> None:
    from session_tools import start

    paradigm, agent = easy(tmp_path, "stop"), Spoken(wrong)
    session = start(tmp_path, paradigm, agent, 1, practice=True)
    with pytest.raises(NotPassedError, match=r"0 of 2 correct in round 2.*a page asks whether to practise once more"):
        Runner(session, agent).run()
    assert agent.pages[-1].startswith("One moment, please: The practice is over for now")
    assert [event["event"] for event in read_events(session.folder)][-3:] == [
        "practice",
        "practice_decision",
        "interrupted",
    ]
    with pytest.raises(NotPassedError):  # going on does not get round it, and practises no further
        Runner(session, Spoken(wrong)).run()
    assert sum(event["event"] == "practice" for event in read_events(session.folder)) == 1


def test_pauses_come_after_so_many_trials_and_tell_how_it_went(tmp_path: Path) -> None:
    agent = Spoken(wrong)
    session = take(
        tmp_path,
        easy(tmp_path),
        agent,
        plan_session(easy(tmp_path), 1, easy(tmp_path).designs["human"]),
        design="human",
    )
    pauses = [
        (page, content) for page, content in zip(agent.pages, agent.brought, strict=True) if page.startswith("Pause")
    ]
    assert [page.split(": ")[1][:24] for page, _ in pauses] == ["2 of 5 trials are done. ", "4 of 5 trials are done. "]
    assert all("0 % of your answers were correct" in page for page, _ in pauses)
    assert [content.progress for _, content in pauses] == [0.4, 0.8]
    assert all(content.least == 3 for _, content in pauses)
    events = [event for event in read_events(session.folder) if event["event"] == "break"]
    assert [event["trials_done"] for event in events] == [2, 4]
    assert all(event["for_ms"] >= 0 for event in events)


def test_pauses_come_after_some_minutes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from spanlab.sessions import participant_flow

    (tmp_path / "slow.yaml").write_text(
        "extends: vsr\nparadigm: slow\ndesigns: {human: {factors: {list_length: [2]}, repetitions: 6, breaks: {minutes:"
        " 2}}}\n",
        encoding="utf-8",
    )
    seconds = iter(range(0, 10**6, 25))
    monkeypatch.setattr(participant_flow.time, "monotonic", lambda: float(next(seconds)))
    paradigm, agent = load_paradigm(tmp_path / "slow.yaml"), Spoken(wrong)
    take(tmp_path, paradigm, agent, plan_session(paradigm, 1, paradigm.designs["human"]), design="human")  # type: ignore[arg-type]
    assert [page for page in agent.pages if page.startswith("Pause")]
