"""Words that guide people: what is asked, how to answer, what is right in worked examples (and
nowhere else), and how one's own answers in practice were."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from paradigm_texts import load, text
from session_tools import AtTheWindow, take

from spanlab.agents.base import Response
from spanlab.agents.human import WindowOptions
from spanlab.agents.human.display.surface import SurfaceView
from spanlab.agents.human.input.answering import AnswerSheet, Press
from spanlab.agents.human.pages import Strip, heading
from spanlab.agents.human.participant import Participant
from spanlab.agents.human.stage import Stage, letter_beside
from spanlab.agents.window import PageContent
from spanlab.core.errors import ParadigmError
from spanlab.core.locale import ordinal, sentence
from spanlab.paradigms import (
    AnswerKeys,
    Ask,
    Percept,
    Prompt,
    Truth,
    compile_trial,
    fingerprint,
    list_paradigms,
    load_paradigm,
)
from spanlab.paradigms.compile import resolve_levels
from spanlab.paradigms.preview.example import example_displays, worked_answers
from spanlab.paradigms.responses import Choice, Rating
from spanlab.sessions.practice import feedback_on
from spanlab.sessions.session import brief
from spanlab.stimuli.kinds.plain import Blank

LANGUAGES = ("en", "de")


# -- what is asked ---------------------------------------------------------------------------------


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", list_paradigms())
def test_every_question_says_what_is_asked_and_nothing_of_what_is_drawn(name: str) -> None:
    """The same words for all trials with the same levels: they can follow from levels and counts
    alone."""
    paradigm = load_paradigm(name)
    combinations = paradigm.combinations()
    for combination in combinations[:: max(1, len(combinations) // 3)]:
        levels, told = resolve_levels(paradigm, combination, 1), []
        for seed in (1, 2, 3):
            asks = [
                step.percept.ask for step in compile_trial(paradigm, levels, seed).steps if step.percept.ask is not None
            ]
            told.append(
                [tuple(ask.prompt.text_in(language) for language in LANGUAGES) if ask.prompt else None for ask in asks]
            )
        assert None not in told[0]
        assert all(english != german and "{" not in english + german for english, german in told[0])
        few = min(map(len, told))  # how many there are may differ, as in task switching
        assert told[0][:few] == told[1][:few] == told[2][:few]


def test_a_prompt_counts_as_people_do() -> None:
    asks = [
        step.percept.ask
        for step in compile_trial(load_paradigm("vsr"), {"list_length": 3}, 1).steps
        if step.percept.ask is not None
    ]
    prompts = [ask.prompt for ask in asks if ask.prompt is not None]
    assert [prompt.text_in("en") for prompt in prompts] == [
        "Which pattern came first?",
        "Which pattern came second?",
        "Which pattern came third?",
    ]
    assert prompts[2].text_in("de") == "Welches Muster kam als drittes?"
    assert prompts[0].text_in("fr") == "Which pattern came first?"
    assert (ordinal(21, "en"), ordinal(21, "de")) == ("number 21", "21te")


LOOP = """
- for: item in secret
  phase: probe
  show: {blank: {}}
  ask: {choice: {options: 9}, answer: =item, prompt: PROMPT}
