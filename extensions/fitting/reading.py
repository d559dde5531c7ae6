"""Answers of people and machines from the response table, each kind as its models need them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spanlab.analysis.data import decoded, listed, plain_name, plural
from spanlab.analysis.effects import question_of
from spanlab.analysis.nback import published_blocks
from spanlab.analysis.stats import testable
from spanlab.core import SpanLabError, kind_named
from spanlab.sessions import same_trials

from .markers import ROLES, roles_asked
from .trials import Trials, given_before

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from spanlab.analysis.data import Data, SessionFacts

#: In place of data: the answers of language models that the N-back study published.
PUBLISHED = "published:nback"
#: Above this share of omitted and invalid answers the result says so first; above the other there is none.
NOTED, WITHHELD = 0.1, 0.3
#: Degrees of the circle that errors are fitted on.
FULL = 360.0
#: So many agents are named with what was left out of their answers; more are counted together.
_NAMED = 4


@dataclass(frozen=True)
class Answerer:
    """The answers of one person or machine in one paradigm.

    Parameters
    ----------
    name : the person's identifier, or the machine's name
    person : whether it is a person
    """

    paradigm: str
    name: str
    person: bool
    trials: Trials


def answerers(data: Data) -> tuple[list[Answerer], list[str]]:
    """Everybody whose answers are of a kind that models can be fitted to, without sessions of chat
    models of which more than 20 % of the replies could not be read.

    Returns
    -------
    (answerers, sentences on what was left out)

    Raises
    ------
    SpanLabError
        when there are no such answers.
    """
    everybody: list[Answerer] = []
    notes: list[str] = []
    for paradigm, part in data.scored.parts.items():
        items = testable(part).items
        answered = ~items["outcome"].isin(["omitted", "invalid"]).to_numpy()
        if not answered.all():
            notes.append(f"{_left_out(items, answered, paradigm)} left out: the models describe answers.")
        lost = 1 - answered.mean() if len(answered) else 1.0
        if lost > WITHHELD and not data.scored.accept_unread:
            notes.append(f"{paradigm} is left out: {lost:.0%} of its answers are omitted or invalid.")
            continue
        if lost > NOTED:
            notes.insert(0, f"{paradigm}: {lost:.0%} of the answers are left out: estimates are of the others.")
        notes += _put_together(items, paradigm)
        try:
            everybody += _of_paradigm(items, answered, paradigm, data.sessions, notes)
        except SpanLabError as error:
            notes.append(f"{paradigm} is left out: {error}.")
    if not everybody:
        raise SpanLabError("no answers that a model can be fitted to. " + " ".join(notes))
    return everybody, notes


def _left_out(items: pd.DataFrame, answered: np.ndarray, paradigm: str) -> str:
    """Return how many answers of a paradigm are omitted or invalid, and whose they are."""
    lost = (~answered).astype(int)
    by_name = items.assign(_lost=lost).groupby(items["agent"].astype(str), sort=True)["_lost"].agg(["sum", "size"])
    shares = [f"{row['sum']} of {row['size']} of {name}" for name, row in by_name.iterrows() if row["sum"]]
    whose = f" ({', '.join(shares)})" if len(shares) <= _NAMED else ""
    return f"{paradigm}: {plural(int(lost.sum()), 'omitted or invalid answer')}{whose}"


def _of_paradigm(
    items: pd.DataFrame, answered: np.ndarray, paradigm: str, sessions: Sequence[SessionFacts], notes: list[str]
) -> list[Answerer]:
    """The answerers of a paradigm; the kind of its answers follows from its columns."""
    read, lists = _reader(items[answered], paradigm, sessions, notes)
    items = items.assign(_answered=answered)[answered | lists]
    everybody = []
    who = (
        items["participant"]
        .astype(str)
        .where(items["agent_kind"].map(lambda kind: kind_named(str(kind)).person), items["agent"].astype(str))
    )
    for (kind, name), rows in items.groupby([items["agent_kind"], who], sort=True, observed=True):
        trials = read(rows)
        if len(trials):
            everybody.append(Answerer(paradigm, str(name), kind_named(str(kind)).person, trials))
        else:
            notes.append(f"{paradigm}: {name} has no list that was asked for as a whole.")
    return everybody


def _put_together(items: pd.DataFrame, paradigm: str) -> list[str]:
    """Which conditions a fit does not tell apart, as a sentence."""
    factors = [name for name in items.columns if name.startswith("factor_") and items[name].nunique() > 1]
    names = [plain_name(name) for name in factors if name != "factor_n"]
    return [f"{paradigm}: answers at all levels of {listed(names)} are fitted together."] if names else []


def _reader(items: pd.DataFrame, paradigm: str, sessions: Sequence[SessionFacts], notes: list[str]) -> tuple[Any, bool]:
    """Return a reader of somebody's answers in a paradigm, and whether it wants those that were
    omitted, too: of a list, the other answers stay."""
    if "error" in items.columns and items["error"].notna().any():
        period = float(items["period"].max())
        if period != FULL:
            notes.insert(
                0,
                f"{paradigm}: the scale repeats after {period:g}°. Here degrees are those of the whole circle,"
                f" {FULL / period:g} times as many as those of the scale, which figures have.",
            )
        return _report, False
    try:
        words, sensitivity = question_of(items, (), paradigm, "model")
    except SpanLabError:
        words, sensitivity = ("", ""), None
    if sensitivity is None:
        if items["serial_position"].isna().all():
            roles = _roles([facts.folder for facts in sessions if facts.paradigm == paradigm])
            return (lambda rows: _updating(rows, roles)), False
        given = np.array([one is not None for one in _decoded(items["answer"])], bool)
        once = not items[given].duplicated(["unit_trial", "answer"]).any()
        options = 0
        if items["chance"].isna().any():
            options = len({*_decoded(items["answer"])} | {*_decoded(items["correct_answer"])})
            notes.append(
                f"{paradigm} does not say how many answers could be given (chance): {options} are taken, which are"
                " those that occur."
            )
        return (lambda rows: _order(rows, once, options)), True
    if sensitivity.kind != "detection":
        raise SpanLabError("models of yes-no questions are not for choices between two sides")
    ratings = np.unique(items.filter(["confidence"]).dropna())
    return (lambda rows: _detection(rows, words, ratings)), False


def _decoded(column: pd.Series) -> np.ndarray:
    """Values that stand in a column as JSON text; other text stands for itself."""
    values = {text: _value(text) for text in column.unique()}
    whole = np.empty(len(column), dtype=object)
    whole[:] = [values[text] for text in column]
    return whole


def _value(text: Any) -> Any:
    if not isinstance(text, str) or not text:
        return None
    try:
        return json.loads(text)
    except ValueError:
        return text


def _load(rows: pd.DataFrame) -> np.ndarray:
    """Set size, else n of N-back, else list length, else 1."""
    n = decoded(rows["factor_n"]) if "factor_n" in rows.columns else rows["list_length"]
    return rows["set_size"].fillna(n).fillna(rows["list_length"]).fillna(1).to_numpy(int)


def _report(rows: pd.DataFrame) -> Trials:
    """Errors, and the other items' values around the target, in radians of the whole circle."""
    turn = 2 * np.pi / rows["period"].to_numpy(float)
    others = np.full((len(rows), max((int(_load(rows).max()) - 1), 0)), np.nan)
    if "non_targets" in rows.columns:
        targets = _decoded(rows["correct_answer"])
        for row, values in enumerate(_decoded(rows["non_targets"])):
            shown = np.asarray(values if values is not None else [], float)
            others[row, : len(shown)] = (shown - float(targets[row])) * turn[row]
    errors = np.angle(np.exp(1j * rows["error"].to_numpy(float) * turn))
    return Trials("report", _load(rows), rows["unit_trial"].to_numpy(int), errors, {"others": others})


