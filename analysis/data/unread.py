"""Replies that could not be read: their share, what it leaves open about accuracy, and which
answers they keep out of tests.

A reply in which no answer could be read says nothing about memory: it may have been cut off, or be
in another form than was asked for. It counts as wrong, which is the lower bound of the share of
right answers; the upper bound takes each such reply as a guess. Where many replies are unread, the
two are far apart, and a test would be of the format and not of memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ...core.agent_kinds import AgentKind, kind_named
from .coding import records
from .scoring import Scored, plural

#: Above this share of unread replies, it is said wherever the answers are used.
NOTED = 0.05
#: Above this share in a cell or a session, there is no test and no comparison with it.
WITHHELD = 0.20
#: What :func:`with_unread` adds to a table of means.
UNREAD_COLUMNS = ("unread", "if_guessed")
#: What :func:`beside_shares` adds to a table of other numbers: the share of unread replies, and the
#: bounds of the share of right answers.
BOUND_COLUMNS = ("unread", "all_wrong", "if_guessed")


def may_be_unread(kind: AgentKind) -> bool:
    """Return whether the answers of a kind of agent are replies, in which an answer may not be
    found."""
    return kind.converses or kind.role == "script"


def unread_rows(items: pd.DataFrame) -> np.ndarray:
    """Mark the scored items that are replies of chat models that could not be read."""
    if "outcome" not in items.columns or "agent_kind" not in items.columns:
        return np.zeros(len(items), bool)
    kinds = items["agent_kind"]
    talking = kinds.isin([name for name in kinds.unique() if may_be_unread(kind_named(str(name)))])
    return (items["outcome"].eq("invalid") & talking).to_numpy(bool)


def testable(scored: Scored, by: Sequence[str] = ()) -> Scored:  # noqa: PT028 - it is no test
    """Return the answers that may be tested: without sessions and cells of which more than
    :data:`WITHHELD` could not be read.

    Parameters
    ----------
    by : columns of conditions; a cell is an agent in one of them, or an agent in all where there
        are none
    """
    if scored.accept_unread:
        return scored
    return scored.once(("testable", *by), lambda: _without_withheld(scored, by))


def _without_withheld(scored: Scored, by: Sequence[str]) -> Scored:
    out = _withheld_rows(scored.items, by)
    return replace(scored, items=scored.items[~out].reset_index(drop=True)) if out.any() else scored


def _withheld_rows(items: pd.DataFrame, by: Sequence[str]) -> np.ndarray:
    """Mark the rows that belong to a session or cell of which too many replies could not be read."""
    unread = unread_rows(items)
    out = np.zeros(len(items), bool)
    if not unread.any():
        return out
    for columns in (
        ["paradigm", "agent", "session"],
        ["paradigm", "agent", *(name for name in by if name in items.columns)],
    ):
        keys = [items[name].astype(str) for name in columns]
        share = items.assign(_unread=unread.astype(float)).groupby(keys, sort=False)["_unread"].transform("mean")
        out |= (share > WITHHELD).to_numpy()
    return out


def testable_cells(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a table of means that may be tested: no more than :data:`WITHHELD` of the
    replies in each could not be read."""
    table = with_unread(table, shares=False)
    return table[~(table["unread"] > WITHHELD)] if "unread" in table.columns else table


def withheld_cells(cells: Any) -> frozenset[int]:
    """Return the cells (:class:`.Cells`) that belong to no test: too many replies could not be read
    in them, in all cells of their agent, or in a session of it.

    Cells do not tell sessions apart. Where answers are here, :func:`testable` leaves out sessions
    before cells are made.
    """
    kinds, agents = (cells.keys[name].astype(str).to_numpy() for name in ("agent_kind", "agent"))
    talking = np.array([may_be_unread(kind_named(kind)) for kind in kinds], bool)
    unread, items = (np.where(talking, np.asarray(cells.counts[name], float), 0.0) for name in ("n_invalid", "n_items"))
    if not unread.any():
        return frozenset()
    of_agent = {agent: (unread[agents == agent].sum(), items[agents == agent].sum()) for agent in set(agents[talking])}
    many = {agent for agent, (lost, n) in of_agent.items() if lost > WITHHELD * n}
    many |= {str(agent) for agent in agents[talking & (np.asarray(cells.worst) > WITHHELD)]}
    return frozenset(int(at) for at in np.flatnonzero(unread > WITHHELD * items)) | {
        at for at, agent in enumerate(agents) if agent in many
    }


