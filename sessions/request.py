"""The request for a session: its trials (planned by a design, taken from another session or from a file, or paired
with those of another paradigm), and what is asked for besides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
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
    resolve_levels,
)
from ..paradigms.identity import canonical, trial_seed
from ..stimuli import Stimulus
from .record.reader import seed_independent
from .session import (
    same_trials,
)


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
    extra = {key: info[key] for key in ("trials_from", "paired_with") if key in info}
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
            "--fresh makes new trials with the levels of others, but in adaptive sessions the levels depend on the"
            " answers: leave it out"
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


def pair_trials(
    variant: str,
    other: str | Path,
    *,
    seed: int | None = None,
    levels: Mapping[str, Sequence[Any]] | None = None,
    trials: int | None = None,
    design: str | None = None,
    generator: Generator | None = None,
) -> ChosenTrials:
    """Plan the trials of a variant with the blocks of a session or a paradigm.

    Parameters
    ----------
    variant : name or file of the paradigm that is to be taken
    other : folder of a session, or name or file of a paradigm
    seed, levels, trials, design, generator : as they were given, None where they were not. With a
        session, ``levels`` chooses among its trials

    Raises
    ------
    SpanLabError
        when the two cannot be paired, or something that was given has no meaning here.
    """
    loaded = load_paradigm(variant)
    if Path(other).is_dir():
        if trials is not None or design is not None:
            raise SpanLabError(
                "--paired-with SESSION takes the trials of that session: leave out --trials and --design (--set chooses"
                " among them)"
            )
        session = same_trials(Path(other))
        info, base = session.info, session.paradigm
        if generator is not None and generator != info["generator"]:
            raise SpanLabError(
                f"the trials of {other} come from the {info['generator']} generator: leave out --generator"
            )
        drawn_by: Generator = info["generator"]
        planned = _with_levels(base, session.plan, levels or {}, other)
        seed = session.seed if seed is None else seed
        source: dict[str, Any] = {"session": session.name, "seed": session.seed, "design": info["design"]}
        source |= {"independent": True} if seed_independent(info) else {}
    else:
        seed, drawn_by = 1 if seed is None else seed, generator or "corrected"
        chosen = plan_trials(str(other), seed, levels, trials, design, drawn_by)
        base, planned = chosen.paradigm, chosen.plan
        if any(planned_trial.varies for planned_trial in planned):
            raise SpanLabError(
                f"{base.name}: levels of an adaptive design follow from answers, so nothing can be paired with it:"
                " choose another --design"
            )
        source = {"session": "", "seed": seed, "design": design or "human"}
    from ..paradigms.pairing import paired_plan

    paired = paired_plan(loaded, base, planned, drawn_by, seed)
    pairing = {
        "paradigm": base.name,
        "paradigm_hash": base.hash,
        **source,
        "shared": [*paired.shared],
        "own": [*paired.fresh],
    }
    return ChosenTrials(loaded, paired.plan, seed, drawn_by, source["design"], variant, extra={"paired_with": pairing})


def _with_levels(
    base: Paradigm, plan: Sequence[PlannedTrial], levels: Mapping[str, Sequence[Any]], session: str | Path
) -> list[PlannedTrial]:
    """The trials of a session that have some levels, numbered anew."""
    allowed = {name: [base.level(name, level) for level in values] for name, values in levels.items()}
    resolved = [resolve_levels(base, planned.levels, planned.seed) for planned in plan] if allowed else []
    chosen = (
        [
            planned
            for planned, has in zip(plan, resolved, strict=True)
            if all(has[name] in allowed_levels for name, allowed_levels in allowed.items())
        ]
        if allowed
        else [*plan]
    )
    if not chosen:
        raise SpanLabError(f"{session} has no trials with these levels")
    blocks = {block: number for number, block in enumerate(dict.fromkeys(planned.block for planned in chosen), start=1)}
    return [
        replace(planned, block=blocks[planned.block], trial=number) for number, planned in enumerate(chosen, start=1)
    ]


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
    paired_with: str | Path | None = None,
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
    if paired_with is not None and (like is not None or trials_from is not None):
        raise SpanLabError("--paired-with makes trials of its own: leave out --like and --trials-from")
    if fresh:
        if like is None and trials_from is None:
            raise SpanLabError(
                "--fresh makes new trials with the levels of known ones: name these with --like SESSION or"
                " --trials-from FILE"
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
                "--like takes exactly the trials of that session: leave out --set, --trials, --trials-from and --design"
            )
        return trials_like(like, paradigm)
    if trials_from is not None:
        if levels or design is not None:
            raise SpanLabError(
                "--trials-from takes the trials of that file as they are: leave out --set and --design (and choose some"
                " at random with --trials)"
            )
        return trials_of_file(trials_from, paradigm, 1 if seed is None else seed, trials, generator or "corrected")
    if paradigm is None:
        raise SpanLabError("which paradigm? Name one (see spanlab list), or give --like SESSION or --trials-from FILE")
    if paired_with is not None:
        return pair_trials(
            paradigm, paired_with, seed=seed, levels=levels, trials=trials, design=design, generator=generator
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
