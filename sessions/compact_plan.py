"""The plan of a large session in compact form: each combination of levels once, and for each trial the number of its combination."""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..core.errors import SpanLabError
from ..paradigms import PlannedTrial
from ..paradigms.identity import canonical, trial_seed


def compacted(plan: Sequence[PlannedTrial], seed: int) -> dict[str, Any] | None:
    """The compact form of a plan; None for trials that it cannot represent (from elsewhere, practice, or in another order).

    Parameters
    ----------
    seed : of the session; the seeds of its trials mostly follow from it, and are then left out
    """
    if any(
        planned.draws is not None or planned.name or planned.varies or planned.practice or planned.trial != number
        for number, planned in enumerate(plan, start=1)
    ):
        return None
    kinds: dict[str, int] = {}
    by_identity: dict[int, int] = {}
    levels: list[Mapping[str, Any]] = []
    which = np.empty(len(plan), np.uint32)
    for row, planned in enumerate(plan):
        kind = by_identity.get(id(planned.levels))
        if kind is None:
            kind = by_identity[id(planned.levels)] = kinds.setdefault(canonical(dict(planned.levels)), len(kinds))
            if kind == len(levels):
                levels.append(dict(planned.levels))
        which[row] = kind
    seeds = np.array([planned.seed for planned in plan], np.int64)
    intervals = np.array([planned.interval_ms for planned in plan], np.float64)
    return {
        "trials": len(plan),
        "levels": levels,
        "which": _packed(which),
        "seeds": "session" if np.array_equal(seeds, _of_session(seed, len(plan))) else _packed(seeds),
        "blocks": _packed(np.array([planned.block for planned in plan], np.uint32)),
        "intervals_ms": intervals[0].item() if (intervals == intervals[0]).all() else _packed(intervals),
    }


def expanded(record: Mapping[str, Any], seed: int) -> tuple[PlannedTrial, ...]:
    """Read a plan that :func:`compacted` has written.

    Raises
    ------
    SpanLabError
        when it is damaged.
    """
    try:
        many, levels = record["trials"], record["levels"]
        which, blocks = _unpacked(record["which"], np.uint32), _unpacked(record["blocks"], np.uint32)
        seeds = _of_session(seed, many) if record["seeds"] == "session" else _unpacked(record["seeds"], np.int64)
        intervals = record["intervals_ms"]
        intervals = _unpacked(intervals, np.float64) if isinstance(intervals, str) else np.full(many, float(intervals))
        if not len(which) == len(blocks) == len(seeds) == len(intervals) == many:
            raise ValueError("trials are missing")
        rows = zip(which.tolist(), blocks.tolist(), seeds.tolist(), intervals.tolist(), strict=True)
        return tuple(
            PlannedTrial(block, number, levels[kind], trial_seed_, interval_ms=interval)
            for number, (kind, block, trial_seed_, interval) in enumerate(rows, start=1)
        )
    except (KeyError, ValueError, TypeError, IndexError, zlib.error, binascii.Error) as error:
        raise SpanLabError(f"the plan in session.json is damaged ({error}); restore it from a copy") from None


def _of_session(seed: int, many: int) -> np.ndarray:
    """The seeds of a session's trials; they are numbers in a row (:func:`.identity.trial_seed`)."""
    return trial_seed("session", seed, 0) + np.arange(many, dtype=np.int64)


def _packed(numbers: np.ndarray) -> str:
    return base64.b64encode(zlib.compress(numbers.astype(numbers.dtype.newbyteorder("<")).tobytes(), 6)).decode("ascii")


def _unpacked(text: str, kind: type) -> np.ndarray:
    return np.frombuffer(zlib.decompress(base64.b64decode(text, validate=True)), np.dtype(kind).newbyteorder("<"))
