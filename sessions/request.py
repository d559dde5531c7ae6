"""The request for a session: its trials (planned by a design, or taken from another session or from a
file), and what is asked for besides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..core.errors import SpanLabError
from ..paradigms import (
    Generator,
    Paradigm,
    PlannedTrial,
    Trial,
    load_paradigm,
    plan_session,
)
from ..paradigms.identity import canonical, trial_seed
from ..stimuli import Stimulus
from .record.reader import seed_independent
from .session import same_trials


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
_TRIES = 50


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
    extra = {"trials_from": info["trials_from"]} if "trials_from" in info else {}
    extra |= {"seed_from": {"given": False, "independent": True}} if seed_independent(info) else {}
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
    extra = {"trials_from": {"file": file.name, "sha256": opened.sha256(), "source": header.source}}
    return ChosenTrials(
        opened.paradigm,
        plan_given(opened, seed, trials),
        seed,
        header.generator,
        "",
        paradigm or header.paradigm,
        extra=extra,
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
        for attempt in range(_TRIES):
            at = trial_seed("replacement", seed, index * _TRIES + attempt)
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
    if fresh:
        if like is None and trials_from is None:
            raise SpanLabError(
                "makes new trials with the levels of known ones: name these with --like SESSION or --trials-from FILE",
                option="fresh",
            )
        chosen = choose_trials(
            paradigm,
            seed=seed,
            levels=levels,
            trials=trials,
            design=design,
            generator=generator,
            like=like,
            trials_from=trials_from,
        )
        return fresh_trials(chosen, 1 if seed is None else seed)
    if like is not None:
        if levels or trials is not None or design is not None or trials_from is not None:
            raise SpanLabError(
                "takes exactly the trials of that session: leave out {levels}, {trials}, {trials_from} and {design}",
                option="like",
                names=["levels", "trials", "trials_from", "design"],
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
        return trials_of_file(trials_from, paradigm, 1 if seed is None else seed, trials, generator or "corrected")
    if paradigm is None:
        raise SpanLabError(
            "which paradigm? Name one (see spanlab list), or give {like} SESSION or {trials_from} FILE",
            names=["like", "trials_from"],
        )
    return plan_trials(paradigm, 1 if seed is None else seed, levels, trials, design, generator or "corrected")


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