def with_replies(items: pd.DataFrame) -> pd.DataFrame:
    """Scored items with :data:`UNREAD_COLUMNS`: whether each is an unread reply, and how right it
    is (0 to 1) where an unread reply is a guess.

    The means of the two, over any rows, stand beside the share of right answers of these rows.
    """
    unread, right = unread_rows(items), items["correct"].to_numpy(float)
    return items.assign(unread=unread, if_guessed=np.where(unread, items["chance"].to_numpy(float), right))


def unread_shares(items: pd.DataFrame, by: Sequence[str] = ()) -> pd.DataFrame:
    """The share of unread replies of each agent of each paradigm, and what it leaves open.

    Returns
    -------
    pandas.DataFrame
        ``paradigm``, ``agent``, the columns ``by``, ``n`` (answers), ``n_unread``, ``unread``
        (share), ``all_wrong`` and ``if_guessed`` (shares of right answers if every unread reply is
        wrong, or a guess); only agents with unread replies.
    """
    table = _shares(items, by)
    return table[table["n_unread"] > 0].reset_index(drop=True)


def _shares(items: pd.DataFrame, by: Sequence[str] = ()) -> pd.DataFrame:
    """The table of :func:`unread_shares`, for all agents."""
    work = with_replies(items)[["paradigm", "agent", *by, "correct", *UNREAD_COLUMNS]].astype(
        {"paradigm": str, "agent": str}
    )
    grouped = work.groupby(["paradigm", "agent", *by], sort=True, observed=True)
    table = grouped.agg(
        n=("correct", "size"),
        n_unread=("unread", "sum"),
        all_wrong=("correct", "mean"),
        if_guessed=("if_guessed", lambda values: values.mean(skipna=False)),
    ).reset_index()
    table.insert(len(by) + 4, "unread", table["n_unread"] / table["n"])
    return table


def with_unread(table: pd.DataFrame, *, shares: bool = True) -> pd.DataFrame:
    """A table of means with :data:`UNREAD_COLUMNS` where replies could not be read: their share,
    and the mean if they were guesses. Others are unchanged.

    ``shares`` says whether the means are shares of right answers; of other means nothing is known
    of guesses. Where a table has several measures, those of ``accuracy`` are such shares.
    """
    if (
        not {"agent_kind", "n_items", "n_invalid", "mean", "chance"} <= {*table.columns}
        or UNREAD_COLUMNS[0] in table.columns
    ):
        return table
    talking = np.array([may_be_unread(kind_named(str(kind))) for kind in table["agent_kind"]], bool)
    share = (table["n_invalid"].astype(float) / table["n_items"].astype(float)).to_numpy()
    share = np.where(talking, share, np.nan)
    if not (share > 0).any():
        return table
    table = table.copy()
    at = list(table.columns).index("n_invalid") + 1
    table.insert(at, "unread", share)
    if shares:
        measured = table.get("measure", pd.Series("accuracy", index=table.index))
        known = talking & measured.eq("accuracy").to_numpy(bool)
        table.insert(
            at + 1,
            "if_guessed",
            np.where(known, table["mean"].astype(float) + share * table["chance"].astype(float), np.nan),
        )
    return table


def beside_shares(table: pd.DataFrame, items: pd.DataFrame) -> pd.DataFrame:
    """A table with rows for agents (of each ``paradigm``, where it has this column), with
    :data:`BOUND_COLUMNS` of the answers that its rows are of.

    It is unchanged where all replies could be read.
    """
    if not len(table) or not unread_rows(items).any():
        return table
    shares = _shares(items if "paradigm" in table.columns else items.assign(paradigm=""))
    keys = [
        table.get("paradigm", pd.Series("", index=table.index)).astype(str),
        table["agent"].astype(str),
    ]
    known = shares.set_index(["paradigm", "agent"])[[*BOUND_COLUMNS]].reindex(pd.MultiIndex.from_arrays(keys))
    return table.assign(**{name: known[name].to_numpy() for name in BOUND_COLUMNS})


