"""Ratings of confidence beside the answers that they are about.

A rating has no right answer, and a row of its own. One that follows an answer in the same trial
says how sure somebody was of it, and stands in the row of the answer as ``confidence``. One that is
the answer itself (from sure that something was new to sure that it was old) records ``signal``:
whether the high numbers were right. It is scored here by the half of the scale that it lies in, and
its confidence is how far from the middle it is.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from .coding import NO, YES, decoded, numbers

#: Column of a recorded value that says, of a rating that is the answer, what was true.
SIGNAL = "record_signal"
#: Columns that are added: the rating, the ends of its scale, and the phase of the trial in which it
#: was given.
ADDED = ("confidence", "confidence_from", "confidence_to", "confidence_phase")
#: Phases of ratings that are taken for confidence where an answer is followed by several ratings;
#: else the first one is.
_CONFIDENCE = re.compile("confid|certain|sure|sicher", re.IGNORECASE)


def score_halves(table: pd.DataFrame) -> tuple[pd.DataFrame, int, int]:
    """Score ratings that are answers themselves by the half of the scale: rows with
    ``record_signal``, and a scale of an even number of steps.

    Parameters
    ----------
    table : typed rows of whole trials

    Returns
    -------
    (the table, how many such ratings there are, how many of others cannot be scored because their
    scale has a middle)
    """
    if SIGNAL not in table.columns or "scale_to" not in table.columns:
        return table, 0, 0
    truth = [_truth(value) for value in decoded(table[SIGNAL])]
    low, high = (pd.to_numeric(table[name], errors="coerce").to_numpy(float) for name in ("scale_from", "scale_to"))
    known = (
        np.array([value is not None for value in truth])
        & table["_unanswerable"].to_numpy(bool)
        & np.isfinite(low)
        & np.isfinite(high)
    )
    even = known & ((high - low) % 2 == 1)
    if not even.any():
        return table, 0, int(known.sum())
    signal = np.array([bool(value) for value in truth])
    given = numbers(table["answer"])
    middle = (low + high) / 2
    answered = even & np.isfinite(given) & table["outcome"].eq("answered").to_numpy()
    correct = table["correct"].to_numpy(float).copy()
    correct[answered] = ((given > middle) == signal)[answered]
    added: dict[str, Any] = {"correct": correct, "_unanswerable": table["_unanswerable"].to_numpy(bool) & ~even}
    right = table.get("correct_answer", pd.Series(None, index=table.index, dtype=object)).astype(object)
    right[even] = np.where(signal, '"yes"', '"no"')[even]
    added["correct_answer"] = right
    chance = table["chance"].to_numpy(float).copy()
    chance[even] = 0.5
    added["chance"] = chance
    steps = (high - low + 1) / 2
    nothing = np.full(len(table), np.nan)
    added |= {
        "confidence": np.where(answered, np.ceil(np.abs(given - middle)), nothing),
        "confidence_phase": table["phase"].astype(object).where(even),
        "confidence_from": np.where(even, 1.0, nothing),
        "confidence_to": np.where(even, steps, nothing),
    }
    return table.assign(**added), int(even.sum()), int((known & ~even).sum())


def _truth(value: Any) -> bool | None:
    """Return whether a recorded value says that there was a signal, in any spelling that a file may
    hold; None where it says neither."""
    if isinstance(value, int | float | np.bool_) and value in (0, 1):
        return bool(value)
    word = str(value).strip().lower()
    return word in YES if word in YES | NO else None


def with_confidence(table: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Put ratings beside the answers that they follow in the same trial, as ``confidence``.

    Parameters
    ----------
    table : typed rows of whole trials

    Returns
    -------
    (the table, how many ratings were used)
    """
    unscored = table["_unanswerable"].to_numpy(bool) & ~table["_intrusion"].to_numpy(bool)
    placed = (table["unit_trial"] >= 0).to_numpy() & table["ask"].notna().to_numpy()
    if not (unscored & placed).any() or not (~unscored & placed).any() or "answer" not in table.columns:
        return table, 0
    ratings = table.loc[
        unscored & placed,
        ["unit_trial", "ask", "answer", *(one for one in ("phase", "scale_from", "scale_to") if one in table.columns)],
    ]
    scale = {
        name: pd.to_numeric(ratings[name], errors="coerce").astype(float)
        for name in ("scale_from", "scale_to")
        if name in ratings.columns
    }
    ratings = ratings.assign(confidence=numbers(ratings["answer"]), **scale)
    ratings = ratings[np.isfinite(ratings["confidence"]) & (ratings["confidence"] >= 0)]
    asked = table.loc[~unscored & placed & ~table["_intrusion"].to_numpy(bool), ["unit_trial", "ask"]].drop_duplicates()
    if not len(ratings) or not len(asked):
        return table, 0
    pairs = pd.merge_asof(
        ratings.sort_values("ask", kind="stable"),
        asked.assign(question=asked["ask"]).sort_values("ask", kind="stable"),
        on="ask",
        by="unit_trial",
        allow_exact_matches=False,
    )
    pairs = pairs[pairs["question"].notna()]
    phases = pairs.get("phase", pd.Series("", index=pairs.index)).astype(str)
    order = np.lexsort((pairs["ask"].to_numpy(float), ~phases.str.contains(_CONFIDENCE).to_numpy(bool)))
    pairs = pairs.assign(confidence_phase=phases).iloc[order].drop_duplicates(["unit_trial", "question"])
    known = pairs.set_index(["unit_trial", "question"])
    places = known.index.get_indexer(pd.MultiIndex.from_arrays([table["unit_trial"], table["ask"]]))
    places[unscored | ~placed | table["_intrusion"].to_numpy(bool)] = -1
    added: dict[str, Any] = {}
    for name, source in zip(ADDED, ("confidence", "scale_from", "scale_to", "confidence_phase"), strict=True):
        values = np.full(
            len(known) + 1, np.nan, dtype=object if name == "confidence_phase" else float
        )  # the last one is for rows without a rating
        values[:-1] = known.get(source, np.nan)
        values = values[places]
        if name in table.columns:  # of ratings that are answers themselves
            values = np.where(places < 0, table[name].to_numpy(), values)
        added[name] = values
    return table.assign(**added), len(pairs)


def in_steps(items: pd.DataFrame, most: int = 11, steps: int = 10) -> pd.DataFrame:
    """Items whose confidence on a scale of more than ``most`` numbers (a slider) is the middle of
    one of as many equal parts as ``steps``."""
    low, high, confidence = (items[name].to_numpy(float) for name in ("confidence_from", "confidence_to", "confidence"))
    with np.errstate(invalid="ignore"):
        wide = (high - low + 1 > most) & np.isfinite(confidence)
        part = np.minimum(np.floor((confidence - low) / (high - low) * steps), steps - 1)
        middle = low + (part + 0.5) * (high - low) / steps
    return items.assign(confidence=np.where(wide, middle, confidence))
