"""Rows that effects are averaged over, derived from scored items: which judgements were switches,
what was recalled first, which probes count."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ..data.coding import decoded, groups, numbers
from ..data.ratings import in_steps
from ..data.scoring import Scored
from .curves import list_ends

#: What tells one trial, as it was taken by somebody, from all others.
TRIAL = (
    "session",
    "participant",
    "agent_kind",
    "agent",
    "paradigm",
    "block",
    "practice",
    "trial",
    "trial_id",
    "row_trial",
    "step",
    "ask",
)
#: At most so many items from the end of a list count as its last ones.
LAST = 4


def _with(scored: Scored, items: pd.DataFrame) -> Scored:
    return Scored(items, scored.intrusions, scored.notes)


def ends_of_lists(scored: Scored) -> Scored:
    """How far the first and the last item stand out in each trial with a whole list of three items
    or more, see :func:`list_ends`."""
    return _with(scored, list_ends(scored.items))


def probes(scored: Scored) -> Scored:
    """Questions about stored items, which have a serial position; decisions in between have none."""
    return _with(scored, scored.items[scored.items["serial_position"].notna()])


def domains(scored: Scored) -> Scored:
    """Probes of trials with decisions; ``domains`` says whether these were of the domain of the
    items."""
    items = probes(scored).items
    items = items[numbers(items["factor_load"]) > 0]
    return _with(
        scored,
        items.assign(
            domains=np.where(items["factor_storage"] == items["factor_distractor_domain"], "the same", "the other")
        ),
    )


def conjunctions(scored: Scored) -> Scored:
    """Trials in which any feature may change; ``change`` says which one did."""
    items = scored.items[scored.items["factor_feature"] == "conjunction"]
    changed = items["record_changed_feature"].astype(object)
    return _with(
        scored, items.assign(change=changed.where(changed.notna() & (changed != "none"), "nothing").astype("str"))
    )


def judgements(scored: Scored) -> Scored:
    """Judgements that are not first ones; ``judgement`` is ``one task``, ``repetition`` or
    ``switch``.

    A run has one task when it holds no switch. Runs in which switches were possible and none came
    count as mixed where the record tells that they were possible (``switch_probability``).
    """
    items = scored.items
    switches = (items["record_transition"] == "switch").to_numpy()
    number, first = groups(items, TRIAL[:9])
    mixed = np.bincount(number[switches], minlength=len(first)).astype(bool)[number]
    if "factor_switch_probability" in items.columns:
        possible = decoded(items["factor_switch_probability"])
        mixed = np.where(possible.notna(), possible.fillna(0).to_numpy(float) > 0, mixed)
    kind = np.where(switches, "switch", np.where(mixed, "repetition", "one task"))
    known = items["record_transition"].isin(["switch", "repeat"]).to_numpy()
    items = items.assign(judgement=kind)
    if "record_congruent" in items.columns:
        # Whoever ignores the cues is right where both tasks have the same answer, and guesses
        # elsewhere.
        congruent = numbers(items["record_congruent"])
        items = items.assign(
            cue_ignored=np.where(congruent == 1, 1.0, np.where(congruent == 0, items["chance"].to_numpy(float), np.nan))
        )
    return _with(scored, items[known])


def timed_judgements(scored: Scored) -> Scored:
    """Correct judgements with a reaction time."""
    judged = judgements(scored)
    items = judged.items
    return _with(judged, items[(items["correct"] == 1) & items["rt_ms"].notna()])


def congruences(scored: Scored) -> Scored:
    """Judgements that are not first ones; ``congruence`` says whether both tasks have the same
    answer (``congruent``) or not (``incongruent``)."""
    return _by_congruence(judgements(scored))


def timed_congruences(scored: Scored) -> Scored:
    """Correct judgements with a reaction time, and their ``congruence``."""
    return _by_congruence(timed_judgements(scored))


def _by_congruence(scored: Scored) -> Scored:
    congruent = numbers(scored.items["record_congruent"])
    known = np.isfinite(congruent)
    return _with(scored, scored.items.assign(congruence=np.where(congruent == 1, "congruent", "incongruent"))[known])


def detections(scored: Scored) -> Scored:
    """Questions whether something changed; ``changed`` says whether it had. Silence is a miss, and never a false
    alarm: without a change it tells nothing."""
    items = scored.items
    truth = decoded(items["correct_answer"])
    told = bool(truth.eq("different").any() or truth.dropna().eq("same").all())
    asked = told & (truth.eq("different") | (truth.eq("same") & items["outcome"].isin(["answered", ""])))
    return _with(scored, items[asked].assign(changed=(truth[asked] == "different").to_numpy()))


def in_order(table: pd.DataFrame) -> pd.Series:
    """Return which rows are of an answer in order: of a sequence, which alone has an edit distance
    and the place of each item in it."""
    return table["edit_distance"].notna() & table["output_position"].notna()


def recalls(scored: Scored) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Items and intrusions of free recall in one table, the number of each row's trial, and the
    first item of each trial."""
    items = scored.items[
        scored.items["serial_position"].notna() & scored.items["list_length"].notna() & ~in_order(scored.items)
    ]
    wrong = scored.intrusions
    both = (
        pd.concat([items.assign(_item=True), wrong.assign(_item=False)], ignore_index=True)
        if len(wrong)
        else items.assign(_item=True)
    )
    number, first = groups(both, TRIAL)
    keep = both["_item"].to_numpy(bool)[first][number]  # an intrusion without its trial is nowhere
    if not keep.all():
        both = both[keep].reset_index(drop=True)
        number, first = groups(both, TRIAL)
    return both, number, first


