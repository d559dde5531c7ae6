"""In which language people are spoken to around and within the trials, and that machines and the
identity of trials know nothing of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from lab_displays import FOUND, measured
from lab_pages import ENGLISH, right
from session_tools import AtTheWindow, Saying

from spanlab.agents.base import Response
from spanlab.agents.human import Participant, ParticipantEpisode, WindowOptions
from spanlab.agents.human import participant as participant_module
from spanlab.agents.human.display.frames import FrameGrid
from spanlab.agents.human.display.surface import SurfaceView
from spanlab.agents.human.pages import between_trials
from spanlab.agents.window import PageContent
from spanlab.core.errors import ParadigmError
from spanlab.paradigms import (
    AnswerKeys,
    Paradigm,
    Percept,
    ResponseKind,
    compile_trial,
    fingerprint,
    load_paradigm,
    plan_session,
)
from spanlab.paradigms.design import session_design
from spanlab.paradigms.paradigm import paradigm_from_data
from spanlab.paradigms.translation import missing_texts, translated
from spanlab.paradigms.trial import Display
from spanlab.sessions import Request, Runner, begin, read_responses
from spanlab.sessions.key_mapping import KeySetting, key_request
from spanlab.stimuli.kinds.lettering import Lines
from spanlab.stimuli.kinds.plain import Blank

GERMAN = {"correct": "richtig", "wrong": "falsch", "no answer": "keine Antwort"}
#: what the keys of N-back mean
KEYS = {"en": {"m": "match", "-": "no match"}, "de": {"m": "Treffer", "-": "kein Treffer"}}
SAID = {"en": KEYS["en"], "de": {**KEYS["de"], **GERMAN}}
FEEDBACK = ("nback_verbal_feedback", "nback_spatial_feedback")


# -- texts within trials ---------------------------------------------------------------------------


class Seeing:
    """Stands for the player: notes what it is told to show."""

    def __init__(self) -> None:
        self.seen: list[Percept] = []
        self.prepared: list[Display] = []

    def play(self, percept: Percept) -> None:
        self.seen.append(percept)

    def prepare(self, displays: Any) -> None:
        self.prepared += displays

    def announce_next(self, percept: Percept | None, last: bool = False) -> None:
        if percept is not None:
            self.seen.append(percept)


def texts(displays: Any) -> set[str]:
    return {display.stimulus.text for display in displays if isinstance(display.stimulus, Lines)}


async def _shown(paradigm: Paradigm, words: dict[str, str]) -> Seeing:
    player: Any = Seeing()
    episode = ParticipantEpisode(player, words=words)
    trial = compile_trial(paradigm, paradigm.combinations()[0], seed=1)
    given = [percept for step in trial.steps for percept in step.percepts]
    episode.prepare([display for percept in given for display in percept.displays])
    for percept in given:
        episode.announce_next(percept)
        await episode.step(percept)
    return player


@pytest.mark.parametrize("name", FEEDBACK)
def test_feedback_within_trials_is_in_the_language_of_the_person(name: str) -> None:
    import asyncio

    paradigm = load_paradigm(name)
    assert paradigm.translations == SAID
    english, german = (asyncio.run(_shown(paradigm, dict(words))) for words in ({}, paradigm.translations["de"]))
    for player, expected in ((english, set(GERMAN)), (german, set(GERMAN.values()))):
        assert texts(player.prepared) - {"1-back"} == expected
        assert texts(display for percept in player.seen for display in percept.displays) - {"1-back"} == expected
        assert all(display in player.prepared for percept in player.seen for display in percept.displays)
    for one, other in zip(english.seen, german.seen, strict=True):  # nothing else is another
        assert replace(one, displays=()) == replace(other, displays=())
        assert [display.ms for display in one.displays] == [display.ms for display in other.displays]


@pytest.mark.parametrize("name", FEEDBACK)
def test_machines_and_the_identity_of_trials_do_not_depend_on_translations(name: str) -> None:
    paradigm = load_paradigm(name)
    without = paradigm_from_data({key: value for key, value in paradigm.data.items() if key != "translations"}, name)
    levels = paradigm.combinations()[0]
    assert fingerprint(compile_trial(paradigm, levels, 3)) == fingerprint(compile_trial(without, levels, 3))


def guess(percept: Percept, number: int) -> Response:
    assert percept.ask is not None
    return Response(percept.ask.kind.guess(np.random.RandomState(number)), 500.0)


@pytest.mark.parametrize("agent", [AtTheWindow(right), Saying(guess)], ids=["person", "machine"])
@pytest.mark.parametrize("language", ["en", "de"])
def test_only_people_are_introduced_with_words_and_nobody_is_handed_other_percepts(
    tmp_path: Path, agent: Saying, language: str
) -> None:
    paradigm = load_paradigm(FEEDBACK[0])
    plan = plan_session(paradigm, 1, session_design(paradigm, None), {"n": 1, "lures": "none"}, 1)
    agent.seen.clear()
    Runner(begin(tmp_path, paradigm, agent, plan, Request(language=language, practice=False)), agent).run()
    for context, percepts in agent.seen:
        assert context.words == (SAID[language] if agent.kind.name == "participant" else {})
        assert texts(display for percept in percepts for display in percept.displays) <= {*GERMAN, "1-back"}


def _asked(paradigm: Paradigm) -> ResponseKind:
    steps = compile_trial(paradigm, paradigm.combinations()[0], 1).steps
    return next(step.percept.ask.kind for step in steps if step.percept.ask is not None)


def test_answers_are_called_by_their_words_in_the_language_of_the_person_and_recorded_as_they_are(
    tmp_path: Path,
) -> None:
    paradigm, agent = load_paradigm("cd"), AtTheWindow(guess)
    plan = plan_session(paradigm, 1, session_design(paradigm, None), {"feature": "size"}, 4)
    session = begin(
        tmp_path,
        paradigm,
        agent,
        plan,
        Request(language="de", practice=False, extra={"keys": key_request(KeySetting(sides="swapped"), "p")}),
    )
    Runner(session, agent).run()
    assert any("f = anders, j = gleich" in page for page in agent.pages)
    assert not any("same" in page or "different" in page for page in agent.pages)
    assert set(read_responses(session.folder)["correct_answer"]) <= {'"same"', '"different"'}
    assert {
        step.ask.kind.answer_names() for _, percepts in agent.seen for step in percepts if step.ask is not None
    } == {("same", "different")}
    context, _ = agent.seen[0]
    asked = _asked(paradigm).with_keys(context.keys)
    assert asked.label("same") == "gleich"
    assert asked.surface().keys == (("f", "different"), ("j", "same"))
    assert asked.write("same") == "same"


def test_machines_are_not_told_how_people_call_answers(tmp_path: Path) -> None:
    paradigm, agent = load_paradigm("cd"), Saying(guess)
    plan = plan_session(paradigm, 1, session_design(paradigm, None), {"feature": "size"}, 1)
    Runner(begin(tmp_path, paradigm, agent, plan, Request(language="de")), agent).run()
    context, _ = agent.seen[0]
    assert not context.keys.words
    assert "gleich (same), oder ist etwas anders (different)?" in context.instructions


def test_a_press_is_acknowledged_in_the_words_of_the_person() -> None:
    """What the window draws for an answer that has no place on the screen."""
    paradigm, drawn = load_paradigm("cd"), []
    kind = _asked(paradigm).with_keys(AnswerKeys(words=paradigm.translations["de"]))
    surface: Any = SurfaceView.__new__(SurfaceView)
    surface.letter_px = 20
    surface._pictures = SimpleNamespace(put=lambda key, make: drawn.append(key))
    for value in ("same", "different"):
        surface._given(kind, value)
    assert drawn == [("given", "gleich"), ("given", "anders")]


def test_words_that_are_to_be_remembered_are_not_translated() -> None:
    kind = _asked(load_paradigm("lsr"))
    assert kind.with_keys(AnswerKeys(words={str(value): "x" for value in kind.surface().keys})) is kind


BASE = "extends: nback_verbal_feedback\nparadigm: own\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "translations: {de: {m: Treffer, '-': Treffer}}",
            "own.yaml:3 translations > de > m: two answers would both be called 'Treffer'",
        ),
        (
            "translations: {de: {corect: richtig}}",
            "own.yaml:3 translations > de > corect: the timeline shows no text 'corect', and has no such answer",
        ),
        (
            "translations:\n  fr: {correct: juste}",
            "own.yaml:4 translations > fr: there are no instructions in 'fr'; their languages are en, de",
        ),
        (
            "translations: {de: {correct: ' richtig'}}",
            "own.yaml:3 translations > de > correct: leave out blanks at the ends",
        ),
        ("translations: {de: richtig}", "own.yaml:3 translations > de: expected keys with values"),
        ("translations: {de: {correct: ''}}", "own.yaml:3 translations > de > correct: expected at least 1 character"),
    ],
)
def test_mistakes_in_translations_are_told_with_their_lines(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "own.yaml"
    own = (
        "timeline: [{phase: x, show: {text: correct}, ask: {choice: {options: [a, b], keys: [a, b]}, answer: a}}]\n"
        if "corect" in text
        else ""
    )
    file.write_text(BASE + text + "\n" + own, encoding="utf-8")
    with pytest.raises(ParadigmError) as caught:
        load_paradigm(str(file))
    assert said in str(caught.value)


def test_a_text_of_several_lines_is_translated_and_a_prompt_in_one_language_is_told(tmp_path: Path) -> None:
    (file := tmp_path / "own.yaml").write_text(
        BASE + 'timeline: [{phase: x, show: {text: "Take  a break.\\n"}, ask: {choice: {options: [a, b], keys: [a, b]},'
        " answer: a, prompt: Old or new?}}]\ntranslations: {de: {Take a break.: Kurze Pause.}}\n",
        encoding="utf-8",
    )
    paradigm = load_paradigm(str(file))
    shown = compile_trial(paradigm, {"lures": "free", "n": 1}, 1).steps[0].percept.displays[0].stimulus
    assert translated(shown, paradigm.translations["de"]).words() == "Kurze Pause."
    assert missing_texts(paradigm.data, "de") == ["there are questions that are not asked in it (prompt)"]


def test_inherited_translations_may_be_of_texts_that_ones_own_timeline_has_not(tmp_path: Path) -> None:
    (file := tmp_path / "own.yaml").write_text(
        BASE + "timeline: [{phase: x, show: {text: 'Hallo'}, ask: {choice: {options: [a, b], keys: [a, b]}, answer:"
        " a}}]\ntranslations: {de: {Hallo: Moin}}\n",
        encoding="utf-8",
    )
    paradigm = load_paradigm(str(file))
    assert paradigm.translations == {"en": KEYS["en"], "de": {"Hallo": "Moin"}}  # by language, as instructions are
    file.write_text(file.read_text(encoding="utf-8").partition("translations")[0], encoding="utf-8")
    paradigm = load_paradigm(str(file))
    assert paradigm.translations == SAID
    assert paradigm_from_data(paradigm.data, "own").translations == paradigm.translations


# -- the assistant's page --------------------------------------------------------------------------


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, str]]:
    """Pages that were shown, with their languages, at a window of 75 Hz."""
    found = FOUND | {"measured_hz": 75.0, "screen_px": [1280, 1024]}
    stage = SimpleNamespace(
        window=SimpleNamespace(grid=FrameGrid(75)), apparatus=lambda: found, speaker=None, presses=SimpleNamespace()
    )
    shown: list[tuple[Any, str]] = []
    monkeypatch.setattr(participant_module, "Stage", lambda *given: stage)
    monkeypatch.setattr(between_trials, "show", lambda stage, page, language: shown.append((page, language)))
    return shown


def lasting(ms: float) -> Percept:
    return Percept("mask", (Display(Blank.model_validate({}), ms),), None)


def test_nothing_is_told_where_nothing_is_wrong(told: list[tuple[Any, str]]) -> None:
    said: list[str] = []
    Participant(say=said.append).concerns([lasting(1550), lasting(2000)])
    assert (told, said) == ([], [])


def test_the_assistants_page_names_everything_and_says_what_to_do(told: list[tuple[Any, str]]) -> None:
    said: list[str] = []
    agent = Participant(WindowOptions(display=measured()), say=said.append)
    agent.concerns([lasting(100), lasting(1550), lasting(100)])
    ((page, language),) = told
    assert (page.title, language) == ("For the assistant", "en")
    assert page.text.split("\n\n")[:-1] == said == agent.shown_sentences
    assert [sentence.split()[0] for sentence in said] == ["The", "The", "mask:"]
    assert "75.00 Hz; it refreshed at 60.00 Hz" in page.text
    assert page.text.endswith("Press Escape to leave and fix this, or go on: the session's record will mention it.")


@pytest.mark.parametrize(
    "now", [{"screen": 1}, {"vsync": False, "measured_hz": 900.0}, {"keyboard": "event"}, {"opengl": {"renderer": "x"}}]
)
def test_every_difference_is_told_in_german_too(now: dict[str, Any]) -> None:
    found = FOUND | {"measured_hz": 60.0} | now
    assert len(measured().differences(found, "de")) == len(measured().differences(found)) == 1
    assert not ENGLISH.findall(measured().differences(found, "de")[0])


class Concerned(AtTheWindow):
    """Notes what comes in which order."""

    def __init__(self) -> None:
        super().__init__(right)
        self.happened: list[str] = []

    def speak(self, language: str) -> None:
        self.happened.append(language)

    def concerns(self, percepts: Sequence[Percept]) -> None:
        self.happened.append(f"concerns about {len({percept.phase for percept in percepts})} phases")

    def page(self, page: PageContent) -> None:
        self.happened.append("page")


def test_the_assistant_comes_before_the_person_and_is_spoken_to_in_the_sessions_language(tmp_path: Path) -> None:
    agent, paradigm = Concerned(), load_paradigm("vsr")
    plan = plan_session(paradigm, 1, session_design(paradigm, None), {}, 1)
    Runner(begin(tmp_path, paradigm, agent, plan, Request(language="de", practice=False)), agent).run()
    assert agent.happened[:3] == ["de", "concerns about 2 phases", "page"]
