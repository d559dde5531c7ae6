"""Variants with the same blocks: the trials of one paradigm with what was drawn for those of
another.

Two paradigms are variants of one another when they share a draw, drawn in the same way from the
same values, and the right answers follow from what they share: N-back with noise, feedback or
reasons asked for has the letters and matches of plain N-back. What only one of them draws (the
noise) is its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..core.errors import SpanLabError
from .compile import PlannedTrial, compile_trial, draw_all, resolve_levels
from .given import GivenDrawError, is_random
from .identity import canonical, trial_seed
from .language.diagnostics import listed
from .paradigm import Generator, Paradigm, same_level


@dataclass(frozen=True)
class PairedTrials:
    """The trials of a variant.

    Parameters
    ----------
    plan : in the order of the others, each with its draws and the ``trial_id`` of the one that it
        is paired with
    shared, fresh : names of the draws that are those of the other paradigm, and of those that are
        drawn anew
    """

    plan: list[PlannedTrial]
    shared: tuple[str, ...]
    fresh: tuple[str, ...]


def paired_plan(
    variant: Paradigm, base: Paradigm, planned: Sequence[PlannedTrial], generator: Generator, seed: int
) -> PairedTrials:
    """Trials of a variant with the draws of planned trials of another paradigm.

    Parameters
    ----------
    planned : trials of ``base``
    generator : of both
    seed : of the session with the variant: what the variant draws by itself follows from it

    Raises
    ------
    SpanLabError
        when the two share no draw, when a draw of the same name means something else, when a level
        of one is none of the other, or when answers would differ.
    """
    random = [{draw.name for draw in paradigm.draws if is_random(draw)} for paradigm in (base, variant)]
    shared = tuple(draw.name for draw in variant.draws if draw.name in random[0] & random[1])
    if not shared:
        raise SpanLabError(
            f"{variant.name} cannot be paired with {base.name}: they share no draw ({_draws(variant)}; {_draws(base)})"
        )
    draws_of_variant = tuple(draw.name for draw in variant.draws if draw.name in random[1] - random[0])
    compared: set[str] = set()
    plan = []
    for index, planned_trial in enumerate(planned):
        trial = _paired(variant, base, planned_trial, generator, trial_seed("session", seed, index), shared)
        kind = canonical(dict(trial.levels))
        if kind not in compared:
            compared.add(kind)
            _compare(variant, base, trial, planned_trial, generator, shared)
        plan.append(trial)
    return PairedTrials(plan, shared, draws_of_variant)


def _paired(
    variant: Paradigm, base: Paradigm, planned: PlannedTrial, generator: Generator, seed: int, shared: Sequence[str]
) -> PlannedTrial:
    """The trial of the variant that goes with a planned one; ``seed`` is its own."""
    theirs = resolve_levels(base, planned.levels, planned.seed)
    levels = resolve_levels(variant, _levels(variant, base, theirs), seed)
    env = draw_all(base, theirs, planned.seed, generator, planned.draws)
    try:
        mine = draw_all(variant, levels, seed, generator, {name: env[name] for name in shared})
    except GivenDrawError as error:
        raise _other(variant, base, error.draw) from None
    for name in shared:
        if _sampler(variant, name, mine) != _sampler(base, name, env):
            raise _other(variant, base, name)
    draws = {draw.name: mine[draw.name] for draw in variant.draws if is_random(draw)}
    trial_id = compile_trial(base, theirs, planned.seed, generator, planned.draws).trial_id
    return replace(planned, levels=levels, seed=seed, draws=draws, name="", varies="", paired=trial_id)


def _levels(variant: Paradigm, base: Paradigm, theirs: Mapping[str, Any]) -> dict[str, Any]:
    """The levels of a trial, for the variant."""
    for name in theirs:
        if name not in variant.factors:
            raise SpanLabError(f"{variant.name} cannot be paired with {base.name}: it has no factor '{name}'")
        if same_level(theirs[name], variant.factors[name].levels) is None:
            levels = ",".join(map(str, variant.factors[name].levels))
            raise SpanLabError(
                f"{variant.name} has no trials with {name} = {theirs[name]}, as {base.name} has: choose others with"
                f" --set {name}={levels}"
            )
    for name, factor in variant.factors.items():
        if name not in theirs and factor.mode == "crossed" and len(factor.levels) > 1:
            raise SpanLabError(f"{variant.name} cannot be paired with {base.name}, which has no factor '{name}'")
    return dict(theirs)


def _sampler(paradigm: Paradigm, name: str, env: Mapping[str, Any]) -> Any:
    (draw,) = (draw for draw in paradigm.draws if draw.name == name)
    assert draw.sampler is not None
    return draw.sampler.build(dict(env))


def _other(variant: Paradigm, base: Paradigm, name: str) -> SpanLabError:
    return SpanLabError(
        f"{variant.name} cannot be paired with {base.name}: '{name}' is drawn in another way, or from other values, in"
        " each of them"
    )


def _compare(
    variant: Paradigm,
    base: Paradigm,
    trial: PlannedTrial,
    planned: PlannedTrial,
    generator: Generator,
    shared: Sequence[str],
) -> None:
    """Return whether both trials ask for the same answers."""
    answers = [
        [step.truth.answer for step in trial_of.compile(paradigm, generator).steps if step.percept.ask is not None]
        for paradigm, trial_of in ((variant, trial), (base, planned))
    ]
    if answers[0] != answers[1]:
        raise SpanLabError(
            f"{variant.name} cannot be paired with {base.name}: with the same {' and '.join(shared)} they have other"
            " answers"
        )


def _draws(paradigm: Paradigm) -> str:
    names = [draw.name for draw in paradigm.draws if is_random(draw)]
    return f"{paradigm.name} draws {listed(names) if names else 'nothing'}"
