"""What is asked for, and the plan of a session: its trials (by a design, of another session, or of a file), with what
follows from them; whether an agent can take them; and practice and
worked examples that share no list with them, as far as there are others."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ..agents.at_once import ConcurrentAgent
from ..agents.base import Agent, Rehearsal, TrialContext
from ..agents.window import WindowAgent
from ..core.errors import SpanLabError
from ..core.json_values import grouped, where_given
from ..paradigms import (
    Generator,
    Paradigm,
    PlannedTrial,
    Trial,
    WorkedExample,
    compile_trial,
    load_paradigm,
    plan_practice,
    plan_session,
)
from ..paradigms.compile import one_of_each
from ..paradigms.design import LevelsInUse, chosen_levels, levels_in_use, practice_levels, staircase_rule
from ..paradigms.identity import canonical, trial_seed
from ..paradigms.responses import ResponseKind
from ..paradigms.score_check import probe_trial
from ..paradigms.translation import illegible
from ..paradigms.triggers import read_triggers, unanswerable
from ..stimuli import Stimulus
from .key_mapping import check_answerable, check_buttons, check_keys
from .record.reader import seed_independent
from .session import (
    brief,
    design_of,
    recorded_keys,
    same_trials,
    stairs_of,
)

#: an estimate looks at so many kinds of trials at most, evenly taken from all
_MOST_KINDS = 60


@dataclass(frozen=True, slots=True)
class Request:
    """The request for a new session.

    Parameters
    ----------
    seed : of the session
    generator : corrected or published
    participant : identifier of the person, empty for machines
    design : name of the design, for the record
    language : of the instructions
    pilot : whether the data are pilot data
    practice : whether people get practice first
    levels : levels of some factors that were chosen for this session, as the plan was told:
        practice and examples keep to them; None = as the plan has them
    like : the session whose trials these are, when it is so
    source : the paradigm's name or file, to find it again
    """

    seed: int = 1
    generator: Generator = "corrected"
    participant: str = ""
    design: str = ""
    language: str = "en"
    pilot: bool = False
    practice: bool = False
    levels: Mapping[str, Any] | None = None
    like: str = ""
    source: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])


#: So often another seed is tried for a trial whose list is one of those that it is to differ from.
_FRESH_TRIES = 50


@dataclass(frozen=True, slots=True)
class ChosenTrials:
    """The chosen trials, and the entries about them in the session's record.

    Parameters
    ----------
    paradigm, plan : the trials, in their order
    seed, generator, design : of the session
    source : the paradigm's name or file, to find it again
    like : the session whose trials these are, when it is so
    extra : further entries of the record: the file or the session that they come from
    """

    paradigm: Paradigm
    plan: list[PlannedTrial]
    seed: int
    generator: Generator
    design: str
    source: str
    like: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def request(self, pilot: bool = False) -> Request:
        """The request for a machine's session with these trials: in English, or in the first
        language of a paradigm without English instructions."""
        languages = self.paradigm.instructions
        language = "en" if "en" in languages else next(iter(languages), "en")
        return Request(
            self.seed,
            self.generator,
            language=language,
            design=self.design,
            pilot=pilot,
            like=self.like,
            source=self.source,
            extra=self.extra,
        )


def plan_trials(
    paradigm: str,
    seed: int = 1,
    levels: Mapping[str, Sequence[Any]] | None = None,
    trials: int | None = None,
    design: str | None = None,
    generator: Generator = "corrected",
) -> ChosenTrials:
    """Plan the trials of a session by a design of its paradigm.

    Parameters
    ----------
    paradigm : name in the library, or a YAML file
    levels : levels to use for some factors
    trials : how many, instead of the design's repetitions
    design : name of a session design; ``human``, or one trial of each combination where there is
        none, when not given

    Raises
    ------
    SpanLabError
        for what is unknown or impossible.
    """
    loaded = load_paradigm(paradigm)
    plan = plan_session(loaded, seed, design, levels, trials, generator)
    return ChosenTrials(loaded, plan, seed, generator, design or "human", paradigm)


def trials_like(session: Path, paradigm: str | None = None) -> ChosenTrials:
    """Take exactly the trials of another session, as they were presented.

    Parameters
    ----------
    paradigm : what it must be a session of, when that was said

    Raises
    ------
    SpanLabError
        when the session cannot be read, or is one of another paradigm.
    """
    other = same_trials(session)
    info = other.info
    if paradigm is not None and paradigm not in (info["paradigm_source"], other.paradigm.name):
        raise SpanLabError(f"{session} is a session of {other.paradigm.name}, not of {paradigm}")
    extra = where_given(
        trials_from=info.get("trials_from"),
        seed_from=seed_independent(info) and {"given": False, "independent": True},
    )
    return ChosenTrials(
        other.paradigm,
        list(other.plan),
        other.seed,
        info["generator"],
        info["design"],
        info["paradigm_source"],
        other.name,
        extra,
    )


def trials_of_file(
    file: Path,
    paradigm: str | None = None,
    seed: int = 1,
    trials: int | None = None,
    generator: Generator = "corrected",
) -> ChosenTrials:
    """Take the trials of an imported file.

    Parameters
    ----------
    paradigm : what takes the place of the paradigm that the file names
    trials : so many of them, chosen at random by the seed

    Raises
    ------
    SpanLabError
        when the file cannot be read, or its trials come from another generator.
    """
    from ..paradigms.trials_file import TrialsFile, plan_given

    opened = TrialsFile(file, paradigm)
    header = opened.header
    if generator not in ("corrected", header.generator):
        raise SpanLabError(f"the trials of {file} come from the {header.generator} generator: leave out --generator")
    return ChosenTrials(
        opened.paradigm,
        plan_given(opened, seed, trials),
        seed,
        header.generator,
        "",
        paradigm or header.paradigm,
        extra={"trials_from": {"file": file.name, "sha256": opened.sha256(), "source": header.source}},
    )


def fresh_trials(known: ChosenTrials, seed: int = 1) -> ChosenTrials:
    """Plan new trials with the levels of others, in the same order, and with no list that they
    have.

    Parameters
    ----------
    known : trials of another session or of a file, which somebody may have seen before
    seed : of the new ones

    Raises
    ------
    SpanLabError
        when there are too few different lists.
    """
    paradigm, generator = known.paradigm, known.generator
    if any(planned.varies for planned in known.plan):
        raise SpanLabError(
            "makes new trials with the levels of others, but in adaptive sessions the levels depend on the"
            " answers: leave it out",
            option="fresh",
        )
    lists = {list_of(planned.compile(paradigm, generator)) for planned in known.plan}

    def fresh(index: int, planned: PlannedTrial) -> PlannedTrial:
        for attempt in range(_FRESH_TRIES):
            at = trial_seed("replacement", seed, index * _FRESH_TRIES + attempt)
            candidate = PlannedTrial(planned.block, planned.trial, planned.levels, at, interval_ms=planned.interval_ms)
            if list_of(candidate.compile(paradigm, generator)) not in lists:
                return candidate
        raise SpanLabError(
            f"{paradigm.name} has too few different lists at {dict(planned.levels)} to make trials that nobody has seen"
        )

    plan = [fresh(index, planned) for index, planned in enumerate(known.plan)]
    source = known.extra.get("trials_from", {"session": known.like})
    return ChosenTrials(paradigm, plan, seed, generator, known.design, known.source, extra={"fresh_of": source})


def choose_trials(
    paradigm: str | None,
    *,
    seed: int | None = None,
    levels: Mapping[str, Sequence[Any]] | None = None,
    trials: int | None = None,
    design: str | None = None,
    generator: Generator | None = None,
    like: Path | None = None,
    trials_from: Path | None = None,
    fresh: bool = False,
) -> ChosenTrials:
    """Choose the trials of a machine's session from the options that were given; an option that was
    not given is None.

    Parameters
    ----------
    fresh : new trials with the levels of those of ``like`` or ``trials_from``

    Raises
    ------
    SpanLabError
        when two things that were given contradict each other, and for what is unknown or
        impossible.
    """
    known_seed = 1 if seed is None else seed
    if fresh:
        if like is None and trials_from is None:
            raise SpanLabError(
                "makes new trials with the levels of known ones: name these with --like SESSION or --trials-from FILE",
                option="fresh",
            )
        chosen = choose_trials(
            paradigm,
            seed=None if like else seed,
            levels=levels,
            trials=trials,
            design=design,
            generator=generator,
            like=like,
            trials_from=trials_from,
        )
        return fresh_trials(chosen, known_seed)
    if like is not None:
        if levels or any(one is not None for one in (trials, design, trials_from, seed, generator)):
            raise SpanLabError(
                "takes exactly the trials of that session: leave out {levels}, {trials}, {trials_from}, {design},"
                " {seed} and {generator}",
                option="like",
                names=["levels", "trials", "trials_from", "design", "seed", "generator"],
            )
        return trials_like(like, paradigm)
    if trials_from is not None:
        if levels or design is not None:
            raise SpanLabError(
                "takes the trials of that file as they are: leave out {levels} and {design} (and choose some"
                " at random with {trials})",
                option="trials_from",
                names=["levels", "design", "trials"],
            )
        return trials_of_file(trials_from, paradigm, known_seed, trials, generator or "corrected")
    if paradigm is None:
        raise SpanLabError(
            "which paradigm? Name one (see spanlab list), or give {like} SESSION or {trials_from} FILE",
            names=["like", "trials_from"],
        )
    return plan_trials(paradigm, known_seed, levels, trials, design, generator or "corrected")


def list_of(trial: Trial) -> tuple[str, ...]:
    """The items of a trial that have to be remembered, in any order: all that is shown before the
    last questions, or everything if each display asks."""
    shown = [step for step in trial.steps if step.percept.model_step and step.feedback is None]
    last = max((number for number, step in enumerate(shown) if step.percept.ask is None), default=len(shown) - 1)
    return tuple(sorted(_item(step.percept.for_machine.stimulus) for step in shown[: last + 1]))


def _item(stimulus: Stimulus) -> str:
    """Return the identity of a display: its words, or all its parameters if the words do not say
    everything."""
    return stimulus.words() if stimulus.said_in_words else canonical([stimulus.name, stimulus.model_dump(mode="json")])


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
            brief(agent, paradigm, request.language, trial), sum(step.percept.model_step for step in trial.steps)
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
        check_buttons(keys, agent.buttons, as_asked, pulse=extra.get("start", {}).get("pulse", ""))
    if agent.kind.at_window:
        check_answerable(as_asked)
    agent.check_questions(as_asked)


def _seen_by(agent: Agent, trial: Trial) -> list[Stimulus]:
    """The displays of a trial that an agent gets: people get all."""
    if agent.kind.at_window:
        return [display.stimulus for step in trial.steps for percept in step.percepts for display in percept.displays]
    return [percept.for_machine.stimulus for step in trial.steps for percept in step.percepts if percept.model_step]


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
        plan = [*plan]
        self._lists = {list_of(planned.compile(paradigm, generator)) for planned in plan}
        self._levels = {canonical(dict(planned.levels)): planned.levels for planned in plan}
        self._examples: dict[tuple[str, int], tuple[WorkedExample, ...]] = {}
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
        """Worked examples before a trial with these levels, all with different lists. Their levels are drawn from
        those of the session with the same instructions: they tell nothing of the trial."""
        key = self._instructions(levels), count
        if key not in self._examples:
            alike = [one for one in self._levels.values() if self._instructions(one) == key[0]]
            self._examples[key] = tuple(self._made(alike or [levels], count))
        return self._examples[key]

    def _instructions(self, levels: Mapping[str, Any]) -> str:
        return self._paradigm.instructions_in(next(iter(self._paradigm.instructions)), levels)

    def _made(self, alike: Sequence[Mapping[str, Any]], count: int) -> Iterable[WorkedExample]:
        new_lists: set[tuple[str, ...]] = set()
        for number in range(count):
            trial = self._example(alike, number * _TRIES)
            for tries in range(1, _TRIES):
                if list_of(trial) not in self._lists | new_lists:
                    break
                trial = self._example(alike, number * _TRIES + tries)
            new_lists.add(new_list := list_of(trial))
            if new_list in self._lists:
                self.shared.append(
                    f"example {number + 1} of {', '.join(f'{name} {level}' for name, level in trial.levels.items())}"
                )
            yield _worked(trial)

    def _example(self, alike: Sequence[Mapping[str, Any]], number: int) -> Trial:
        seed = trial_seed("example", self._seed, number)
        return compile_trial(self._paradigm, alike[seed % len(alike)], seed, self._generator)


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


class SessionOutlook:
    """The trials of a session that is going to begin, as :class:`..agents.base.Outlook` has them.

    Parameters
    ----------
    planned : the trials
    request : for the session
    """

    def __init__(self, agent: Agent, paradigm: Paradigm, planned: Sequence[PlannedTrial], request: Request) -> None:
        self._agent, self._whole, self._planned, self._request = agent, paradigm, planned, request
        self.paradigm = paradigm.name
        self.adaptive = any(trial.varies for trial in planned)
        self._remembers = isinstance(agent, ConcurrentAgent) and agent.remembers
        self._practice = SessionPlan(paradigm, agent, planned, request).practice if practises(agent) else ()
        self.rounds = paradigm.practice.at_most if paradigm.practice is not None and self._practice else 0

    @cached_property
    def _kinds(self) -> Mapping[str, list[PlannedTrial]]:
        return grouped((canonical(planned.levels), planned) for planned in self._planned)

    @cached_property
    def _apart(self) -> Any:
        if not isinstance(self._agent, ConcurrentAgent):
            return None
        return apart_for(self._agent, self._whole, self._request.generator, self._request.seed, self._planned)

    def _rehearsal(self, planned: PlannedTrial, times: float = 1.0) -> Rehearsal:
        trial = planned.compile(self._whole, self._request.generator)
        percepts = [step.shown_after("right") for step in trial.steps if step.percept.model_step]
        context = replace(brief(self._agent, self._whole, self._request.language, trial), practice=planned.practice)
        if self._apart is not None:
            context = with_examples(context, self._agent, self._apart, trial.levels)
        return Rehearsal(context, percepts, times)

    @property
    def questions(self) -> int:
        """The largest number of questions in a trial."""
        trials = [
            alike[0].compile(self._whole, self._request.generator)
            for alike in self._kinds.values()
            if not alike[0].varies
        ]
        return max(
            (sum(step.percept.model_step and step.percept.ask is not None for step in trial.steps) for trial in trials),
            default=0,
        )

    @property
    def trials(self) -> Sequence[Rehearsal]:
        """One trial of each kind, or of some kinds, evenly chosen; of each kind where trials are
        one conversation, since each counts with those before it."""
        return self._trials

    @cached_property
    def _trials(self) -> Sequence[Rehearsal]:
        kinds = list(self._kinds.values())
        sampled = kinds[:: 1 if self._remembers else math.ceil(len(kinds) / _MOST_KINDS)]
        share = len(self._planned) / sum(map(len, sampled))
        return [self._rehearsal(alike[0], len(alike) * share) for alike in sampled]

    @property
    def practice(self) -> Sequence[Rehearsal]:
        """The trials of one round of practice."""
        return [self._rehearsal(planned) for planned in self._practice]

    @property
    def order(self) -> Sequence[tuple[int, int]]:
        """Block and kind of every trial, for agents that remember the trials of a block."""
        number = {key: position for position, key in enumerate(self._kinds)}
        return (
            [(planned.block, number[canonical(planned.levels)]) for planned in self._planned] if self._remembers else []
        )

    def shared(self) -> list[str]:
        """Practice trials and examples that show what a trial of the session shows, since the
        paradigm has too few different trials."""
        if self._apart is None:
            return []
        for planned in self._practice:
            self._apart.practice(planned)
        return self._apart.shared if self.trials else []
