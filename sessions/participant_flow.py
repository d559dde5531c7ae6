"""The participant's way through a session, around its trials: instructions, practice, pauses,
thanks."""

from __future__ import annotations

import itertools
import re
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..agents.window import Option, PageContent, WindowAgent
from ..core.locale import sentence
from ..paradigms import PlannedTrial, Trial
from ..paradigms.compile import asking_steps, resolve_levels
from ..paradigms.preview.example import example_displays, worked_answers
from ..paradigms.translation import translated
from .practice import NotPassedError, Scores, Take, feedback_on, items_of, practice_text, practise
from .record.events import Event, Volumes
from .record.quiz import Attempt, QuizState, quiz_of
from .record.reader import trial_key
from .session import Session
from .strategies.one_by_one import TrialTaker, one_by_one

#: writes an event to the record
Note = Callable[[Event], None]


#: Where a sentence of instructions ends.
_SENTENCE_ENDS = re.compile(r"(?<=[.?!])\s+")
#: So many volumes in a row that are missing are a pause of the scanner.
MOST_LOST = 10
#: What the assistant may decide about somebody who has not passed, beside another attempt: name,
#: sentence, key. No question uses these keys.
_DECISIONS = (("go_on", "regardless", "f4"), ("leave", "leave", "f8"))


class QuizNotPassedError(NotPassedError):
    """The criterion of a quiz was not reached, and the assistant did not decide how to go on."""