def _detection(rows: pd.DataFrame, words: tuple[str, str], ratings: np.ndarray) -> Trials:
    """Read whether there was a signal, and how sure one was that there was."""
    signal = _decoded(rows["correct_answer"]) == words[0]
    said = signal == (rows["correct"].to_numpy(float) == 1)
    answer, levels = said.astype(int), 2
    if len(ratings):
        rated = rows["confidence"].notna().to_numpy()
        rows, signal, said = rows[rated], signal[rated], said[rated]
        sure = np.searchsorted(ratings, rows["confidence"].to_numpy(float))
        levels = 2 * len(ratings)
        answer = np.where(said, len(ratings) + sure, len(ratings) - 1 - sure)
    beside = {"signal": signal.astype(int), "size": np.full(len(rows), np.pi)}
    kind = "change" if words == ("different", "same") and rows["set_size"].notna().all() else "detection"
    return Trials(kind, _load(rows), rows["unit_trial"].to_numpy(int), answer, beside, levels)


def _order(rows: pd.DataFrame, once: bool, options: int) -> Trials:
    """Read which item of the list was given; only lists that were asked for as a whole, and have no
    item twice. Omitted answers are left out, and the others of their list stay.

    Parameters
    ----------
    once : whether nothing may be given twice in a trial: nobody ever did
    options : how many answers could be given, where chance does not tell
    """
    rows = rows[rows["serial_position"].notna()].assign(
        _output=rows["output_position"].fillna(rows["ask"]).astype(float)
    )
    rows = rows.sort_values(["unit_trial", "_output"], kind="stable")
    right, given = _decoded(rows["correct_answer"]), _decoded(rows["answer"])
    position = rows["serial_position"].to_numpy(int)
    load, trial = _load(rows.assign(set_size=np.nan)), rows["unit_trial"].to_numpy(int)
    answer, whole = np.zeros(len(rows), int), np.zeros(len(rows), bool)
    stage = np.zeros(len(rows), int)
    for number in np.unique(trial):
        at = np.flatnonzero(trial == number)
        items = {json.dumps(right[row]): int(position[row]) for row in at}
        if len(items) == len(at) == load[at[0]] and set(position[at]) == set(range(1, len(at) + 1)):
            whole[at], stage[at] = True, np.arange(len(at))
            answer[at] = [items.get(json.dumps(given[row]), 0) for row in at]
    told = np.round(1 / rows["chance"].to_numpy(float))
    many = np.maximum(np.where(np.isfinite(told), told, options), load).astype(int)
    beside = {
        "position": position,
        "stage": stage,
        "options": many,
        "once": np.full(len(rows), int(once)),
        "given": given_before(trial, answer, int(load.max(initial=1))),
    }
    there = rows["_answered"].to_numpy(bool) & np.array([one is not None for one in given], bool)
    return Trials("order", load, trial, answer, beside).take(np.flatnonzero(whole & there))


