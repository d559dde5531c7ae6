"""Recall of lists: transpositions and kinds of errors in serial recall; first recalls, transitions
(lag-CRP) and temporal clustering in free recall.

Free recall has an order of answers only where somebody gives them one after the other: people and
chat models. Its baseline shuffles the serial positions of the recalled items among themselves, so
that the answers, and with them all spatial distances between one and the next, and the set of
positions that were recalled stay as they are: what is above the baseline is neither nearness in
space nor better memory for some positions.

Lag-CRP: Kahana (1996, Memory & Cognition 24, 103-109). Temporal clustering is the mean percentile
rank of each transition's lag among those that were possible (Polyn, Norman & Kahana, 2009,
Psychological Review 116, 129-156). In both, an intrusion between two items parts them, and what has
been recalled is possible no more.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from ...core.agent_kinds import KINDS
from ..data.coding import decoded, groups, in_short, mean_or_nan
from ..data.scoring import WHO, Scored
from .reaction_times import KINDS as TIMED
from .transforms import TRIAL, in_order, recalls

#: Who gives answers one after the other; trials that nobody has taken yet have no kind.
IN_ORDER = (*TIMED, *(kind.name for kind in KINDS if kind.converses), "")
ERRORS = ("transposition", "intrusion", "omission")
CLUSTERING = ("as recalled", "shuffled")
LIST_SCORES = ("items in place", "whole list", "edit score")
#: Shuffles of each trial for its baseline.
SHUFFLES = 10


def _serial(scored: Scored) -> tuple[pd.DataFrame, np.ndarray, np.ndarray, np.ndarray]:
    """Whole lists of serial recall: items, the number of each one's trial, whether it was answered,
    and the position that its answer belongs to (0: none).

    A list is serial recall where each of its positions is asked for by itself, or all of them by
    one sequence, and every item has an answer of its own; else answers name no items.
    """
    rows, number, answered, given = scored.once(_lists, lambda: _lists(scored.items))
    return scored.items.iloc[rows].reset_index(drop=True), number, answered, given


def _lists(items: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The rows of whole lists of serial recall, and what :func:`_serial` returns of each."""
    asked = (
        items["serial_position"].notna()
        & items["list_length"].notna()
        & (items["output_position"].isna() | in_order(items))
    )
    rows = np.flatnonzero(asked)
    items = items.iloc[rows]
    nothing = np.empty(0, int), np.empty(0, int), np.empty(0, bool), np.empty(0, int)
    question, _ = groups(items, TRIAL)
    sequence = in_order(items).to_numpy(bool)
    if (
        not len(items) or (np.bincount(question[~sequence], minlength=1) > 1).any()
    ):  # one question about a whole list is free recall
        return nothing
    number, first = groups(items, [name for name in TRIAL if name not in ("step", "ask")])
    place = items["serial_position"].to_numpy(float).astype(int)
    length = items["list_length"].to_numpy(float)
    kept = ((np.bincount(number) == length[first]) & (length[first] > 1))[number]
    truth, given = _as_text(items["correct_answer"]), _as_text(items["answer"])
    where: dict[tuple[int, str], int] = {}
    for trial, answer, at in zip(number[kept], truth[kept], place[kept], strict=True):
        if where.setdefault((int(trial), answer), int(at)) != at:
            return nothing
    # an item of a sequence that was left open, or not reached, is an omission
    answered = ~items["outcome"].isin(["omitted", "invalid"]).to_numpy() & ~(
        sequence & items["answer"].isna().to_numpy()
    )
    answer_position = [
        where.get((int(trial), answer), 0) if responded else 0
        for trial, answer, responded in zip(number, given, answered, strict=True)
    ]
    return rows[kept], number[kept], answered[kept], np.array(answer_position, int)[kept]


def _as_text(column: pd.Series) -> np.ndarray:
    """Answers as text."""
    codes, answers = pd.factorize(column, use_na_sentinel=False)
    return np.array([*map(in_short, decoded(pd.Series(answers)))], dtype=object)[codes]