class ParticipantFlow:
    """Pages of text, practice and pauses for somebody at a window.

    Parameters
    ----------
    note : writes an event to the record of the session
    """

    def __init__(self, session: Session, agent: WindowAgent, note: Note) -> None:
        self._session, self._agent, self._note = session, agent, note
        self._language = str(session.info["language"])
        self._breaks = session.design.breaks
        self._questions = session.paradigm.is_questionnaire
        #: how trials wait for a scanner, where they do; its pulses, in ms on the session's clock
        self._start: Mapping[str, Any] = session.info.get("start", {})
        self._pulses: list[float] = []
        self._shown_instructions = ""
        self._before: PlannedTrial | None = None
        self._done = 0
        self._begin_stretch()
        agent.speak(self._language)

    def _text(self, key: str, **values: object) -> str:
        return sentence(f"session.{key}", self._language, **values)

    def _page(self, title: str, body: str, **more: Any) -> None:
        known = not (self._questions or "adaptive" in self._session.info)  # how many trials there will be
        progress = self._done / len(self._session.plan) if known else None
        self._agent.page(PageContent(body, title, progress=progress, **more))

    def welcome(self, planned: PlannedTrial) -> None:
        """Instructions with a pictured example, and how to answer: before the first trial, and
        again before one whose level of a factor changes them."""
        instructions = self._instructions(planned)
        if instructions != self._shown_instructions:
            paradigm = self._session.paradigm
            levels, words = (
                resolve_levels(paradigm, planned.levels, planned.seed),
                paradigm.translations.get(self._language, {}),
            )
            keys = self._session.answer_keys
            pictured = [
                replace(
                    display,
                    stimulus=translated(display.stimulus, words),
                    asks=display.asks and display.asks.with_keys(keys),
                    questions=tuple(
                        replace(question, kind=question.kind.with_keys(keys)) for question in display.questions
                    ),
                )
                for display in example_displays(
                    paradigm, self._language, levels, self._session.info["generator"], self._session.levels_in_use
                )
            ]
            worked = worked_answers(pictured, self._language)
            legends = self._legends(instructions, planned)
            # every question says below it how it is answered; here nobody would know which of them
            # is meant
            after = [] if self._questions and len(legends) > 1 else [*worked, f"# {self._text('how')}", *legends]
            title, text = paradigm.titled(self._language), instructions
            if self._shown_instructions:
                title, text = self._text("changed_title", title=title), self._changed(instructions)
            self._page(title, text, example=pictured, after="\n\n".join(after))
            self._shown_instructions = instructions

    def _changed(self, instructions: str) -> str:
        """Return instructions that are not those from before, with what is new in them first."""
        known = set(_SENTENCE_ENDS.split(self._shown_instructions))
        fresh = [one for one in _SENTENCE_ENDS.split(instructions) if one not in known]
        new = f"{self._text('changed')} {' '.join(fresh)}"
        return f"{new}\n\n# {self._text('changed_all')}\n\n{instructions}"

    def first(self) -> PlannedTrial:
        """The trial that comes first: one of practice, where there is practice."""
        practice = self._session.practice_round(1) if self._session.info["practice"] else []
        return [*practice, *self._session.plan][0]

    def _instructions(self, planned: PlannedTrial) -> str:
        levels = resolve_levels(self._session.paradigm, planned.levels, planned.seed)
        return self._session.paradigm.instructions_in(self._language, levels, for_people=True)

    def _legends(self, instructions: str, planned: PlannedTrial) -> list[str]:
        """Return the legends of all conditions with these instructions, and whether answers can be
        changed: once, where that is the same for all of them."""
        alike: dict[str, PlannedTrial] = {}  # the first of each condition: it was compiled before the session began
        for other in (*self._session.stairs, *self._session.plan, planned):
            if self._instructions(other) == instructions:
                alike.setdefault(repr(other.levels), other)
        asks = [
            step.percept.ask
            for other in alike.values()
            for step in self._compiled(other).steps
            if step.percept.ask is not None
        ]
        legends: dict[str, tuple[str, str]] = {}  # each with the first question that it is for
        for ask in asks:
            asked = replace(ask, kind=ask.kind.with_keys(self._session.answer_keys))
            question = "" if ask.prompt is None else f"{ask.prompt.text_in(self._language)} "
            legend, finality = self._agent.how_to_answer(asked, self._language)
            legends.setdefault(legend, (question, finality))
        example = self._session.paradigm.example
        named = len(legends) > 1 and not self._questions and (example is None or example.show)
        finalities = [finality for _, finality in legends.values()]
        once = len(legends) > 1 and len(set(finalities)) == 1
        lines = [
            f"{question if named else ''}{legend} {'' if once else finality}".rstrip()
            for legend, (question, finality) in legends.items()
        ]
        return [*lines, finalities[0]] if once and finalities[0] else lines

    async def practise(
        self,
        take: Take,
        earlier: Mapping[str, Sequence[Mapping[str, Any]]],
        decided: Sequence[str] = (),
        noted: int = 0,
    ) -> None:
        """Run rounds of practice until the criterion is reached or the rounds are used up; then the
        assistant decides, if the paradigm would stop the session.

        See :func:`practise`.
        """
        await practise(self._session, self, take, earlier, decided, noted=noted)

    def note(self, event: Event) -> None:
        """Write an event to the record."""
        self._note(event)

    def decide(self, right: int, asked: int, rounds: int) -> str:
        """Ask the assistant what to do with a participant who has not passed practice: ``again`` or
        ``go_on``.

        Raises
        ------
        NotPassedError
            when the assistant leaves: the session can go on later, and begins with this question
            then.
        """
        practice = self._session.paradigm.practice
        assert practice is not None
        share = practice.pass_ or 0.0
        reason = self._text("not_passed", right=right, all=asked, round=rounds, percent=f"{100 * share:g}")
        decided = self._decision("stopped_body", reason, again="practise_again")
        self._note({"event": "practice_decision", "rounds": rounds, "decided": decided})
        if decided == "leave":
            raise NotPassedError(
                f"practice was not passed: {right} of {asked} correct in round {rounds}, the last one; {share:.0%} were"
                " required; this paradigm stops the session then (practice: otherwise). When the session goes on, a"
                " page asks whether to practise once more or to go on without having passed"
            )
        return decided

    def ask_quiz_again(self, planned: PlannedTrial, last: Attempt) -> None:
        """Say how an attempt at a quiz went, and give the instructions again before the next one."""
        self._page(self._text("again"), self._text("quiz_again", right=last.right, all=last.items))
        self._shown_instructions = ""
        self.welcome(planned)

    def decide_quiz(self, state: QuizState) -> str:
        """Ask the assistant what to do with a participant who has not passed a quiz: ``again`` or
        ``go_on``.

        Raises
        ------
        QuizNotPassedError
            when the assistant leaves: the session can go on later, and begins with this question
            then.
        """
        last, number, share = state.attempts[-1], len(state.attempts), state.rule["pass"]
        reason = self._text(
            "quiz_not_passed", right=last.right, all=last.items, attempt=number, percent=f"{100 * share:g}"
        )
        decided = self._decision("quiz_stopped", reason, again="ask_again")
        self._note({"event": "quiz_decision", "attempt": number, "decided": decided})
        if decided == "leave":
            raise QuizNotPassedError(
                f"the quiz was not passed: {last.right} of {last.items} right in attempt {number}, the last one;"
                f" {share:.0%} were required; this paradigm stops the session then (quiz: otherwise). When the session"
                " goes on, a page asks whether to ask once more or to go on without having passed"
            )
        return decided

    def _decision(self, body: str, reason: str, again: str) -> str:
        """Return the assistant's decision at a page: ``again``, ``go_on`` or ``leave``."""
        options = [Option(name, self._text(label), key) for name, label, key in (("again", again, "f2"), *_DECISIONS)]
        # No clicks: it is not for the participant to decide. A rehearsal goes on, to show what
        # comes.
        return (
            self._agent.choose(
                self._text("stopped"), f"{self._text(body)}\n\n{reason}", options, usual="go_on", clicks=False
            )
            or "leave"
        )

    def announce(self, round_: int, feedback: bool, before: tuple[int, int]) -> None:
        """Say that a round of practice begins, and why where it is a further one."""
        practice, (right, asked) = self._session.paradigm.practice, before
        if round_ == 1:
            self._page(self._text("practice"), practice_text(feedback, self._language))
            return
        share = 0.0 if practice is None else practice.pass_ or 0.0
        why = self._text("again_why", right=right, all=asked, percent=f"{100 * share:g}")
        self._page(self._text("again"), f"{why} {self._text('again_body')}")

    def result(self, planned: PlannedTrial, judged: Sequence[Scores]) -> None:
        """Say how a practice trial went."""
        paradigm, generator = self._session.paradigm, self._session.info["generator"]
        reasons = [
            step.ask.reason(names)
            for step, names in asking_steps(paradigm, planned.levels, planned.seed, generator)
            if step.ask is not None
        ]
        words, pictures = feedback_on(
            self._compiled(planned).steps, judged, self._language, self._session.answer_keys, reasons
        )
        text, after = ("", words) if pictures else (words, "")
        texts = paradigm.translations.get(self._language, {})
        shown = tuple(replace(display, stimulus=translated(display.stimulus, texts)) for display in pictures)
        self._page(self._text("practice"), text, example=shown, after=after)

    def _compiled(self, planned: PlannedTrial) -> Trial:
        return planned.compile(self._session.paradigm, self._session.info["generator"])

    def begin_main(self, done: int, coming: PlannedTrial) -> None:
        """A page before the first ordinary trial, and its instructions: nothing comes after the scanner's pulse.

        Parameters
        ----------
        done : ordinary trials that an earlier part of the session finished
        """
        self._done = done
        if self._session.info["practice"] and self._session.paradigm.practice is not None:
            self._page(self._text("main"), self._text("main_body"))
        self.welcome(coming)
        if self._start:
            self._note_pulses()
            self._pulses, at = [], int(self._start["at"])
            self._await_pulse(at)
            first, last = self._pulses[0], self._pulses[at - 1]
            self._note({"event": "scan_start", "pulse": at, "first_ms": first, "at_ms": last})
        self._begin_stretch()

    # -- the scanner -------------------------------------------------------------------------------

    def _await_pulse(self, at: int) -> None:
        self._agent.await_pulse(
            self._start["pulse"], at, PageContent(self._text("scanner_body"), self._text("scanner"))
        )
        self._note_pulses()

    def _note_pulses(self) -> None:
        if pulses := self._agent.pulses():
            self._note({"event": "pulses", "first": len(self._pulses) + 1, "at_ms": pulses})
            self._pulses += pulses

    # -- trials and pauses -------------------------------------------------------------------------

    def _begin_stretch(self) -> None:
        """Begin the stretch of trials up to the next pause."""
        self._since, self._began = 0, time.monotonic()
        self._right = self._items = 0

    def between(self, planned: PlannedTrial) -> None:
        """Show, before a trial, a pause where a new block begins or the design has one, and the
        instructions where they have changed."""
        if self._before is not None and (self._before.block != planned.block or self._due()):
            self._pause(self._done, len(self._session.plan))
        self.welcome(planned)
        if self._start:
            self._note_pulses()
            if self._start["each_trial"] and self._before is not None:
                self._await_pulse(1)

    def _due(self) -> bool:
        breaks = self._breaks
        if breaks is None:
            return False
        by_trials = breaks.trials is not None and self._since >= breaks.trials
        return by_trials or (breaks.minutes is not None and time.monotonic() - self._began >= breaks.minutes * 60)

    def _pause(self, done: int, total: int) -> None:
        adaptive = "adaptive" in self._session.info  # nobody knows how many trials there will be
        of_trials = "break_open" if adaptive else "break_body"
        body = [self._text("break_questions" if self._questions else of_trials, done=done, all=total)]
        breaks = self._breaks
        if breaks is not None and breaks.accuracy and self._items:
            body.append(self._text("accuracy", percent=round(100 * self._right / self._items)))
        began = time.monotonic()
        self._page(self._text("break"), "\n\n".join(body), least=0 if breaks is None else breaks.seconds)
        self._note({"event": "break", "trials_done": done, "for_ms": round((time.monotonic() - began) * 1000)})
        self._begin_stretch()

    def after(self, planned: PlannedTrial, scores: Sequence[Mapping[str, Any]]) -> None:
        """Count a finished ordinary trial with its scores."""
        self._before, items = planned, items_of(scores)
        self._done += 1
        self._since += 1
        self._right, self._items = self._right + sum(items), self._items + len(items)

    def thanks(self, left: bool = False) -> None:
        """Show the last page; a study has its own pages between paradigms and at the end.

        Parameters
        ----------
        left : whether a quiz that was not passed ends the session (of the study, too)
        """
        if self._start:
            self._note_pulses()
            self._note(volumes(self._pulses))
        if left:
            self._page(self._text("thanks"), self._text("quiz_left"))
        elif "study" not in self._session.info:
            self._page(self._text("thanks"), self._text("thanks_questions" if self._questions else "thanks_body"))


