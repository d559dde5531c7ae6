"""What only people need around the trials: instructions, practice, pauses, thanks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from ..agents.protocol import Agent
from ..paradigms import PlannedTrial, plan_practice
from ..paradigms.compile import resolve_levels
from ..paradigms.design import DEFAULT_INTERVAL_MS
from .record import trial_key
from .session import Session

_TEXTS: dict[str, dict[str, str]] = {
    "en": {
        "practice": "Practice",
        "practice_body": "We begin with some practice. You will be told how you did.",
        "main": "Ready",
        "main_body": "Now the real trials begin.",
        "right": "All correct.",
        "some": "{right} of {all} correct.",
        "again": "Once more",
        "again_body": "Let us practise that again.",
        "break": "Pause",
        "break_body": "{done} of {all} trials are done. Take a rest, and go on when you like.",
        "thanks": "Thank you",
        "thanks_body": "That was the last trial.",
    },
    "de": {
        "practice": "Übung",
        "practice_body": "Wir beginnen mit etwas Übung. Danach erfahren Sie jeweils, wie gut es ging.",
        "main": "Bereit",
        "main_body": "Jetzt beginnen die eigentlichen Durchgänge.",
        "right": "Alles richtig.",
        "some": "{right} von {all} richtig.",
        "again": "Noch einmal",
        "again_body": "Wir üben das noch einmal.",
        "break": "Pause",
        "break_body": "{done} von {all} Durchgängen sind geschafft. Ruhen Sie sich aus und machen Sie weiter, wann Sie möchten.",
        "thanks": "Vielen Dank",
        "thanks_body": "Das war der letzte Durchgang.",
    },
}

#: takes one trial and gives what was answered
Take = Callable[[PlannedTrial], Awaitable[list[Any]]]


class Hospitality:
    """Pages of text and practice for somebody at a window."""

    def __init__(self, session: Session, agent: Agent) -> None:
        self._session, self._agent = session, agent
        language = str(session.info["language"])
        self._texts = _TEXTS.get(language, _TEXTS["en"])
        self._language = language
        self._told = ""
        if hasattr(agent, "speak"):
            agent.speak(language)  # type: ignore[attr-defined]

    def _page(self, title: str, body: str) -> None:
        page = getattr(self._agent, "page", None)
        if page is not None:
            page(title, body)

    def _rest(self, ms: float) -> None:
        rest = getattr(self._agent, "rest", None)
        if rest is not None:
            rest(ms)

    def welcome(self, planned: PlannedTrial) -> None:
        """Instructions, and how to answer: before the first trial, and again before one whose level of a factor changes them."""
        told = self._instructions(planned)
        if told != self._told:
            self._page(self._session.paradigm.titled(self._language), "\n\n".join([told, *self._legends(told, planned)]))
            self._told = told

    def first(self) -> PlannedTrial:
        """The trial that comes first: one of practice, where there is practice."""
        practice = plan_practice(self._session.paradigm, self._session.seed) if self._session.info["practice"] else []
        return [*practice, *self._session.plan][0]

    def _instructions(self, planned: PlannedTrial) -> str:
        levels = resolve_levels(self._session.paradigm, planned.levels, planned.seed)
        return self._session.paradigm.told(self._language, levels)

    def _legends(self, told: str, planned: PlannedTrial) -> list[str]:
        """How to answer, in all conditions with these instructions."""
        alike = {repr(other.levels): other for other in (*self._session.plan, planned) if self._instructions(other) == told}
        asks = [
            step.percept.ask
            for other in alike.values()
            for step in other.compile(self._session.paradigm, self._session.info["generator"]).steps
            if step.percept.ask is not None
        ]
        return list(dict.fromkeys(self._session.answer_keys.kind_for(ask.kind).legend("participant", self._language) for ask in asks))

    async def practise(self, take: Take, earlier: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        """Rounds of practice until the criterion is reached, or there were enough.

        Trials that an earlier part of the session finished (``earlier``: their scores) are not taken again, and count towards the criterion.
        """
        practice = self._session.paradigm.practice
        if practice is None:
            return
        for round_ in range(1, practice.at_most + 1):
            planned = plan_practice(self._session.paradigm, self._session.seed, round_)
            right = asked = 0
            announced = False
            for trial in planned:
                scored = earlier.get(trial_key(True, trial.trial))
                if scored is None:
                    if not announced:
                        self._page(self._texts["practice" if round_ == 1 else "again"], self._texts["practice_body" if round_ == 1 else "again_body"])
                        announced = True
                    self.welcome(trial)
                    self._rest(DEFAULT_INTERVAL_MS)
                    scored = [score for one in await take(trial) for score in one.scores]
                    if practice.feedback:
                        self._page(self._texts["practice"], self._result(_items(scored)))
                right, asked = right + sum(_items(scored)), asked + len(_items(scored))
            if practice.pass_ is None or (asked and right / asked >= practice.pass_):
                return

    def _result(self, items: Sequence[bool]) -> str:
        return self._texts["right"] if all(items) else self._texts["some"].format(right=sum(items), all=len(items))

    def begin_main(self) -> None:
        """A page before the first ordinary trial."""
        if self._session.info["practice"]:
            self._page(self._texts["main"], self._texts["main_body"])

    def between(self, planned: PlannedTrial, before: PlannedTrial | None, done: int, total: int) -> None:
        """The interval before a trial, and a pause where a new block begins."""
        if before is not None and before.block != planned.block:
            self._page(self._texts["break"], self._texts["break_body"].format(done=done, all=total))
        self.welcome(planned)
        self._rest(planned.interval_ms)

    def thanks(self) -> None:
        """The last page."""
        self._page(self._texts["thanks"], self._texts["thanks_body"])


def _items(scores: Sequence[Mapping[str, Any]]) -> list[bool]:
    """Which of the presented items were right; intrusions are no items."""
    return [score["correct"] for score in scores if score["correct_answer"] is not None]