def answer_places(scored: Scored) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Whole lists of serial recall in their order: the number of each item's trial, its position, and
    the position that its answer belongs to (0: none)."""
    items, number, _, given = _serial(scored)
    place = items["serial_position"].to_numpy(int)
    order = np.lexsort([place, number])
    return number[order], place[order], given[order]


def transpositions(scored: Scored) -> Scored:
    """For every item and every distance at which the list has other items: how often one of these
    was answered instead, for each of them (``distance``)."""
    items, _, _, answer_position = _serial(scored)
    if not len(items):
        return Scored(items.assign(distance=np.nan), scored.intrusions, scored.notes)
    place, length = items["serial_position"].to_numpy(int), items["list_length"].to_numpy(int)
    distances = np.arange(1, int(length.max(initial=1)))[:, None]
    others = (place - distances >= 1).astype(int) + (place + distances <= length)
    moved = (answer_position > 0) & (np.abs(answer_position - place) == distances)
    at, item = np.nonzero(others)
    return Scored(
        items.take(item).reset_index(drop=True).assign(distance=at + 1, correct=moved[at, item] / others[at, item]),
        scored.intrusions,
        scored.notes,
    )


def error_kinds(scored: Scored) -> Scored:
    """Three rows for each item: whether another item of the list was answered, something that was
    not in it, or nothing (``error``)."""
    items, _, answered, answer_position = _serial(scored)
    place = items["serial_position"].to_numpy(float)
    which = {
        "transposition": (answer_position > 0) & (answer_position != place),
        "intrusion": answered & (answer_position == 0),
        "omission": ~answered,
    }
    chance = items["chance"].to_numpy(float)
    length = items["list_length"].to_numpy(float)
    odds = {"transposition": (length - 1) * chance, "intrusion": 1 - length * chance, "omission": np.zeros(len(items))}
    several = items.take(np.tile(np.arange(len(items)), len(ERRORS))).reset_index(drop=True)
    error = pd.Series(ERRORS).array.repeat(len(items))
    correct, odd = (np.concatenate([one[name] for name in ERRORS]).astype(float) for one in (which, odds))
    return Scored(several.assign(error=error, correct=correct, chance=odd), scored.intrusions, scored.notes)


def list_scores(scored: Scored) -> Scored:
    """Three rows for each answer in order: share of items in their places, whether all of them are,
    and what is left of the list after edits (``score``)."""
    items = scored.items[in_order(scored.items)]
    number, first = groups(items, TRIAL)
    heads = items.iloc[first]
    many = np.bincount(number, minlength=len(first)).astype(float)
    right = np.bincount(number, weights=items["correct"].to_numpy(float), minlength=len(first))
    edits = heads["edit_distance"].to_numpy(float)
    values = {
        "items in place": right / many,
        "whole list": ((right == many) & (edits == 0)).astype(float),
        "edit score": np.maximum(0.0, 1 - edits / many),
    }
    guessing = {"items in place": heads["chance"]}
    parts = [
        heads.assign(score=name, asked_for=many, correct=values[name], chance=guessing.get(name, np.nan))
        for name in LIST_SCORES
    ]
    return Scored(
        pd.concat(parts, ignore_index=True) if len(items) else heads.assign(score="", asked_for=np.nan),
        scored.intrusions,
        scored.notes,
    )


def _outputs(scored: Scored) -> tuple[pd.DataFrame, list[np.ndarray]]:
    """Trials of free recall by somebody who answers in order: their first items, and of each the
    positions of its answers in their order (0: an intrusion)."""
    both, number, first = recalls(Scored(_in_order(scored.items), _in_order(scored.intrusions), scored.notes))
    output = both["output_position"].to_numpy(float)
    place = np.where(both["_item"].to_numpy(bool), both["serial_position"].to_numpy(float), 0.0)
    given = np.isfinite(output)
    order = np.lexsort([output[given], number[given]])
    place = place[given][order].astype(int)
    cuts = np.searchsorted(number[given][order], np.arange(len(first) + 1)).tolist()
    return both.iloc[first], [place[start:end] for start, end in pairwise(cuts)]


def _in_order(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["agent_kind"].isin(IN_ORDER)]


def first_recalls(scored: Scored) -> Scored:
    """Every position of every list with an answer: whether it was recalled first."""
    items = _in_order(scored.items)
    items = items[items["serial_position"].notna() & items["list_length"].notna() & ~in_order(items)]
    number, first = groups(items, TRIAL)
    has_recall = np.bincount(number, weights=items["output_position"].notna().to_numpy(float), minlength=len(first)) > 0
    chance = items["chance"].to_numpy(float) / items["list_length"].to_numpy(float)
    kept = has_recall[number] if len(items) else np.empty(0, bool)
    return Scored(
        items.assign(correct=(items["output_position"] == 1).to_numpy(float), chance=chance)[kept],
        scored.intrusions,
        scored.notes,
    )


def transitions(answers: Sequence[int], length: int) -> list[tuple[int, list[int]]]:
    """From each recalled item to the next one: the lag, and all lags that were possible. Answers
    that are not items, or repeated, are 0 or left out."""
    lags_taken, seen = [], set[int]()
    for here, there in pairwise(answers):
        if here:
            seen.add(here)
        if here and there and there not in seen:
            lags_taken.append((there - here, [place - here for place in range(1, length + 1) if place not in seen]))
    return lags_taken


def lag_counts(answers: Sequence[int], length: int) -> tuple[np.ndarray, np.ndarray]:
    """Return how often each lag (from ``1 - length`` to ``length - 1``) was taken, and how often it
    was possible."""
    taken, possible = np.zeros(2 * length - 1), np.zeros(2 * length - 1)
    for lag, lags in transitions(answers, length):
        taken[lag + length - 1] += 1
        possible[np.array(lags) + length - 1] += 1
    return taken, possible


def clustering(answers: Sequence[int], length: int) -> float:
    """The mean percentile rank of lags, nearer ones ranked higher; NaN where no transition had a
    choice."""
    ranks = []
    for lag, lags in transitions(answers, length):
        if len(lags) > 1:
            away = np.abs(lags)
            ranks.append((float((away > abs(lag)).sum()) + (float((away == abs(lag)).sum()) - 1) / 2) / (len(lags) - 1))
    return mean_or_nan(np.array(ranks))


def _shuffled(answers: np.ndarray, of: Callable[[Sequence[int]], Any]) -> Any:
    """The mean of something over shuffles of the recalled positions among themselves; the same for
    the same answers."""
    random = np.random.RandomState(zlib.crc32(answers.astype(np.int64).tobytes()))
    at = np.flatnonzero(answers)
    values = []
    for _ in range(SHUFFLES):
        again = answers.copy()
        again[at] = random.permutation(answers[at])
        values.append(of(again.tolist()))
    table = np.array(values, float)
    known = np.isfinite(table)
    return np.divide(
        np.where(known, table, 0.0).sum(axis=0),
        known.sum(axis=0),
        out=np.full(table.shape[1:], np.nan),
        where=known.any(axis=0),
    )


def lag_rows(scored: Scored) -> Scored:
    """For each list, a row for every lag that was possible (``lag``): how often it was taken and possible, and
    how often by shuffled positions (``taken``, ``possible``, ``by_chance``, ``possible_by_chance``)."""
    heads, outputs = _outputs(scored)
    lengths = heads["list_length"].to_numpy(float).astype(int)
    rows = []
    for number in np.flatnonzero([len(answers) > 1 for answers in outputs]):  # others have no transition
        answers, length = outputs[number], int(lengths[number])

        def of(given: Sequence[int], length: int = length) -> np.ndarray:
            return np.array(lag_counts(given, length))

        counts = of(answers.tolist())
        there = np.flatnonzero(counts[1])
        if len(there):
            counted = np.concatenate([counts, _shuffled(answers, of)])[:, there]
            rows.append(np.vstack([np.full(len(there), number), there - length + 1, counted]))
    table = np.concatenate([np.empty((6, 0)), *rows], axis=1)
    names = ("lag", "taken", "possible", "by_chance", "possible_by_chance")
    return Scored(
        heads.iloc[table[0].astype(int)].assign(**dict(zip(names, table[1:], strict=True))),
        scored.intrusions,
        scored.notes,
    )


def lags(scored: Scored) -> Scored:
    """For each list, a row for every lag that was possible, see :func:`pooled`."""
    return pooled(lag_rows(scored))


def pooled(scored: Scored) -> Scored:
    """Lists of :func:`lag_rows` with what each adds to the probability of a lag: how often somebody took it
    in all lists of this length, of how often it was possible (Kahana, 1996). The mean over lists is this
    ratio, and their variance is that of a ratio.
    """
    items = scored.items
    person = items["participant"].astype(str)
    keys = [*WHO, "list_length", "lag", person.where(person != "", items["session"].astype(str))]
    means = items.groupby(keys, observed=True)[["taken", "possible", "by_chance", "possible_by_chance"]].transform(
        "mean"
    )
    share = means["taken"] / means["possible"]
    adds = (items["taken"] - share * items["possible"]) / means["possible"]
    chance = means["by_chance"] / means["possible_by_chance"]
    return Scored(items.assign(correct=share + adds, chance=chance), scored.intrusions, scored.notes)


def clusters(scored: Scored) -> Scored:
    """Two rows for each list with transitions: its temporal clustering as it was, and with shuffled
    positions (``clustering``)."""
    heads, outputs = _outputs(scored)
    lengths = heads["list_length"].to_numpy(float).astype(int)
    scores = np.array(
        [clustering(answers.tolist(), int(length)) for answers, length in zip(outputs, lengths, strict=True)], float
    )
    at = np.flatnonzero(np.isfinite(scores))
    baseline = np.array(
        [_shuffled(outputs[one], lambda given, one=one: clustering(given, int(lengths[one]))) for one in at], float
    )
    rows = heads.iloc[at]
    parts = [
        rows.assign(clustering=name, correct=score, chance=0.5)
        for name, score in zip(CLUSTERING, (scores[at], baseline), strict=True)
    ]
    return Scored(pd.concat(parts, ignore_index=True), scored.intrusions, scored.notes)