def _cells(trials: pd.DataFrame) -> np.ndarray:
    """Return how many cells could be chosen: chance of an item is the number chosen, which is the
    list length, out of all."""
    chance = trials["chance"].to_numpy(float)
    return np.round(trials["list_length"].to_numpy(float) / np.where(chance > 0, chance, np.nan))


def whole_recall(scored: Scored) -> Scored:
    """Two rows for each trial of free recall: whether the whole list was recalled in any order, and
    in order (``criterion``)."""
    from scipy.special import gammaln

    both, number, first = recalls(scored)
    item, correct = both["_item"].to_numpy(bool), both["correct"].to_numpy(float) == 1
    place, output = both["serial_position"].to_numpy(float), both["output_position"].to_numpy(float)

    def all_of(held: np.ndarray) -> np.ndarray:
        return np.bincount(number[item & held], minlength=len(first)) == trials["list_length"].to_numpy(float)

    trials = both.iloc[first]
    anything = all_of(correct) & (np.bincount(number[~item], minlength=len(first)) == 0)
    ordered = all_of(correct & (output == place)) & anything
    length, cells = trials["list_length"].to_numpy(float), _cells(trials)
    orders = gammaln(cells + 1) - gammaln(cells - length + 1)  # log of the number of ordered answers
    criteria = (("in any order", anything, gammaln(length + 1) - orders), ("in order", ordered, -orders))
    parts = [
        trials.assign(criterion=name, correct=right.astype(float), chance=np.exp(odds))
        for name, right, odds in criteria
    ]
    return _with(scored, pd.concat(parts, ignore_index=True))


def recalled_first(scored: Scored) -> Scored:
    """Four rows for each trial of free recall: whether the first answer was such an item
    (``recalled_first``)."""
    both, number, first = recalls(scored)
    starts = np.flatnonzero(both["output_position"].to_numpy(float) == 1)
    answer = np.full(len(first), -1)
    answer[number[starts]] = starts
    answered = answer >= 0
    trials, given = both.iloc[first[answered]], both.iloc[answer[answered]]
    length, cells = trials["list_length"].to_numpy(float), _cells(trials)
    place, item = (
        given["serial_position"].to_numpy(float),
        given["_item"].to_numpy(bool) & (given["correct"].to_numpy(float) == 1),
    )
    at_start = item & (place == 1)
    at_end = item & ~at_start & (place > length - LAST)
    ends = np.minimum(length - 1, LAST)
    kinds: Sequence[tuple[str, np.ndarray, np.ndarray]] = (
        ("first item", at_start, np.ones(len(length))),
        ("last four", at_end, ends),
        ("another item", item & ~at_start & ~at_end, length - 1 - ends),
        ("not an item", ~item, cells - length),
    )
    parts = [
        trials.assign(recalled_first=name, correct=which.astype(float), chance=many / cells)
        for name, which, many in kinds
    ]
    return _with(scored, pd.concat(parts, ignore_index=True))


def rated_answers(scored: Scored) -> Scored:
    """The items with a rating of confidence; ratings on a slider in ten steps."""
    return _with(scored, in_steps(scored.items[scored.items["confidence"].notna()]))