def _roles(folders: Sequence[Path]) -> dict[str, list[list[int]]]:
    """Return what each cell is in each question, of each trial by its identity. The trials of the
    sessions are made again.

    Raises
    ------
    SpanLabError
        when their questions are not about markers that were moved, or the trials cannot be made
        again.
    """
    roles: dict[str, list[list[int]]] = {}
    for folder in folders:
        session = same_trials(folder)
        for planned in session.plan:
            trial = planned.compile(session.paradigm, session.info["generator"])
            if trial.trial_id not in roles:
                roles[trial.trial_id] = roles_asked(step.percept for step in trial.steps)
    if not roles:
        raise SpanLabError(
            "its answers are neither on a circle, nor yes or no, nor lists in order; "
            "where markers were moved is read from the folders of sessions, not from tables"
        )
    return roles


def _updating(rows: pd.DataFrame, roles: Mapping[str, list[list[int]]]) -> Trials:
    """The role of the cell that was given.

    Raises
    ------
    SpanLabError
        when an answer is none to the questions of its trial.
    """
    trials = rows["trial_id"].astype(str)
    if not set(trials) <= set(roles):
        raise SpanLabError(
            "some of its trials are not those of its sessions: give the folders of all of them, without tables beside"
            " them"
        )
    cells = np.array([roles[trial][int(ask) - 1] for trial, ask in zip(trials, rows["ask"], strict=True)])
    answer, right = (_decoded(rows[name]).astype(int) for name in ("answer", "correct_answer"))
    each = np.arange(len(rows))
    if not (cells[each, right] == 1).all():
        raise SpanLabError("its right answers are not where its markers were moved to")
    counts = np.stack([(cells == role).sum(1) for role in range(len(ROLES))], axis=1)
    return Trials("updating", _load(rows), rows["unit_trial"].to_numpy(int), cells[each, answer], {"cells": counts})


def published(variants: Sequence[str] = ()) -> list[Answerer]:
    """The published N-back answers of language models, from the counts of their blocks: each
    variant is a paradigm, n the load."""
    everybody = []
    for (variant, model), blocks in published_blocks().groupby(["variant", "model"], sort=True):
        if variants and variant not in variants:
            continue
        counts = blocks[["hits", "misses", "false_alarms", "correct_rejections"]].to_numpy(int)
        row, cell = np.divmod(np.repeat(np.arange(counts.size), counts.ravel()), 4)
        load = blocks["n"].to_numpy(int)[row]
        signal, answer = (cell < 2).astype(int), np.isin(cell, (0, 2)).astype(int)
        everybody.append(
            Answerer(str(variant), str(model), False, Trials("detection", load, row, answer, {"signal": signal}))
        )
    return everybody
