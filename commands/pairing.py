"""``--paired-with``: a variant with the blocks of another paradigm, or of a session of it. Part of the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..arguments import parse_generator, parse_levels
from ..errors import SpanLabError
from .running import plan_trials

if TYPE_CHECKING:
    from ..paradigms import Generator, Paradigm, PlannedTrial

PairedOption = Annotated[
    str | None,
    typer.Option(
        "--paired-with",
        help="the blocks of this session, or of this paradigm with the same seed: same items and answers, shown as the variant shows them",
        metavar="SESSION_OR_PARADIGM",
    ),
]


@dataclass(frozen=True)
class PairedTrials:
    """A plan, and what the record of its session is to say.

    Parameters
    ----------
    paradigm, plan : the variant, and its trials
    seed, generator, design : of its session
    extra : what it is paired with
    """

    paradigm: Paradigm
    plan: list[PlannedTrial]
    seed: int
    generator: Generator
    design: str
    extra: Mapping[str, Any]


def paired_trials(
    variant: str, other: str, *, seed: int | None, set_: list[str] | None, trials: int | None, design: str | None, generator: str | None
) -> PairedTrials:
    """The trials of a variant with the blocks of a session or a paradigm.

    Parameters
    ----------
    variant : name or file of the paradigm that is to be taken
    other : folder of a session, or name or file of a paradigm
    seed, set_, trials, design, generator : as given on the command line; None where they were not. With a session, ``set_`` chooses among its trials

    Raises
    ------
    SpanLabError
        when the two cannot be paired, or an option has no meaning here.
    """
    from ..paradigms import load_paradigm
    from ..paradigms.pairing import paired_plan
    from ..sessions import same_trials

    loaded = load_paradigm(variant)
    if Path(other).is_dir():
        if trials is not None or design is not None:
            raise SpanLabError("--paired-with SESSION takes the trials of that session: leave out --trials and --design (--set chooses among them)")
        session = same_trials(Path(other))
        info, base = session.info, session.paradigm
        if generator is not None and generator != info["generator"]:
            raise SpanLabError(f"the trials of {other} come from the {info['generator']} generator: leave out --generator")
        planned, drawn_by = _with_levels(base, session.plan, parse_levels(set_), other), parse_generator(info["generator"])
        seed = session.seed if seed is None else seed
        source = {"session": session.name, "seed": session.seed, "design": info["design"]}
    else:
        seed, drawn_by = 1 if seed is None else seed, parse_generator(generator or "corrected")
        base = load_paradigm(other)
        planned = plan_trials(base, seed, set_, trials, design, drawn_by)
        if any(one.varies for one in planned):
            raise SpanLabError(f"{base.name}: levels of an adaptive design follow from answers, so nothing can be paired with it: choose another --design")
        source = {"session": "", "seed": seed, "design": design or "human"}
    found = paired_plan(loaded, base, planned, drawn_by, seed)
    noted = {"paradigm": base.name, "paradigm_hash": base.hash, **source, "streams": base.streams, "shared": [*found.shared], "own": [*found.own]}
    return PairedTrials(loaded, found.plan, seed, drawn_by, source["design"], {"paired_with": noted})


def _with_levels(base: Paradigm, plan: Sequence[PlannedTrial], levels: Mapping[str, Any], session: str) -> list[PlannedTrial]:
    """The trials of a session that have some levels, numbered anew."""
    from ..paradigms import resolve_levels

    wanted = {name: [base.level(name, one) for one in values] for name, values in levels.items()}
    resolved = [resolve_levels(base, one.levels, one.seed) for one in plan] if wanted else []
    chosen = [one for one, has in zip(plan, resolved, strict=True) if all(has[name] in some for name, some in wanted.items())] if wanted else [*plan]
    if not chosen:
        raise SpanLabError(f"{session} has no trials with these levels")
    blocks = {block: number for number, block in enumerate(dict.fromkeys(one.block for one in chosen), start=1)}
    return [replace(one, block=blocks[one.block], trial=number) for number, one in enumerate(chosen, start=1)]
