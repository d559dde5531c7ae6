"""The plan of a session: its trials, with what follows from them; whether an agent can take them; and practice and
worked examples that share no list with them, as far as there are others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ..agents.at_once import ConcurrentAgent
from ..agents.base import Agent, TrialContext
from ..agents.window import WindowAgent
from ..core.errors import SpanLabError
from ..paradigms import (
    Generator,
    Paradigm,
    PlannedTrial,
    Trial,
    WorkedExample,
    compile_trial,
    is_model_step,
    plan_practice,
)
from ..paradigms.compile import one_of_each
from ..paradigms.design import staircase_rule
from ..paradigms.identity import canonical, trial_seed
from ..paradigms.practice_levels import LevelsInUse, chosen_levels, levels_in_use, practice_levels
from ..paradigms.responses import ResponseKind
from ..paradigms.score_check import probe_trial
from ..paradigms.translation import illegible
from ..paradigms.triggers import read_triggers, unanswerable
from ..stimuli import Stimulus
from .key_mapping import check_answerable, check_buttons, check_keys
from .request import Request, list_of
from .session import (
    brief,
    design_of,
    recorded_keys,
    stairs_of,
)


@dataclass(frozen=True)
class SessionPlan:
    """A plan of a session, with what follows from it.

    Parameters
    ----------
    trials : its ordinary trials
    request : for the session
    """

    paradigm: Paradigm
    agent: Agent
    trials: Sequence[PlannedTrial]
    request: Request

    @cached_property
    def rule(self) -> dict[str, Any] | None:
        """The rule of an adaptive design; None for others."""
        return staircase_rule(self.paradigm, self.request.design, self.trials)

    @property
    def stairs(self) -> list[PlannedTrial]:
        """The possible first trials of an adaptive session, one at each level."""
        return stairs_of(self.trials[0], self.rule)

    @cached_property
    def levels(self) -> LevelsInUse:
        """The levels of the session, and which of them were chosen for it."""
        design, chosen = design_of(self.paradigm, self.request.design), self.request.levels
        return levels_in_use(
            self.paradigm, design, chosen_levels(self.paradigm, design, self.trials) if chosen is None else chosen
        )

    @cached_property
    def practice(self) -> Sequence[PlannedTrial]:
        """The first round of practice; none where there is none."""
        return (
            plan_practice(self.paradigm, self.request.seed, levels=practice_levels(self.levels))
            if self.request.practice or practises(self.agent)
            else ()
        )

    @property
    def asked(self) -> list[PlannedTrial]:
        """The trials whose questions a machine is asked: those of practice only if it takes
        practice."""
        return [*self.stairs, *self.trials, *(self.practice if practises(self.agent) else ())]


def practises(agent: Agent) -> bool:
    """Return whether a machine takes the paradigm's practice first; people at a window are asked
    elsewhere."""
    return isinstance(agent, ConcurrentAgent) and agent.practises


def try_out(
    paradigm: Paradigm, agent: Agent, plan: Sequence[PlannedTrial], request: Request
) -> Collection[ResponseKind]:
    """Check that an agent can take a session, before it is there (:func:`check_plan`)."""
    return check_plan(SessionPlan(paradigm, agent, plan, request))


def check_plan(plan: SessionPlan) -> Collection[ResponseKind]:
    """Compile before anybody sits down, so that a fault in the file does not show up in the
    session: every trial for people and every trial whose draws are given, one of each kind for
    machines and for people at a page, which has to come soon. Agents that may be unable to take
    some trials are asked.

    Returns
    -------
    the kinds of questions that came

    Raises
    ------
    SpanLabError
        for what is wrong with a trial, and when the agent cannot take one.
    """
    paradigm, agent, request = plan.paradigm, plan.agent, plan.request
    kinds: dict[ResponseKind, None] = {}

    def look_at(trial: Trial) -> None:
        agent.check_displays(_seen_by(agent, trial))
        kinds.update(dict.fromkeys(step.percept.ask.kind for step in trial.steps if step.percept.ask is not None))

    ahead = agent.kind.at_window and not (isinstance(agent, WindowAgent) and not agent.compiles_ahead)
    for planned in (*plan.stairs, *(plan.trials if ahead else one_of_each(plan.trials))):
        trial = planned.compile(paradigm, request.generator)
        if any(kind.is_foreign() for kind in trial.kinds):
            probe_trial(trial)
        agent.check_trial(
            brief(agent, paradigm, request.language, trial), sum(is_model_step(step.percept) for step in trial.steps)
        )
        look_at(trial)
    if practises(agent) and paradigm.practice is None:
        raise SpanLabError(
            f"{paradigm.name} has no practice: leave out --chat practice=feedback, or use a paradigm with practice (key"
            " practice:)"
        )
    for planned in plan.practice:
        look_at(planned.compile(paradigm, request.generator))
    browser = isinstance(agent, WindowAgent) and agent.in_browser
    for path, why in illegible(paradigm.data, [request.language], browser) if agent.kind.at_window else ():
        raise SpanLabError(f"{paradigm.name} {' > '.join(map(str, path))}: {why}")
    _check_answers(plan, kinds)
    if "triggers" in request.extra:
        codes = read_triggers(request.extra["triggers"]["codes"], paradigm.timeline, "trigger codes")
        # Those of the file may be for answers to trials that this session does not have; others
        # were meant for this session.
        if (wrong := unanswerable(codes, kinds, paradigm.triggers)) is not None:
            raise SpanLabError(f"trigger codes responses: {wrong}")
    return kinds.keys()


def _check_answers(plan: SessionPlan, kinds: Collection[ResponseKind]) -> None:
    """Check that every question can be answered, with the keys of the session."""
    agent, extra = plan.agent, plan.request.extra
    keys = recorded_keys(extra.get("keys"))
    if "keys" in extra:
        check_keys(keys, kinds, others="study" in extra)
    as_asked = [kind.with_keys(keys) for kind in kinds] if agent.kind.at_window else list(kinds)
    if "keys" in extra and isinstance(agent, WindowAgent):
        check_buttons(keys, agent.buttons, as_asked)
    if agent.kind.at_window:
        check_answerable(as_asked)
    agent.check_questions(as_asked)


def _seen_by(agent: Agent, trial: Trial) -> list[Stimulus]:
    """The displays of a trial that an agent gets: people get all."""
    if agent.kind.at_window:
        return [display.stimulus for step in trial.steps for percept in step.percepts for display in percept.displays]
    return [percept.for_machine.stimulus for step in trial.steps for percept in step.percepts if is_model_step(percept)]


#: so many trials are tried when one has a list of the session's own
_TRIES = 64


#: practice trials that take the place of others are numbered from here on
_INSTEAD = 2**29


class UnseenTrials:
    """Trials whose lists do not occur in the session.

    Parameters
    ----------
    plan : the session's trials; of an adaptive one, at every level that may come
    """

    def __init__(self, paradigm: Paradigm, generator: Generator, seed: int, plan: Iterable[PlannedTrial]) -> None:
        self._paradigm, self._seed = paradigm, seed
        self._generator: Generator = generator
        self._lists = {list_of(planned.compile(paradigm, generator)) for planned in plan}
        self._examples: dict[str, tuple[WorkedExample, ...]] = {}
        #: trials of practice, and examples, for which there was no other list
        self.shared: list[str] = []

    def practice(self, planned: PlannedTrial) -> PlannedTrial:
        """A practice trial, or its replacement."""
        for tries in range(_TRIES):
            number = _INSTEAD + (planned.trial - 1) * _TRIES + tries
            candidate = replace(planned, seed=trial_seed("practice", self._seed, number)) if tries else planned
            if list_of(candidate.compile(self._paradigm, self._generator)) not in self._lists:
                return candidate
        self.shared.append(f"practice trial {planned.trial}")
        return planned

    def examples(self, levels: Mapping[str, Any], count: int) -> tuple[WorkedExample, ...]:
        """Worked examples with these levels, all with different lists."""
        key = canonical([dict(levels), count])
        if key not in self._examples:
            self._examples[key] = tuple(self._made(levels, count))
        return self._examples[key]

    def _made(self, levels: Mapping[str, Any], count: int) -> Iterable[WorkedExample]:
        new_lists: set[tuple[str, ...]] = set()
        for number in range(count):
            trial = self._example(levels, number * _TRIES)
            for tries in range(1, _TRIES):
                if list_of(trial) not in self._lists | new_lists:
                    break
                trial = self._example(levels, number * _TRIES + tries)
            new_lists.add(new_list := list_of(trial))
            if new_list in self._lists:
                self.shared.append(
                    f"example {number + 1} of {', '.join(f'{name} {level}' for name, level in levels.items())}"
                )
            yield _worked(trial)

    def _example(self, levels: Mapping[str, Any], number: int) -> Trial:
        return compile_trial(self._paradigm, levels, trial_seed("example", self._seed, number), self._generator)


def _worked(trial: Trial) -> WorkedExample:
    # what has no right answer has no worked one either
    steps = [
        step
        for step in trial.steps
        if step.percept.model_step and (step.percept.ask is None or step.percept.ask.kind.scored)
    ]
    answers = tuple(
        step.truth.answer for step in steps if step.percept.ask is not None and step.truth.answer is not None
    )
    return WorkedExample(trial.trial_id, tuple(step.shown_after("right") for step in steps), answers)


def with_examples(context: TrialContext, agent: Agent, apart: UnseenTrials, levels: Mapping[str, Any]) -> TrialContext:
    """Add worked examples to the context of a trial, where the agent's settings ask for them;
    practice trials have none."""
    if context.practice or not isinstance(agent, ConcurrentAgent) or not agent.examples:
        return context
    return replace(context, examples=apart.examples(levels, agent.examples))


def apart_for(
    agent: ConcurrentAgent, paradigm: Paradigm, generator: Any, seed: int, plan: Iterable[PlannedTrial]
) -> UnseenTrials | None:
    """The object that keeps an agent's practice and examples apart from its trials; None where it
    has neither."""
    return UnseenTrials(paradigm, generator, seed, plan) if agent.practises or agent.examples > 0 else None