def volumes(pulses: Sequence[float]) -> Volumes:
    """Count the pulses of a scanner (ms), and those that are missing between them."""
    gaps = [later - earlier for earlier, later in itertools.pairwise(pulses)]
    if not gaps:
        return {"event": "volumes", "pulses": len(pulses), "every_ms": None, "lost": 0}
    every = statistics.median(gaps)
    missing = (round(gap / every) - 1 for gap in gaps) if every else ()
    lost = sum(count for count in missing if 0 < count < MOST_LOST)
    return {"event": "volumes", "pulses": len(pulses), "every_ms": round(every, 3), "lost": lost}


async def take_quiz(taker: TrialTaker, flow: ParticipantFlow, tell: Callable[[], None]) -> QuizState:
    """Take a quiz, attempt by attempt, until it is over. Every attempt has the trials of the plan,
    with numbers of their own; ``block`` counts attempts.

    Trials that an earlier part of the session finished are not taken again, and its decisions hold.

    Parameters
    ----------
    tell : called after every trial of the first attempt
    """
    session, events = taker.session, taker.state.events
    finished = dict(taker.state.scores)
    decided = [event for event in events if event["event"] == "quiz_decision"]
    recorded = sum(event["event"] == "quiz" for event in events)

    def keep(planned: PlannedTrial, scores: Sequence[Mapping[str, Any]]) -> None:
        finished[trial_key(False, planned.trial)] = scores

    while True:
        state = quiz_of(session.info, finished, decided)
        for number in range(recorded + 1, len(state.attempts) + 1):
            recorded, attempt = number, state.attempts[number - 1]
            reached = state.reached(attempt)
            flow.note(
                {"event": "quiz", "attempt": number, "right": attempt.right, "items": attempt.items, "passed": reached}
            )
        if state.over:
            return state
        if state.undecided:
            decided.append(
                {"event": "quiz_decision", "attempt": len(state.attempts), "decided": flow.decide_quiz(state)}
            )
            continue
        number = len(state.attempts)
        trials = [
            replace(planned, trial=planned.trial + number * len(session.plan), block=number + 1)
            for planned in session.plan
        ]
        if number and not state.finished:
            flow.ask_quiz_again(trials[0], state.attempts[-1])
        pending = [taker.unseen(planned) for planned in trials if trial_key(False, planned.trial) not in finished]
        await one_by_one(taker, pending, (lambda: None) if number else tell, flow.welcome, [keep])
