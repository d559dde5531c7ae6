"""Practice: its rounds until the criterion is reached, of people and of machines, and what is said after each trial."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Protocol

from ..agents.at_once import ConcurrentAgent
from ..core.errors import SpanLabError
from ..core.locale import sentence
from ..paradigms import (
    AnswerKeys,
    Paradigm,
    PlannedTrial,
    ResponseKind,
    Step,
)
from ..paradigms.compile import DEFAULT_INTERVAL_MS
from ..paradigms.preview.example import ExampleDisplay, OwnMark, WorkedQuestion, called
from ..paradigms.trial import NO_REASON, Reason
from ..stimuli import Stimulus
from ..stimuli.kinds.lettering import Lines
from ..stimuli.kinds.plain import Blank
from .plan import UnseenTrials
from .record.events import Event
from .record.reader import is_practice, trial_key
from .replaying import TakenTrial
from .session import Session
from .trial_log import Judged

#: of one answer: its items
Scores = Sequence[Mapping[str, Any]]


#: takes one trial, after an interval of so many ms, and gives what was answered
Take = Callable[[PlannedTrial, float], Awaitable[list[Any]]]


#: So many answers of a practice trial are told one by one.
_FEW = 12


class NotPassedError(SpanLabError):
    """The practice criterion was not reached, the paradigm stops the session in this case, and the
    assistant did not decide otherwise."""


def result_of(judged: Sequence[Scores], language: str) -> str:
    """The sentence after a practice trial: how many answers were right (and which, if they are
    few), and how far off answers on a continuous scale were.

    It never says what the answers should have been.
    """
    items = items_of([score for scores in judged for score in scores])
    total = (
        sentence("session.right", language)
        if all(items)
        else sentence("session.some", language, right=sum(items), all=len(items))
    )
    errors = [error for scores in judged for score in scores if (error := score.get("error")) is not None]
    if errors:
        off = ", ".join(f"{abs(error):g}°" for error in errors)
        return f"{total}\n\n{sentence('session.off', language, off=off)}"
    judged = [scores for scores in judged if scores[0]["correct"] is not None]
    single = [scores[0]["correct"] for scores in judged if len(scores) == 1]
    if all(items) or len(single) != len(judged) or not 2 <= len(judged) <= _FEW:
        return total
    each = [
        sentence(f"session.answer_{'right' if right else 'wrong'}", language, n=number)
        for number, right in enumerate(single, start=1)
    ]
    return f"{total}\n\n{' · '.join(each)}"


def items_of(scores: Sequence[Mapping[str, Any]]) -> list[bool]:
    """Return the presented items that were right; intrusions are not items."""
    return [score["correct"] for score in scores if score["correct_answer"] is not None]


class PracticeHost(Protocol):
    """The host who leads a participant or a machine through practice."""

    def announce(self, round_: int, feedback: bool, before: tuple[int, int]) -> None:
        """Say that a round begins; ``before``: how many answers of the round before were right, and
        how many there were."""

    def welcome(self, planned: PlannedTrial) -> None:
        """Give the instructions of a trial where they have changed."""

    def result(self, planned: PlannedTrial, judged: Sequence[Scores]) -> None:
        """Say how a trial went, by the scores of each of its answers."""

    def decide(self, right: int, asked: int, rounds: int) -> str:
        """Decide what follows for somebody who has not passed: ``again`` or ``go_on``."""
        ...

    def note(self, event: Event) -> None:
        """Write an event to the record."""


async def practise(
    session: Session,
    host: PracticeHost,
    take: Take,
    earlier: Mapping[str, Sequence[Mapping[str, Any]]],
    decided: Sequence[str] = (),
    planned_as: Callable[[PlannedTrial], PlannedTrial] = lambda planned: planned,
    noted: int = 0,
) -> None:
    """Run rounds of practice until the criterion is reached or the rounds are used up.

    Trials that an earlier part of the session finished (``earlier``: their scores) are not taken
    again, and count towards the criterion; what was ``decided`` in it holds: every ``again`` is a
    further round, and after ``go_on`` nobody asks.

    Parameters
    ----------
    host : leads a machine or a participant through it
    planned_as : the trial that takes the place of a planned one
    noted : rounds after which the result is on record
    """
    practice = session.paradigm.practice
    if practice is None:
        return
    most, rounds, passed, result = practice.at_most + decided.count("again"), 0, False, (0, 0, 0)
    while not (passed and rounds):
        if rounds == most:
            if practice.otherwise == "go_on" or "go_on" in decided or host.decide(*result) == "go_on":
                return
            most += 1
        rounds += 1
        right = asked = 0
        taken = False
        for trial in map(planned_as, session.practice_round(rounds)):
            scored = earlier.get(trial_key(True, trial.trial))
            if scored is None:
                if not taken:
                    host.announce(rounds, practice.feedback, result[:2])
                taken = True
                host.welcome(trial)
                judged = [answer.scores for answer in await take(trial, DEFAULT_INTERVAL_MS)]
                scored = [score for scores in judged for score in scores]
                if practice.feedback:
                    host.result(trial, judged)
            right, asked = right + sum(items_of(scored)), asked + len(items_of(scored))
        passed = practice.pass_ is None or (asked > 0 and right / asked >= practice.pass_)
        result = (right, asked, rounds)
        if rounds > noted and (passed or rounds >= most):
            host.note({"event": "practice", "rounds": rounds, "right": right, "items": asked, "passed": passed})


class MachinePractice:
    """Leads a machine through practice.

    Parameters
    ----------
    over : whether an earlier part of the session has noted that practice is over
    note : writes an event to the record
    """

    def __init__(self, session: Session, agent: ConcurrentAgent, over: bool, note: Callable[[Event], None]) -> None:
        self._agent, self._over, self._write = agent, over, note
        self._paradigm, self._language = session.paradigm, str(session.info["language"])

    async def lead(
        self, session: Session, take: Callable[[PlannedTrial], Awaitable[Sequence[Judged]]], apart: UnseenTrials
    ) -> None:
        """Practice from its first trial to the sentence that the trials begin."""

        async def taken(planned: PlannedTrial, interval_ms: float) -> list[Any]:
            return list(await take(planned))

        await practise(session, self, taken, {}, planned_as=apart.practice)
        self._agent.tell(sentence("session.main_body", self._language))

    def announce(self, round_: int, feedback: bool, before: tuple[int, int]) -> None:
        """Say that a round begins."""
        again = sentence("session.again_body", self._language)
        self._agent.tell(again if round_ > 1 else practice_text(feedback, self._language))

    def welcome(self, planned: PlannedTrial) -> None:
        """Do nothing: machines get the instructions within the trial."""

    def result(self, planned: PlannedTrial, judged: Sequence[Scores]) -> None:
        """Say how a trial went."""
        self._agent.tell(result_of(judged, self._language))

    def decide(self, right: int, asked: int, rounds: int) -> str:
        """Stop: nobody is there to let a machine go on after failed practice.

        Raises
        ------
        NotPassedError
            always.
        """
        raise NotPassedError(
            f"practice was not passed: {right} of {asked} correct in round {rounds}, the last one;"
            f" {self._paradigm.name} stops the session then (practice: otherwise: stop), and for a machine there is no"
            " assistant who lets it go on: take it without practice, or with a paradigm of your own that says"
            " otherwise: go_on"
        )

    def note(self, event: Event) -> None:
        """Record once that practice is over."""
        if not self._over:
            self._write(event)
            self._over = True


#: So many wrong answers of a trial are explained, each with a picture.
_EXPLAINED = 4


def feedback_on(
    steps: Sequence[Step], judged: Sequence[Scores], language: str, keys: AnswerKeys, reasons: Sequence[Reason] = ()
) -> tuple[str, list[ExampleDisplay]]:
    """Return the sentences on a finished practice trial, and pictures of what was answered and what
    was right.

    Parameters
    ----------
    steps : of the trial
    judged : the scores of each of its answers
    keys : those of the session
    reasons : why the answer to each question with a right answer is right, in their order
    """
    answered = list(zip([step for step in steps if step.percept.ask is not None], judged, strict=False))
    decisions = [one for one in answered if _decides(one[0])]
    stored = [one for one in answered if not _decides(one[0])] or answered
    total = result_of([scores for _, scores in stored], language)
    brief = total.partition("\n\n")[0]
    if decisions and len(stored) < len(answered):
        right = items_of([score for _, scores in stored for score in scores])
        apart = items_of([score for _, scores in decisions for score in scores])
        total = brief = "\n\n".join(
            (
                sentence("session.remembered", language, right=sum(right), all=len(right)),
                sentence("session.decided", language, right=sum(apart), all=len(apart)),
            )
        )
    dials = [
        one for one in stored if one[0].percept.ask is not None and one[0].percept.ask.kind.surface().dial is not None
    ]
    told: list[str] = [_distances([scores for _, scores in dials], language) if len(dials) == len(stored) else total]
    plain = _plain_questions(steps, judged, keys, reasons)
    explained = plain[:_EXPLAINED]
    if len(answered) == 1 and explained:
        told = [sentence(f"session.one_{'right' if stored[0][1][0]['correct'] else 'wrong'}", language)]
    elif explained:
        told = [brief]
        told += [sentence("session.explained", language, all=len(plain), n=_EXPLAINED)] * (len(plain) > _EXPLAINED)
    told += _explanations(explained, language)
    pictures = _beside_what_came_before(explained, steps)
    for step, scores in stored:
        assert step.percept.ask is not None
        kind = step.percept.ask.kind.with_keys(keys)
        ordered = kind.surface().ordered
        if ordered is not None and not ordered.joined:
            words, displays = _in_order(step, kind, scores, language)
            told.append(words)
            pictures += displays
        else:
            pictures += _marked(step, kind, scores)
    return "\n\n".join(filter(None, told)), pictures


def _plain_questions(
    steps: Sequence[Step], judged: Sequence[Scores], keys: AnswerKeys, reasons: Sequence[Reason]
) -> list[tuple[int, ExampleDisplay]]:
    """Pictures of questions with one answer, with the given and the right one: of the only one, or
    of the wrong ones of several; each with the number of its step."""
    why, displays = iter(reasons), list[tuple[int, ExampleDisplay]]()
    asked = [(number, step) for number, step in enumerate(steps) if step.percept.ask is not None]
    for place, ((number, step), scores) in enumerate(zip(asked, judged, strict=False), start=1):
        ask, answer = step.percept.ask, step.truth.answer
        if ask is None or answer is None or not ask.scored:
            continue
        reason, kind, (score, *more) = next(why, NO_REASON), ask.kind.with_keys(keys), scores
        surface = kind.surface()
        plain = not (more or surface.several or surface.dial is not None or surface.ordered is not None)
        if not plain or (score["correct"] and len(asked) > 1):
            continue
        given = tuple(_own(score) for score in scores if score["answer"] is not None)
        worked = WorkedQuestion(kind, answer, ask.prompt, reason, place if len(asked) > 1 else None)
        displays.append((number, ExampleDisplay(_board(step), kind, questions=(worked,), marks=given)))
    return displays


def _beside_what_came_before(
    explained: Sequence[tuple[int, ExampleDisplay]], steps: Sequence[Step]
) -> list[ExampleDisplay]:
    """The pictures of questions, each after the one with which it has to be compared, where a file
    says so of one of them; what has nothing before it comes after an empty one."""
    if not any(display.questions[0].why.compare for _, display in explained):
        return [display for _, display in explained]
    pictures: list[ExampleDisplay] = []
    for number, display in explained:
        back = display.questions[0].why.compare
        alike = [board for step in steps[:number] if type(board := _board(step)) is type(display.stimulus)]
        before = alike[-back] if 0 < back <= len(alike) else Blank.model_validate({})
        pictures += [ExampleDisplay(before, caption="before"), display]
    return pictures


def _explanations(explained: Sequence[tuple[int, ExampleDisplay]], language: str) -> list[str]:
    """What was answered to each pictured question, what is right, and why: each in a sentence of its
    own, and in a line of its own where there is one question."""
    questions = [display.questions[0] for _, display in explained]
    lines: list[str] = []
    for name, question, (_, display) in zip(called(questions, language), questions, explained, strict=True):
        given = "".join(replace(question, answer=mark.value).shown_answer(language) for mark in display.marks)
        yours = "yours" if given else "crossed"
        if not display.marks:
            yours = "unanswered"
        told = (sentence(f"session.{yours}", language, answer=given), question.describe(language))
        head = name if name.endswith("?") else f"{name}."
        lines.append(" ".join((head, *told)) if name else "\n".join(told))
    return lines


def _decides(step: Step) -> bool:
    """Return whether a question needs no memory, as those between the items of complex spans."""
    return step.truth.record.get("set_size") == 0


def _in_order(step: Step, kind: ResponseKind, scores: Scores, language: str) -> tuple[str, list[ExampleDisplay]]:
    """Each item as it was given; places are drawn on their board, beside the right order."""
    ordered = kind.surface().ordered
    assert ordered is not None
    if all(score["correct"] for score in scores):
        return "", []
    if ordered.labels:
        told = sentence(
            "session.own_order", language, items=" · ".join(_item(kind, score, language) for score in scores)
        )
        rows = [[score[column] for score in scores] for column in ("answer", "correct_answer")]
        return told, [_row(kind, row, caption) for row, caption in zip(rows, ("yours", "right_marked"), strict=True)]
    right = {
        score["correct_answer"]: number
        for number, score in enumerate(scores, start=1)
        if score["correct_answer"] is not None
    }
    marks: list[OwnMark] = []
    lines: list[str] = []
    for number, score in enumerate(scores, start=1):
        given = score["answer"]
        if given is None:
            continue
        verdict: Literal["right", "wrong", "elsewhere"] = "elsewhere" if given in right else "wrong"
        if score["correct"]:
            verdict = "right"
        marks.append(OwnMark(given, verdict, number))
        lines.append(sentence(f"session.place_{verdict}", language, n=number, right=right.get(given, "")))
    board = _board(step)
    displays = _own_marks(board, kind, marks)
    if step.truth.answer is not None:
        displays.append(ExampleDisplay(board, kind, questions=(WorkedQuestion(kind, step.truth.answer),)))
    return "\n".join(lines), displays


def _row(kind: ResponseKind, values: Sequence[Any], caption: str) -> ExampleDisplay:
    """Items that are read, in their order, as a picture."""
    items = " ".join("–" if value is None else kind.label(value) for value in values)
    return ExampleDisplay(Lines.model_validate({"text": items, "size": 20}), caption=caption)


def _item(kind: ResponseKind, score: Mapping[str, Any], language: str) -> str:
    given, right = score["answer"], score["correct_answer"]
    shown = sentence("session.nothing", language) if given is None else kind.label(given)
    if score["correct"]:
        return sentence("session.item_right", language, item=shown)
    if right is None:
        return sentence("session.item_extra", language, item=shown)
    return sentence("session.item_wrong", language, item=shown, right=kind.label(right))


def _marked(step: Step, kind: ResponseKind, scores: Scores) -> list[ExampleDisplay]:
    """Marks without an order: which of several were right, and what was missed; or the one on a
    dial, beside the right one."""
    surface, answer = kind.surface(), step.truth.answer
    if surface.dial is not None and answer is not None:
        marks = [_own(score) for score in scores if score["answer"] is not None]
        right = ExampleDisplay(_board(step), kind, questions=(WorkedQuestion(kind, answer),))
        return [*_own_marks(_board(step), kind, marks), right]
    if not surface.several or surface.ordered is not None:
        return []
    return _own_marks(_board(step), kind, [_own(score) for score in scores])


def practice_text(feedback: bool, language: str) -> str:
    """What is said before practice: whether one is told how it went."""
    return sentence("session.practice_body" if feedback else "session.practice_silent", language)


def _own_marks(board: Stimulus, kind: ResponseKind, marks: Sequence[OwnMark]) -> list[ExampleDisplay]:
    """What was marked, on its board; nothing where nothing was."""
    return [ExampleDisplay(board, kind, marks=tuple(marks))] if marks else []


def _own(score: Mapping[str, Any]) -> OwnMark:
    """Return a mark without an order, or the place that should have been marked."""
    if score["answer"] is None:
        return OwnMark(score["correct_answer"], "missed")
    return OwnMark(score["answer"], "right" if score["correct"] else "wrong")


def _distances(judged: Sequence[Scores], language: str) -> str:
    """Say how far each answer on a dial was from the right one: nothing is called right that may be
    off by as much as the paradigm tolerates."""
    errors = [scores[0]["error"] for scores in judged]
    if errors == [None]:
        return sentence("session.unanswered", language)
    off = ", ".join("–" if error is None else f"{abs(error):g}°" for error in errors)
    return f"{sentence('session.off', language, off=off)} {sentence('session.off_means', language)}"


def _board(step: Step) -> Stimulus:
    """Return what lay under the answer: the last display of the question that is not empty."""
    blank = Blank.model_validate({})
    stimuli = [display.stimulus for display in step.percept.displays]
    return next((stimulus for stimulus in reversed(stimuli) if stimulus != blank), blank)


def said_after(paradigm: Paradigm, trial: TakenTrial | None, following: TakenTrial | None, language: str) -> list[str]:
    """The sentences after a trial that is read from a record: the result of a practice trial, that
    a further round follows, and that the main part begins.

    Parameters
    ----------
    trial : None before the first one, when practice may begin
    following : the next trial; None after the last one
    """
    practice = paradigm.practice
    feedback = practice is not None and practice.feedback
    sentences: list[str] = []
    if trial is not None and is_practice(trial.key) and feedback:
        sentences.append(result_of([line["scores"] for line in trial.questions], language))
    if following is None:
        return sentences
    if is_practice(following.key):
        if trial is None:
            sentences.append(practice_text(feedback, language))
        elif trial.start["block"] != following.start["block"]:  # blocks of practice are its rounds
            sentences.append(sentence("session.again_body", language))
    elif trial is not None and is_practice(trial.key):
        sentences.append(sentence("session.main_body", language))
    return sentences
