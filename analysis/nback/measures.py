"""N-back: hits, false alarms, accuracy and d' of every block, and of every cell (agent, N, ...), by
named rules.

A block is a trial of the record: a run of items, some of which match the one N back. An item is
known as such by its recorded value ``match``, whatever the paradigm. A *hit* is a match that was
called a match, a *false alarm* an item that does not match and was called a match. A *lure* does
not match but would match the item N-1 or N+1 back (recorded as ``lure_lag``).

Two sets of rules are declared, :data:`OURS` and :data:`PUBLISHED`; tables always hold d' both
signed and absolute.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from ...core.errors import in_number
from ..data.coding import decoded, first_rows, numbers
from ..data.scoring import SAME_TRIAL, UNIT_SESSION, WHO, Scored, as_scored, has_blocks, plural
from ..stats.signal_detection import Correction, detection


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules by which blocks are scored.

    Parameters
    ----------
    name : of the rules
    correction : of rates of 0 and 1, see :mod:`.signal_detection`
    first_n : whether the first N items of a block count; they have nothing to match, so they can
        only be false alarms or correct rejections
    prefilled : whether answers count that were never asked for (imported results mark them
        ``prefilled``)
    unanswered : what an omitted or invalid answer is. ``miss``: to a match it is a miss, to another
        item it is in no count, so that silence never helps; ``no match``: it counts as if the item
        had been said not to match; ``left out``: it is in no count. In accuracy it is wrong under
        all three
    dprime : the measure that stands for d' in figures. ``dprime_pooled``: of summed counts;
        ``dprime``, ``dprime_abs``: mean over blocks
    ddof : 1 for standard errors from the sample's standard deviation, 0 for the population's
    """

    name: str
    correction: Correction
    first_n: bool
    prefilled: bool
    unanswered: Literal["miss", "no match", "left out"]
    dprime: Literal["dprime_pooled", "dprime", "dprime_abs"]
    ddof: Literal[0, 1]


OURS = Rules("spanlab", "log-linear", first_n=False, prefilled=False, unanswered="miss", dprime="dprime_pooled", ddof=1)
#: Of Gong, Wan and Wang (AAAI 2024), as their code has it.
PUBLISHED = Rules("published", "clip", first_n=True, prefilled=True, unanswered="no match", dprime="dprime_abs", ddof=0)

#: The four counts of signal detection.
COUNTS = ("hits", "misses", "false_alarms", "correct_rejections")
#: False alarms on lures and on other items that do not match, from the item on that has one N back;
#: ``before`` lures would match N-1 back, ``after`` N+1 back.
LURE_COUNTS = (
    "lures",
    "lure_alarms",
    "before_lures",
    "before_alarms",
    "after_lures",
    "after_alarms",
    "plain",
    "plain_alarms",
)
#: Size of the grid, where a paradigm has several.
GRID = "factor_grid"
#: Columns of a table of blocks after who, ``by`` and n.
BLOCK_COLUMNS = (
    *COUNTS,
    *LURE_COUNTS,
    "n_items",
    "n_correct",
    "n_omitted",
    "n_invalid",
    "n_first_left_out",
    "n_prefilled_left_out",
    "chance",
    "hit_rate",
    "false_alarm_rate",
    "accuracy",
    "dprime",
    "dprime_abs",
    "criterion",
)


def nback_blocks(
    responses: pd.DataFrame | Scored, rules: Rules = OURS, *, by: Sequence[str] = (), who: Sequence[str] = WHO
) -> pd.DataFrame:
    """Every block of every agent: its counts, rates, d' and criterion.

    Parameters
    ----------
    responses : a response table (practice, pilot and warm-up rows are then left out), or one that
        :func:`score_table` has sorted
    rules : how blocks are scored
    by : further columns to carry along, such as ``("factor_grid", "factor_lures")``
    who : columns that tell agents apart

    Returns
    -------
    pandas.DataFrame
        ``who``, ``participant``, ``session``, ``unit_trial`` (the block), ``oracle``, ``by``, ``n``
        and :data:`BLOCK_COLUMNS`; empty when there are no blocks. Rates are proportions, NaN where
        nothing was counted.
    """
    items = as_scored(responses).items
    head = list(dict.fromkeys([*who, "participant", "session", "unit_trial", UNIT_SESSION, SAME_TRIAL, "oracle", *by]))
    if not has_blocks(items):
        return pd.DataFrame(
            columns=[*(name for name in head if name not in (UNIT_SESSION, SAME_TRIAL)), "n", *BLOCK_COLUMNS]
        )
    items, matching, back = _judged(items)
    code, names = pd.factorize(items["unit_trial"])
    first = first_rows(code, len(names))
    answers = _sorted_answers(items, matching, back, rules)
    counts = {
        name: np.bincount(code[which], minlength=len(first)) for name, which in answers.items() if name != "counted"
    }
    counted = answers["counted"]
    chance = np.bincount(code[counted], weights=items["chance"].to_numpy(float)[counted], minlength=len(first))
    blocks = items.iloc[first][[name for name in head if name in items.columns]].reset_index(drop=True)
    for name in by:
        blocks[name] = decoded(blocks[name]) if name in blocks.columns else None
    with np.errstate(invalid="ignore", divide="ignore"):
        return measured(blocks.assign(n=back[first].astype(int), **counts, chance=chance / counts["n_items"]), rules)