"""


@pytest.mark.parametrize(
    ("prompt", "says"),
    [
        ("{en: 'It is {=item}.'}", "item"),
        ("{en: 'It is {=secret[0]}.'}", "secret"),
        ("{en: 'It is {answer}.'}", "there is no gap '{answer}' here"),
        ("{en: 'Which {ordnal}?'}", "did you mean 'ordinal'?"),
        ("[1, 2]", "expected a text, or one for each language"),
    ],
)
def test_a_prompt_cannot_tell_what_is_drawn(tmp_path: Path, prompt: str, says: str) -> None:
    with pytest.raises(ParadigmError, match=r"prompt") as error:
        load(tmp_path, text(LOOP.replace("PROMPT", prompt), draw="secret: {permutation: {of: 9, take: 2}}"))
    assert says in str(error.value)
    good = load(
        tmp_path,
        text(
            LOOP.replace("PROMPT", "'Item {position} of {=[1, 2]}, round {=number}?'"),
            draw="secret: {permutation: {of: 9, take: 2}}",
        ),
    )
    asks = [step.percept.ask for step in compile_trial(good, {}, 1).steps]
    assert [ask.prompt.text_in("de") for ask in asks if ask is not None and ask.prompt is not None] == [
        "Item 1 of 1, 2, round 1?",
        "Item 2 of 1, 2, round 2?",
    ]


@pytest.mark.parametrize(
    ("key", "wrong", "good"),
    [("frames", wrong, (1, 2, 3, 4.5)) for wrong in ("[1, 2, 3, 4]", "[[1, 2, 3]]", "7")] + [("way", "[[1]]", (1, 2))],
)
def test_what_is_no_area_cannot_be_framed_and_a_way_has_points(
    tmp_path: Path, key: str, wrong: str, good: tuple[float, ...]
) -> None:
    probe = f"- {{phase: probe, show: {{blank: {{}}}}, ask: {{choice: {{options: 9}}, answer: 0, {key}: PLACES}}}}"
    with pytest.raises(ParadigmError, match=r"expected a list of (areas|points), each as \[x0?, y"):
        example_displays(load(tmp_path, text(probe.replace("PLACES", wrong))), "en", {})
    read = load(tmp_path, text(probe.replace("PLACES", str([list(good)]))))
    (question,) = (one for display in example_displays(read, "en", {}) for one in display.questions)
    assert getattr(question.why, key) == (good,)


def test_counting_needs_a_loop(tmp_path: Path) -> None:
    probe = "- {phase: probe, show: {blank: {}}, ask: {choice: {options: 9}, answer: 0, prompt: 'Which {ordinal}?'}}"
    with pytest.raises(ParadigmError, match="count the rounds of a loop"):
        load(tmp_path, text(probe))


def test_words_for_people_are_no_part_of_what_a_trial_is_known_by(tmp_path: Path) -> None:
    draw = "secret: {permutation: {of: 9, take: 2}}"
    with_words, without = (
        compile_trial(load(tmp_path, text(LOOP.replace(", prompt: PROMPT", more), draw=draw), f"{number}.yaml"), {}, 1)
        for number, more in enumerate((", prompt: 'Which came {ordinal}?', why: 'It was {answer}.'", ""))
    )
    assert (with_words.trial_id, fingerprint(with_words)) == (without.trial_id, fingerprint(without))


# -- what is right, in examples alone --------------------------------------------------------------


@pytest.mark.parametrize("name", list_paradigms())
@pytest.mark.slow
def test_worked_examples_show_right_answers_and_agree_with_the_trial(name: str) -> None:
    paradigm = load_paradigm(name)
    levels = resolve_levels(paradigm, paradigm.combinations()[-1], 1)
    for language in LANGUAGES:
        questions = [
            question for display in example_displays(paradigm, language, levels) for question in display.questions
        ]
        assert questions
        told = " ".join(worked_answers(example_displays(paradigm, language, levels), language))
        assert "{" not in told
        for question in questions:
            assert question.kind.allows(question.answer)
            assert question.shown_answer(language) in told
            assert question.prompt is not None
            assert question.prompt.text_in(language) in told


def test_reasons_are_told_in_examples_alone() -> None:
    """No percept and no context has a place for them."""
    assert {field.name for field in fields(Ask)} & {"why", "frames", "way", "answer"} == set()
    assert {field.name for field in fields(Truth)} & {"why", "frames"} == set()
    paradigm = load_paradigm("smu")
    trial = compile_trial(paradigm, {"set_size": 2}, 1)
    assert "It began here" in worked_answers(example_displays(paradigm, "en", {"set_size": 2}), "en")[1]
    assert "It began here" not in repr([step.percept for step in trial.steps])
    assert "It began here" not in repr(brief(Participant(), paradigm, "en", trial))


# -- how to answer ---------------------------------------------------------------------------------


class Pictures:
    """Notes what is drawn, without a window."""

    def __init__(self) -> None:
        self.drawn: list[Any] = []
        #: lowest and highest pixel of what was drawn, and the furthest to a side, from the middle
        self.low = self.high = self.wide = 0.0

    def put(self, key: Any, make: Any, smooth: bool = False) -> Any:
        return SimpleNamespace(key=key, size=make().size)

    def once(self, image: Any, smooth: bool = False) -> Any:
        return SimpleNamespace(key="once", size=image.size)

    def draw(self, picture: Any, x: float, y: float, turned: float = 0.0) -> None:
        self.drawn.append((picture.key, y))
        wide, high = picture.size
        self.low, self.high, self.wide = (
            min(self.low, y - high / 2),
            max(self.high, y + high / 2),
            max(self.wide, abs(x) + wide / 2),
        )


def surface_of(
    name: str,
    levels: dict[str, Any],
    language: str = "en",
    size: tuple[int, int] = (1024, 768),
    canvas: int = 500,
    letter: int = 18,
) -> tuple[SurfaceView, Pictures, AnswerSheet]:
    asks = [
        step.percept.ask for step in compile_trial(load_paradigm(name), levels, 1).steps if step.percept.ask is not None
    ]
    ask = max(asks, key=lambda ask: len(ask.kind.legend("participant", language)))
    pictures = Pictures()
    view = SurfaceView(SimpleNamespace(size=size), pictures, canvas, letter)  # type: ignore[arg-type]
    view.prepare((ask.kind,), language, (ask.prompt,) if ask.prompt is not None else ())
    return view, pictures, AnswerSheet(ask, 0.0)


def test_the_button_says_what_is_missing() -> None:
    view, pictures, sheet = surface_of("sfr", {"list_length": 3})
    said = []
    for region in sheet.surface.regions[:3]:
        view.draw(sheet, 1, (-9999, -9999), 0.0)
        sheet.take(Press("click", 1.0, x=region.x0 + 1, y=region.y0 + 1))
    view.draw(sheet, 1, (-9999, -9999), 0.0)
    said = [
        key[2]
        for key, *_ in (one for one in pictures.drawn if isinstance(one, tuple) and isinstance(one[0], tuple))
        if key[0] == "done"
    ]
    assert said == [
        "Done (mark 3 more first; guess if unsure)",
        "Done (mark 2 more first; guess if unsure)",
        "Done (mark 1 more first; guess if unsure)",
        "Done",
    ]


def test_the_question_stands_above_the_canvas_and_the_rest_below() -> None:
    for name, levels in (
        ("sfr", {"list_length": 3}),
        ("vsr", {"list_length": 3}),
        ("nback_verbal", {"n": 1, "lures": "none"}),
    ):
        view, pictures, sheet = surface_of(name, levels, "de")
        view.draw(sheet, 2, (-9999, -9999), 0.0)
        places = {
            key[0][0] if isinstance(key[0], tuple) else key[0]: y
            for key, y in (one for one in pictures.drawn if not isinstance(one[0], str))
        }
        assert places["prompt"] > view.canvas_px / 2 > 0 > places["legend"]
        assert "which" not in places


def test_legends_say_what_each_key_means() -> None:
    paradigm = load_paradigm("nback_verbal")
    assert "f = match, j = no match" in legend(paradigm, {"n": 1, "lures": "none"}, "en")
    assert "f = Treffer, j = kein Treffer" in legend(paradigm, {"n": 1, "lures": "none"}, "de")
    assert "1 2 3 are the top row, 4 5 6 the middle row, 7 8 9 the bottom row (on a number pad" in legend(
        load_paradigm("vsr"), {"list_length": 3}, "en"
    )


def legend(paradigm: Any, levels: dict[str, Any], language: str) -> str:
    ask = next(step.percept.ask for step in compile_trial(paradigm, levels, 1).steps if step.percept.ask is not None)
    return ask.kind.with_keys(AnswerKeys(words=paradigm.translations.get(language, {}))).legend("participant", language)


@pytest.mark.sampled(22)
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", list_paradigms())
def test_it_is_said_that_the_first_press_counts_where_it_does(name: str, language: str) -> None:
    """Only of answers of one press; how several make one answer is said in the legend."""
    paradigm = load_paradigm(name)
    for step in compile_trial(paradigm, paradigm.combinations()[-1], 1).steps:
        if (ask := step.percept.ask) is not None:
            several = ask.kind.surface().several
            assert (ask.kind.finality(ask.counts, language) == "") == several
            assert not several or sentence("legend.sequence_done", language).partition(":")[0] in ask.kind.legend(
                "participant", language
            )


def test_whether_an_answer_can_be_changed_follows_from_how_it_is_given() -> None:
    keys, places = (
        Choice.model_validate({"options": ("yes", "no"), "keys": ("f", "j")}),
        Choice.model_validate({"options": 9, "layout": "3x3"}),
    )
    assert keys.finality("first") == "Your answer counts at once; you cannot change it."
    assert places.finality("first") == "Your answer counts at once; you cannot change it."
    assert (
        Choice.model_validate({"options": 16, "layout": "4x4"}).finality("first")
        == "Your first click counts at once; you cannot change it."
    )
    assert keys.finality("last") == "You can change your answer until the time is up; the last one counts."
    dial = next(
        step.percept.ask
        for step in compile_trial(load_paradigm("continuous_colour"), {"set_size": 1}, 1).steps
        if step.percept.ask is not None
    )
    assert dial.kind.finality("first").startswith("A click counts at once;")


@pytest.mark.parametrize(("name", "says"), [("cs", 1), ("operation_span", 1), ("smu", 1), ("corsi", 0)])
def test_instructions_say_once_for_each_way_to_answer_that_it_cannot_be_changed(
    name: str, says: int, tmp_path: Path
) -> None:
    agent = AtTheWindow(lambda percept, number: Response(None, 500.0, 99, "invalid"))
    take(tmp_path, load_paradigm(name), agent, 1)
    assert (
        next(page for page in agent.pages if "How to answer" in page)
        .partition("How to answer")[2]
        .count("you cannot change it")
        == says
    )


@pytest.mark.parametrize("size", [(800, 600), (1024, 768), (1280, 800), (2560, 1440), (3840, 2160), (600, 800)])
def test_the_largest_canvas_leaves_room_for_question_and_legend(size: tuple[int, int]) -> None:
    letter = max(14, round(size[1] / 42))
    canvas = Stage._fit(SimpleNamespace(window=SimpleNamespace(size=size), letter_px=letter), "largest")  # type: ignore[arg-type]
    assert canvas <= size[0]
    assert (size[1] - canvas) / 2 >= 6.4 * letter
    assert canvas >= 0.6 * min(size)


def test_only_questions_of_a_questionnaire_that_keys_alone_answer_have_buttons() -> None:
    view = SurfaceView(SimpleNamespace(size=(1280, 1024)), Pictures(), 712, 24)  # type: ignore[arg-type]
    words = tuple(f"a rather long answer, the {number}th" for number in range(1, 9))
    for options, buttons in (
        (("yes", "no"), 2),
        (("never", "seldom", "often", "always", "not said"), 5),
        (words[:4], 4),
        (words, 0),
    ):
        surface = view.with_buttons(Choice.model_validate({"options": options}))
        assert (0 if surface is None else len(surface.regions)) == buttons
        for region in surface.regions if surface is not None else ():
            assert region.y0 > 96, "below the canvas"
            assert region.value in options
    assert view.with_buttons(Choice.model_validate({"options": 9, "layout": "3x3"})) is None
    assert view.with_buttons(Rating.model_validate({})) is None
    sheet = AnswerSheet(Ask(Choice.model_validate({"options": ("yes", "no"), "keys": ("f", "j")})), 0.0)
    assert sheet.take(Press("click", 1.0, x=40, y=103)) == "nothing"


SCREENS = [(1280, 1024), (1920, 1080), (1024, 768), (800, 600)]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "name", ["corsi", "digit_span", "operation_span", "running_span", "sfr", "smu", "continuous_colour"]
)
def test_nothing_around_a_question_touches_the_edge_of_the_window(name: str, language: str) -> None:
    levels = load_paradigm(name).combinations()[-1]
    for size in SCREENS:
        letter = max(14, round(size[1] / 42))
        canvas = Stage._fit(SimpleNamespace(window=SimpleNamespace(size=size), letter_px=letter), "largest")  # type: ignore[arg-type]
        view, pictures, sheet = surface_of(name, levels, language, size, canvas, letter)
        view.draw(sheet, 2, (-9999, -9999), 0.0)
        assert pictures.drawn
        assert size[1] / 2 - max(-pictures.low, pictures.high) >= 0.4 * letter, size
        assert size[0] / 2 - pictures.wide >= 1.5 * letter, size


def test_letters_become_smaller_where_the_canvas_leaves_little_room() -> None:
    """A canvas of 14 degrees on a screen of 1280 x 1024 pixels; its legend in two lines, below a
    button, has room all the same."""
    size, canvas = (1280, 1024), 728
    view, pictures, sheet = surface_of(
        "corsi", {"direction": "backward", "list_length": 3}, "de", size, canvas, letter_beside(26, size[1], canvas)
    )
    view.draw(sheet, 1, (-9999, -9999), 0.0)
    assert size[1] / 2 + pictures.low > 0.4 * view.letter_px
    assert letter_beside(20, 1024, 500) == 20


def test_degrees_hold_where_the_screen_was_measured() -> None:
    assert Participant().settings()["canvas_deg"] == "largest"
    assert Participant(WindowOptions(width_cm=53.0)).settings()["canvas_deg"] == 10
    assert Participant(WindowOptions(size_deg=8)).settings()["canvas_deg"] == 8


# -- what became of one's answers ------------------------------------------------------------------


class Noting(AtTheWindow):
    """Keeps what pages bring."""

    def __init__(self, answer: Any) -> None:
        super().__init__(answer)
        self.brought: list[tuple[str, Any]] = []

    def page(self, page: PageContent) -> None:
        super().page(page)
        self.brought.append((page.text or page.after, page.example))


def test_practice_tells_which_of_ones_own_marks_were_right_and_which_were_missed(tmp_path: Path) -> None:
    paradigm = load_paradigm("sfr")
    agent = Noting(
        lambda percept, number: Response((0, 1, 2)[: percept.ask.kind.take] if percept.ask is not None else None, 500.0)
    )  # type: ignore[attr-defined]
    take(tmp_path, paradigm, agent, 1, levels={"list_length": 3}, practice=True)
    pictured = [example for text, example in agent.brought if "correct" in text and example]
    assert pictured
    for displays in pictured:
        (own,) = [display.marks for display in displays]
        assert sorted(mark.value for mark in own if mark.verdict != "missed") == [0, 1, 2]
        assert all(mark.number is None and mark.verdict in ("right", "wrong", "missed") for mark in own)
        assert sum(mark.verdict == "missed" for mark in own) == sum(mark.verdict == "wrong" for mark in own)
        assert not any(display.questions for display in displays)


def _told(
    name: str, answers: Callable[[Any], list[Any]], language: str = "en", **levels: Any
) -> tuple[str, list[Any], list[Any]]:
    """What somebody learns who gives these answers to a practice trial, the pictures, and the right
    answers."""
    steps = compile_trial(load_paradigm(name), levels, 1).steps
    asked = [step for step in steps if step.percept.ask is not None]
    right = [step.truth.answer for step in asked]
    judged: list[Any] = []
    for step, given in zip(asked, answers(right), strict=True):
        assert step.percept.ask is not None
        assert step.truth.answer is not None
        judged.append([asdict(score) for score in step.percept.ask.kind.score(given, step.truth.answer)])
    return *feedback_on(steps, judged, language, AnswerKeys()), right


def test_a_recalled_list_is_shown_back_in_its_order_with_what_each_item_should_have_been() -> None:
    told, pictured, (right,) = _told(
        "digit_span", lambda right: [(right[0][1], None, right[0][2])], list_length=3, direction="forward"
    )
    first, second, third = right
    assert (
        told
        == f"1 of 3 correct.\n\nYour answer, in order: {second} (should be {first}) · nothing (should be {second}) ·"
        f" {third} (right)."
    )
    assert [(display.caption, display.stimulus.text) for display in pictured] == [
        ("yours", f"{second} – {third}"),
        ("right_marked", f"{first} {second} {third}"),
    ]
    told, _, _ = _told("digit_span", lambda right: [(*right[0], "1")], "de", list_length=3, direction="forward")
    assert told.endswith(f"{right[2]} (richtig) · 1 (eins zu viel).")
    told, pictured, _ = _told("digit_span", lambda right: right, list_length=3, direction="forward")
    assert (told, pictured) == ("All correct.", [])


def test_blocks_are_drawn_on_their_board_with_their_numbers_and_what_came_elsewhere_in_the_order() -> None:
    def swapped(right: list[Any]) -> list[Any]:
        return [(right[0][1], right[0][0], next(block for block in range(9) if block not in right[0]))]

    told, (yours, correct), (right,) = _told("corsi", swapped, direction="forward", list_length=3)
    assert told.endswith(
        "Your number 1 (two arrows): it is one of them, but number 2\n"
        "Your number 2 (two arrows): it is one of them, but number 1\nYour number 3 (cross): it is none of them"
    )
    assert [(mark.verdict, mark.number) for mark in yours.marks] == [("elsewhere", 1), ("elsewhere", 2), ("wrong", 3)]
    assert [mark.value for mark in yours.marks] == list(swapped([right])[0])
    assert yours.stimulus.name == correct.stimulus.name == "blocks"
    assert [question.answer for question in correct.questions] == [right]


@pytest.mark.parametrize(
    ("language", "words"),
    [("en", ("remembered: 1 of 3", "in between: 2 of 3")), ("de", ("Gemerkt: 1 von 3", "entschieden: 2 von 3"))],
)
def test_storage_and_processing_are_told_apart(language: str, words: tuple[str, str]) -> None:
    def answers(right: list[Any]) -> list[Any]:
        *decisions, letters = right
        return [None, *decisions[1:], (letters[0], letters[2], None)]

    told, pictured, _ = _told("operation_span", answers, language, list_length=3)
    storage, processing, missed, order = told.split("\n\n")
    assert words[0] in storage
    assert words[1] in processing
    assert missed.startswith(
        {"en": "Question 1. You did not answer.", "de": "Frage 1. Sie haben nicht geantwortet."}[language]
    )
    assert order.count("·") == 2
    assert [display.caption for display in pictured] == ["", "yours", "right_marked"]


@pytest.mark.parametrize(
    ("off", "words"),
    [(40, "40°."), (0, "0°."), (-100, "100°.")],
)
def test_an_answer_on_a_wheel_is_shown_beside_the_right_one_with_its_distance(off: int, words: str) -> None:
    """Up to 45° count as right in this paradigm, and nobody is told that such an answer was all
    correct."""
    told, (yours, correct), (right,) = _told("continuous_colour", lambda right: [(right[0] + off) % 360], set_size=1)
    assert told == f"Distance from the right answer: {words} 0° is exact; 180° is the opposite side."
    assert [mark.value for mark in yours.marks] == [(right + off) % 360]
    assert [question.answer for question in correct.questions] == [right]
    strip = Strip.within((yours, correct), (900, 500), 20)
    assert strip is not None
    drawn = np.asarray(strip.draw((yours, correct), "en"))
    assert heading((yours, correct), "de") == "Ihre Antwort und die richtige Antwort"
    half = drawn.shape[1] // 2
    assert (drawn[:, :half] != drawn[:, -half:]).any()
    told, (correct,), _ = _told("continuous_colour", lambda right: [None], set_size=1)
    assert told == "You did not answer."
    assert correct.questions


def test_a_missed_cell_has_an_empty_frame() -> None:
    def swapped(right: list[Any]) -> list[Any]:
        return [(*right[0][:2], next(cell for cell in range(100) if cell not in right[0]))]

    _, (yours,), (right,) = _told("sfr", swapped, list_length=3)
    assert {mark.value: mark.verdict for mark in yours.marks} == {
        right[0]: "right",
        right[1]: "right",
        right[2]: "missed",
        swapped([right])[0][2]: "wrong",
    }
    assert "empty frame: one that you left out" in heading((yours,), "en")
    _, (yours,), _ = _told("sfr", lambda right: right, list_length=3)
    assert "empty frame" not in heading((yours,), "en")


def test_practice_says_what_was_right_and_why_after_every_trial(tmp_path: Path) -> None:
    paradigm = load_paradigm("vsr")
    agent = Noting(lambda percept, number: Response(0, 500.0))
    take(tmp_path, paradigm, agent, 1, levels={"list_length": 3}, practice=True)
    told = [(words, example) for words, example in agent.brought if "of 3 correct" in words]
    assert told
    for words, pictured in told:
        assert len(pictured) == 3 - int(words.split()[0])
        for display in pictured:
            (question,), (mark,) = display.questions, display.marks
            assert (mark.value, mark.verdict) == (0, "wrong")
            assert question.answer != 0
            assert question.prompt is not None
            said = f"Correct answer: {question.shown_answer('en')}. This pattern came {ordinal(question.number, 'en')}."
            assert f"Your answer: top left. {said}" in words
        assert heading(pictured, "en") == "Your answer, and the correct answer"
    again = [words for words, _ in agent.brought if "Let us practise once more" in words]
    assert "answers were right; 60\u00a0% are needed." in again[0]


def test_a_change_is_pictured_beside_what_was_before_and_a_new_rule_is_told_first(tmp_path: Path) -> None:
    agent = Noting(lambda percept, number: Response("same", 500.0))
    take(tmp_path, load_paradigm("cd"), agent, 1, practice=True)
    pictured = [example for _, example in agent.brought if any(display.caption for display in example)]
    assert pictured
    for before, now in pictured:
        assert (before.stimulus != now.stimulus) == (now.questions[0].answer == "different")
        assert before.stimulus.name == now.stimulus.name == "bars"
    new = [page for page in agent.pages if page.startswith("Change Detection: now different")]
    assert new
    assert all(page.partition(": ")[2].partition(": ")[2].startswith("From now on: Either") for page in new)


def test_the_only_answer_of_a_practice_trial_is_explained_whether_right_or_wrong_or_missed() -> None:
    paradigm, levels = load_paradigm("cd"), {"feature": "colour", "set_size": 2}
    (asked,) = [step for step in compile_trial(paradigm, levels, 1).steps if step.percept.ask is not None]
    right = str(asked.truth.answer)
    wrong = "same" if right == "different" else "different"
    for given, begins, yours in (
        (right, "That is right.", f"Your answer: {right} ({'f' if right == 'same' else 'j'})."),
        (wrong, "That is not right.", f"Your answer: {wrong} ({'f' if wrong == 'same' else 'j'})."),
        (None, "That is not right.", "You did not answer."),
    ):
        words, (pictured,), _ = _told("cd", lambda right, given=given: [given], **levels)
        assert words.startswith(f"{begins}\n\n{yours}\nCorrect answer: {right} (")
        assert pictured.stimulus == asked.percept.displays[-1].stimulus


def test_after_a_block_the_first_wrong_answers_are_explained_on_the_items_that_they_were_about() -> None:
    levels = load_paradigm("nback_spatial").combinations()[0]
    words, pictured, right = _told("nback_spatial", lambda right: ["m"] * len(right), **levels)
    wrong = [number for number, answer in enumerate(right, start=1) if answer != "m"]
    assert [display.questions[0].number for display in pictured] == wrong[:4]
    assert words.startswith(f"{len(right) - len(wrong)} of {len(right)} correct.")
    assert all(display.stimulus != Blank.model_validate({}) for display in pictured)


def test_percepts_of_people_and_machines_have_the_same_prompt() -> None:
    """It is a part of what is asked, and whoever is asked may read it."""
    percept = next(
        step.percept
        for step in compile_trial(load_paradigm("cd"), {"feature": "gap", "set_size": 2}, 1).steps
        if step.percept.ask is not None
    )
    assert isinstance(percept, Percept)
    assert percept.ask is not None
    assert percept.ask.prompt == Prompt(
        (
            ("en", "Is everything the same as before, or is something different?"),
            ("de", "Ist alles wie vorher, oder ist etwas anders?"),
        )
    )