def unread_caption(table: pd.DataFrame) -> str:
    """Return what the caption of a figure says of unread replies, from a table of
    :func:`with_unread`; empty where there are none."""
    if "unread" not in table.columns:
        return ""
    rows = table[table["unread"] > 0]
    parts = []
    for agent, cells in rows.groupby(rows["agent"].astype(str), sort=True):
        every = table[table["agent"].astype(str) == agent]
        share = float(every["n_invalid"].sum() / every["n_items"].sum())
        guessed = cells.get("if_guessed", pd.Series(np.nan, index=cells.index)).astype(float)
        raised = (guessed - cells["mean"].astype(float)).max()
        upper = f"; as guesses, up to {100 * raised:.0f} points more" if raised == raised else ""
        parts.append(f"{agent} {share:.0%} (at most {float(cells['unread'].max()):.0%} in a cell{upper})")
    if len(parts) > _MOST_NAMED:
        parts = [*parts[:_MOST_NAMED], f"and {len(parts) - _MOST_NAMED} more"]
    return f" Replies that could not be read count as wrong: {', '.join(parts)}."


def untested_cells(table: pd.DataFrame) -> list[str]:
    """Name the answerers of a table of :func:`with_unread` whose points are in no slope and no
    difference, a sentence for each."""
    if "unread" not in table.columns:
        return []
    notes = []
    for agent, cells in table[table["unread"].notna()].groupby(table["agent"].astype(str), sort=True):
        many = int((cells["unread"] > WITHHELD).sum())
        if cells["n_invalid"].sum() > WITHHELD * cells["n_items"].sum():
            notes.append(
                f"{agent}: in no slope, difference or test: more than {WITHHELD:.0%} of its replies could not be read."
            )
        elif many:
            notes.append(
                f"{agent}: {plural(many, 'point')} in no slope, difference or test: more than {WITHHELD:.0%} of the"
                " replies there could not be read."
            )
    return notes


def bounds_in_words(share: float, all_wrong: float, if_guessed: float) -> str:
    """Say what unread replies leave open: ``39% of its replies could not be read: 12% right if all
    of them are wrong, 20% if they are guesses``."""
    upper = f", {if_guessed:.0%} if they are guesses" if if_guessed == if_guessed else ""
    return f"{share:.0%} of its replies could not be read: {all_wrong:.0%} right if all of them are wrong{upper}"


def unread_notes(scored: Scored) -> list[str]:
    """Whose replies could not be read more often than now and then (above :data:`NOTED`), with
    bounds, a sentence for each agent and paradigm."""
    if not len(scored.items):
        return []
    return [
        f"{row['paradigm']}: {row['agent']}: {bounds_in_words(row['unread'], row['all_wrong'], row['if_guessed'])}."
        for row in records(unread_shares(scored.items))
        if row["unread"] > NOTED
    ]


def withheld_notes(scored: Scored, by: Sequence[str] = ()) -> list[str]:
    """Say what is in no test and no comparison, and how to have it all the same; nothing where
    everything is tested."""
    if scored.accept_unread or not len(scored.items):
        return []
    items, unread = scored.items, unread_rows(scored.items)
    if not unread.any():
        return []
    work = items.assign(_unread=unread.astype(float))
    whole = _over(work, ["paradigm", "agent"])
    gone = {(row["paradigm"], row["agent"]) for row in whole}
    notes = [_withheld(f"{row['agent']} in {row['paradigm']}", row["_unread"]) for row in whole]
    notes += [
        _withheld(f"session {row['session']} of {row['agent']}", row["_unread"])
        for row in _over(work, ["paradigm", "agent", "session"])
        if (row["paradigm"], row["agent"]) not in gone
    ]
    conditions = [name for name in by if name in items.columns]
    cells = [
        row for row in _over(work, ["paradigm", "agent", *conditions]) if (row["paradigm"], row["agent"]) not in gone
    ]
    for row in cells[:_MOST_CELLS]:
        where = ", ".join(f"{name.removeprefix('factor_')} {row[name]}" for name in conditions)
        notes.append(_withheld(f"{row['agent']} at {where} in {row['paradigm']}", row["_unread"]))
    if len(cells) > _MOST_CELLS:
        notes.append(f"… and {plural(len(cells) - _MOST_CELLS, 'further cell')}.")
    return notes


_MOST_CELLS = 6
_MOST_NAMED = 6


def _over(work: pd.DataFrame, columns: Sequence[str]) -> list[dict[str, Any]]:
    texts = work.assign(**{name: work[name].astype(str) for name in columns})
    shares = texts.groupby(list(columns), sort=True)["_unread"].mean().reset_index()
    return [{str(name): value for name, value in row.items()} for row in records(shares[shares["_unread"] > WITHHELD])]


def _withheld(what: str, share: float) -> str:
    return (
        f"No test of {what}, and no comparison with it: {share:.0%} of its replies could not be read (--accept-unread"
        " tests it anyway)."
    )