def _judged(items: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Return the items of N-back blocks, whether each matches, and N."""
    match = numbers(items["record_match"])
    back = numbers(items.get("factor_n", pd.Series(np.nan, index=items.index)))
    back = np.where(np.isnan(back), items["set_size"].to_numpy(float), back)
    known = ~np.isnan(match) & ~np.isnan(back)
    return items[known], match[known] == 1, back[known]


def _sorted_answers(items: pd.DataFrame, matching: np.ndarray, back: np.ndarray, rules: Rules) -> dict[str, np.ndarray]:
    """Return which items belong to each count, by the name of the count; ``counted`` are all that
    belong to any but the last two."""
    has_back = ~(
        items["serial_position"].fillna(items["ask"]).to_numpy(float) <= back
    )  # without positions every item counts
    nothing = pd.Series(np.nan, index=items.index)
    given = numbers(items.get("record_prefilled", nothing)) == 1
    in_time = has_back | rules.first_n
    counted = in_time & (~given | rules.prefilled)
    right = items["correct"].to_numpy(float) == 1
    omitted, invalid = (items["outcome"].eq(outcome).to_numpy() for outcome in ("omitted", "invalid"))
    answered = ~(omitted | invalid)
    match_response = answered & (matching == right)
    miss, rejection = answered & matching & ~match_response, answered & ~matching & ~match_response
    if rules.unanswered != "left out":
        miss |= ~answered & matching
    if rules.unanswered == "no match":
        rejection |= ~answered & ~matching
    lag = numbers(items.get("record_lure_lag", nothing))
    alarm = match_response & ~matching
    foil = (alarm | rejection) & has_back
    lure, before = foil & ~np.isnan(lag), foil & (lag < back)
    after = lure & ~before
    answers = {
        "hits": match_response & matching,
        "misses": miss,
        "false_alarms": alarm,
        "correct_rejections": rejection,
        "lures": lure,
        "lure_alarms": lure & alarm,
        "before_lures": before,
        "before_alarms": before & alarm,
        "after_lures": after,
        "after_alarms": after & alarm,
        "plain": foil & ~lure,
        "plain_alarms": foil & ~lure & alarm,
        "n_items": np.ones(len(items), bool),
        "n_correct": right,
        "n_omitted": omitted,
        "n_invalid": invalid,
        "counted": counted,
    }
    left_out = {"n_first_left_out": ~in_time, "n_prefilled_left_out": given & ~counted & in_time}
    return {name: which & counted for name, which in answers.items()} | left_out


def gridded_blocks(part: Scored, rules: Rules) -> pd.DataFrame:
    """The blocks of one paradigm, with the size of their grid (:data:`GRID`) where they have one;
    counted once for each set of rules."""
    gridded = GRID in part.items.columns and bool(part.items[GRID].notna().any())
    return part.once(("blocks", rules), lambda: nback_blocks(part, rules, by=(GRID,) if gridded else ())).copy()


def measured(blocks: pd.DataFrame, rules: Rules = OURS) -> pd.DataFrame:
    """A table of blocks with rates, d' and criterion from its four counts; accuracy from
    ``n_correct`` of ``n_items`` where these are there."""
    rates = detection(*(blocks[name].to_numpy(float) for name in COUNTS), correction=rules.correction)
    accuracy = rates.accuracy
    if "n_correct" in blocks.columns:
        with np.errstate(invalid="ignore"):
            accuracy = blocks["n_correct"].to_numpy(float) / blocks["n_items"].to_numpy(float)
    return blocks.assign(
        hit_rate=rates.hit_rate,
        false_alarm_rate=rates.false_alarm_rate,
        accuracy=accuracy,
        dprime=rates.dprime,
        dprime_abs=rates.dprime_abs,
        criterion=rates.criterion,
    )


def describe_exceptions(blocks: pd.DataFrame, rules: Rules = OURS) -> list[str]:
    """Return how answers were counted that are exceptions to the rules, in plain sentences."""
    first, given = int(blocks["n_first_left_out"].sum()), int(blocks["n_prefilled_left_out"].sum())
    omitted, invalid = int(blocks["n_omitted"].sum()), int(blocks["n_invalid"].sum())
    notes = []
    if first:
        notes.append(
            f"{plural(first, 'item')} at the start of blocks, with no item N back, left out of hits, false alarms"
            " and d′."
        )
    if given:
        notes.append(
            f"{plural(given, 'answer')} that {in_number(given, 'was', 'were')} never asked for (written in by the"
            " study) left out."
        )
    if omitted or invalid:
        treated = {
            "miss": "to a match it is a miss; to another item it is in no count of false alarms",
            "no match": "it counts as if the item had been said not to match",
            "left out": "it is neither hit nor miss, neither false alarm nor correct rejection",
        }[rules.unanswered]
        notes.append(
            f"{plural(omitted, 'omitted answer')}, {plural(invalid, 'invalid answer')}: {treated}; in accuracy it is"
            " wrong."
        )
    nothing = blocks["hit_rate"].isna() | blocks["false_alarm_rate"].isna()
    if nothing.any():
        notes.append(
            f"{plural(int(nothing.sum()), 'block')} without any counted match, or without any other item: no d′ of its"
            " own."
        )
    return notes
