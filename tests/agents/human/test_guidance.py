"""Words that guide people: what is asked, how to answer, what is right in worked examples (and nowhere else), and how one's own answers in practice were."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from paradigm_texts import load, text
from session_tools import AtTheWindow, take

from spanlab.agents.base import PageContent, Response
from spanlab.agents.chat.agent import ChatAgent
from spanlab.agents.chat.conversation import Conversation
from spanlab.agents.chat.settings import ChatSettings
from spanlab.agents.chat.transport.endpoint import Endpoint
from spanlab.agents.human import WindowOptions
from spanlab.agents.human.display.surface import SurfaceView
from spanlab.agents.human.input.answering import AnswerSheet, Press
from spanlab.agents.human.participant import Participant
from spanlab.agents.human.stage import Stage, letter_beside
from spanlab.core.errors import ParadigmError, SpanLabError
from spanlab.core.locale import ordinal
from spanlab.paradigms import AnswerKeys, Ask, Percept, Prompt, Truth, compile_trial, fingerprint, list_paradigms, load_paradigm
from spanlab.paradigms.compile import resolve_levels
from spanlab.paradigms.preview.example import example_displays
from spanlab.paradigms.responses import Choice, Rating
from spanlab.sessions.practice_feedback import feedback_on
from spanlab.sessions.session import brief

LANGUAGES = ("en", "de")


def model(**settings: Any) -> ChatAgent:
    """A chat model that nobody asks."""
    return ChatAgent("any", ChatSettings(**settings), Endpoint("http://127.0.0.1:9", key_variable=None))


# -- what is asked -----------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list_paradigms())
def test_every_question_says_what_is_asked_and_nothing_of_what_is_drawn(name: str) -> None:
    """The same words for all trials with the same levels: they can follow from levels and counts alone."""
    paradigm = load_paradigm(name)
    combinations = paradigm.combinations()
    for combination in combinations[:: max(1, len(combinations) // 3)]:
        levels = resolve_levels(paradigm, combination, 1)
        told = []
        for seed in (1, 2, 3):
            asks = [step.percept.ask for step in compile_trial(paradigm, levels, seed).steps if step.percept.ask is not None]
            told.append([tuple(ask.prompt.text_in(language) for language in LANGUAGES) if ask.prompt else None for ask in asks])
        assert None not in told[0]
        assert all(english != german and "{" not in english + german for english, german in told[0])
        few = min(map(len, told))  # how many there are may differ, as in task switching
        assert told[0][:few] == told[1][:few] == told[2][:few]


def test_a_prompt_counts_as_people_do() -> None:
    asks = [step.percept.ask for step in compile_trial(load_paradigm("vsr"), {"list_length": 3}, 1).steps if step.percept.ask is not None]
    prompts = [ask.prompt for ask in asks if ask.prompt is not None]
    assert [prompt.text_in("en") for prompt in prompts] == ["Which pattern came first?", "Which pattern came second?", "Which pattern came third?"]
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
    good = load(tmp_path, text(LOOP.replace("PROMPT", "'Item {position} of {=2}, round {=number}?'"), draw="secret: {permutation: {of: 9, take: 2}}"))
    asks = [step.percept.ask for step in compile_trial(good, {}, 1).steps]
    assert [ask.prompt.text_in("de") for ask in asks if ask is not None and ask.prompt is not None] == ["Item 1 of 2, round 1?", "Item 2 of 2, round 2?"]


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


# -- what is right, in examples alone ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list_paradigms())
def test_worked_examples_show_right_answers_and_agree_with_the_trial(name: str) -> None:
    paradigm = load_paradigm(name)
    levels = resolve_levels(paradigm, paradigm.combinations()[-1], 1)
    for language in LANGUAGES:
        questions = [question for display in example_displays(paradigm, language, levels) for question in display.questions]
        assert questions
        for question in questions:
            assert question.kind.allows(question.answer)
            told = question.describe(language)
            assert "{" not in told
            assert question.shown_answer(language) in told
            assert question.prompt is not None
            assert told.startswith(question.prompt.text_in(language))


def test_reasons_are_told_in_examples_alone() -> None:
    """No percept and no context has a place for them."""
    assert {field.name for field in fields(Ask)} & {"why", "answer"} == set()
    assert {field.name for field in fields(Truth)} & {"why"} == set()
    paradigm = load_paradigm("smu")
    trial = compile_trial(paradigm, {"set_size": 2}, 1)
    assert "It began in cell" not in repr([step.percept for step in trial.steps])
    assert "It began in cell" not in repr(brief(Participant(), paradigm, "en", trial))


def test_models_are_asked_in_the_words_of_people_where_the_settings_say_so() -> None:
    paradigm = load_paradigm("vsr")
    trial = compile_trial(paradigm, {"list_length": 2}, 5)
    ask = next(step.percept.ask for step in trial.steps if step.percept.ask is not None)
    context = brief(model(), paradigm, "de", trial)
    conversation = Conversation(context, ChatSettings(prompts=True))
    assert ask.prompt is not None
    conversation.ask(ask.kind, ask.prompt.text_in(conversation.language))
    assert conversation.request({}).messages[-1].stored()["parts"][-1]["text"] == "Welches Muster kam als erstes? Answer with one number from 1 to 9."
    assert "prompts" in ChatSettings.later()
    with pytest.raises(SpanLabError, match="with wording bare, questions have no text"):
        ChatSettings.read({"prompts": True, "wording": "bare"})


# -- how to answer -----------------------------------------------------------------------------------------------------------------------------------


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

    def sparse(self, key: Any, make: Any) -> Any:
        return lambda: self.drawn.append(key)

    def draw(self, picture: Any, x: float, y: float, turned: float = 0.0) -> None:
        self.drawn.append((picture.key, y))
        wide, high = picture.size
        self.low, self.high, self.wide = min(self.low, y - high / 2), max(self.high, y + high / 2), max(self.wide, abs(x) + wide / 2)


def surface_of(
    name: str, levels: dict[str, Any], language: str = "en", size: tuple[int, int] = (1024, 768), canvas: int = 500, letter: int = 18
) -> tuple[SurfaceView, Pictures, AnswerSheet]:
    asks = [step.percept.ask for step in compile_trial(load_paradigm(name), levels, 1).steps if step.percept.ask is not None]
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
    said = [key[2] for key, *_ in (one for one in pictures.drawn if isinstance(one, tuple) and isinstance(one[0], tuple)) if key[0] == "done"]
    assert said == ["Mark 3 more (guess if unsure)", "Mark 2 more (guess if unsure)", "Mark 1 more (guess if unsure)", "Done"]


def test_the_question_stands_above_the_canvas_and_the_rest_below() -> None:
    for name, levels in (("sfr", {"list_length": 3}), ("vsr", {"list_length": 3}), ("nback_verbal", {"n": 1, "lures": "none"})):
        view, pictures, sheet = surface_of(name, levels, "de")
        view.draw(sheet, 2, (-9999, -9999), 0.0)
        places = {key[0][0] if isinstance(key[0], tuple) else key[0]: y for key, y in (one for one in pictures.drawn if not isinstance(one[0], str))}
        assert places["prompt"] > view.canvas_px / 2 > 0 > places["legend"]
        assert "which" not in places


def test_legends_say_what_each_key_means() -> None:
    paradigm = load_paradigm("nback_verbal")
    assert "m = match, - = no match" in legend(paradigm, {"n": 1, "lures": "none"}, "en")
    assert "m = Treffer, - = kein Treffer" in legend(paradigm, {"n": 1, "lures": "none"}, "de")
    assert "number of its place: 1 to 9, row by row from the top left (on a number pad" in legend(load_paradigm("vsr"), {"list_length": 3}, "en")


def legend(paradigm: Any, levels: dict[str, Any], language: str) -> str:
    ask = next(step.percept.ask for step in compile_trial(paradigm, levels, 1).steps if step.percept.ask is not None)
    return ask.kind.with_keys(AnswerKeys(words=paradigm.translations.get(language, {}))).legend("participant", language)


def test_the_cells_of_a_probed_box_are_drawn_and_wide_enough() -> None:
    _, pictures, sheet = surface_of("smu", {"set_size": 4})
    assert sheet.surface.outlined
    assert not surface_of("vsr", {"list_length": 3})[2].surface.outlined
    view, pictures, sheet = surface_of("smu", {"set_size": 4})
    view.draw(sheet, 1, (-9999, -9999), 0.0)
    assert any(key[0] == "grid" for key in pictures.drawn)
    window = SimpleNamespace(size=(1024, 768))
    canvas = Stage._fit(SimpleNamespace(window=window, letter_px=18), "largest")  # type: ignore[arg-type]
    region = sheet.surface.regions[0]
    assert canvas * (region.x1 - region.x0) / 96 > 24


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
    for options, buttons in ((("yes", "no"), 2), (("never", "seldom", "often", "always", "not said"), 5), (words[:4], 4), (words, 0)):
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


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ["corsi", "digit_span", "operation_span", "running_span", "sfr", "smu", "continuous_colour"])
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
    """A canvas of 14 degrees on a screen of 1280 x 1024 pixels; its legend in two lines, below a button, has room all the same."""
    size, canvas = (1280, 1024), 728
    view, pictures, sheet = surface_of("corsi", {"direction": "backward", "list_length": 3}, "de", size, canvas, letter_beside(26, size[1], canvas))
    view.draw(sheet, 1, (-9999, -9999), 0.0)
    assert size[1] / 2 + pictures.low > 0.4 * view.letter_px
    assert letter_beside(20, 1024, 500) == 20


def test_degrees_hold_where_the_screen_was_measured() -> None:
    assert Participant().settings()["canvas_deg"] == "largest"
    assert Participant(WindowOptions(width_cm=53.0)).settings()["canvas_deg"] == 10
    assert Participant(WindowOptions(size_deg=8)).settings()["canvas_deg"] == 8


# -- what became of one's answers --------------------------------------------------------------------------------------------------------------------


class Noting(AtTheWindow):
    """Keeps what pages bring."""

    def __init__(self, answer: Any) -> None:
        super().__init__(answer)
        self.brought: list[tuple[str, Any]] = []

    def page(self, page: PageContent) -> None:
        super().page(page)
        self.brought.append((page.text, page.example))


def test_practice_tells_which_of_ones_own_marks_were_right_and_not_what_was_missed(tmp_path: Path) -> None:
    paradigm = load_paradigm("sfr")
    agent = Noting(lambda percept, number: Response((0, 1, 2)[: percept.ask.kind.take] if percept.ask is not None else None, 500.0))  # type: ignore[attr-defined]
    take(tmp_path, paradigm, agent, 1, levels={"list_length": 3}, practice=True)
    pictured = [example for text, example in agent.brought if "correct" in text and example]
    assert pictured
    for displays in pictured:
        ((own),) = [display.marks for display in displays]
        assert sorted(mark.value for mark in own) == [0, 1, 2]
        assert all(mark.number is None and mark.verdict in ("right", "wrong") for mark in own)
        assert not any(display.questions for display in displays)


def _told(name: str, answers: Callable[[Any], list[Any]], language: str = "en", **levels: Any) -> tuple[str, list[Any], list[Any]]:
    """What somebody learns who gives these answers to a practice trial, the pictures, and the right answers."""
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
    told, pictured, (right,) = _told("digit_span", lambda right: [(right[0][1], None, right[0][2])], list_length=3, direction="forward")
    first, second, third = right
    assert told == f"1 of 3 correct.\n\nYour answer, in order: {second} (should be {first}) · nothing (should be {second}) · {third} (right)."
    assert not pictured, "nothing is ticked on the keypad, which has another order"
    told, _, _ = _told("digit_span", lambda right: [(*right[0], "1")], "de", list_length=3, direction="forward")
    assert told.endswith(f"{right[2]} (richtig) · 1 (eins zu viel).")
    told, pictured, _ = _told("digit_span", lambda right: right, list_length=3, direction="forward")
    assert (told, pictured) == ("All correct.", [])


def test_blocks_are_drawn_on_their_board_with_their_numbers_and_what_came_elsewhere_in_the_order() -> None:
    def swapped(right: list[Any]) -> list[Any]:
        return [(right[0][1], right[0][0], next(block for block in range(9) if block not in right[0]))]

    told, (yours, correct), (right,) = _told("corsi", swapped, direction="forward", list_length=3)
    assert told.endswith("Number 1: was shown, but it is number 2 · Number 2: was shown, but it is number 1 · Number 3: was not shown")
    assert [(mark.verdict, mark.number) for mark in yours.marks] == [("elsewhere", 1), ("elsewhere", 2), ("wrong", 3)]
    assert [mark.value for mark in yours.marks] == list(swapped([right])[0])
    assert yours.stimulus.name == correct.stimulus.name == "blocks"
    assert [question.answer for question in correct.questions] == [right]


@pytest.mark.parametrize(("language", "words"), [("en", ("remembered: 1 of 3", "in between: 2 of 3")), ("de", ("Gemerkt: 1 von 3", "entschieden: 2 von 3"))])
def test_storage_and_processing_are_told_apart(language: str, words: tuple[str, str]) -> None:
    def answers(right: list[Any]) -> list[Any]:
        *decisions, letters = right
        return [None, *decisions[1:], (letters[0], letters[2], None)]

    told, pictured, _ = _told("operation_span", answers, language, list_length=3)
    storage, processing, order = told.split("\n\n")
    assert words[0] in storage
    assert words[1] in processing
    assert order.count("·") == 2
    assert not pictured


def test_practice_tells_answer_by_answer(tmp_path: Path) -> None:
    paradigm = load_paradigm("vsr")
    agent = Noting(lambda percept, number: Response(0, 500.0))
    take(tmp_path, paradigm, agent, 1, levels={"list_length": 3}, practice=True)
    told = [text for text, _ in agent.brought if "of 3 correct" in text]
    assert told
    assert all(text.count("Answer ") == 3 and "Answer 1: " in text and "not right" in text for text in told)


def test_percepts_of_people_and_machines_have_the_same_prompt() -> None:
    """It is a part of what is asked, and whoever is asked may read it."""
    percept = next(step.percept for step in compile_trial(load_paradigm("cd"), {"feature": "gap", "set_size": 2}, 1).steps if step.percept.ask is not None)
    assert isinstance(percept, Percept)
    assert percept.ask is not None
    assert percept.ask.prompt == Prompt(
        (("en", "Is everything the same as before, or is something different?"), ("de", "Ist alles wie vorher, oder ist etwas anders?"))
    )
