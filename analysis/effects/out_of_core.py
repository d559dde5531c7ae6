"""Effects of tables of any length: evidence is gathered piece by piece, here or by Dask workers,
and put together. At no time is more than a piece read.

A piece is about half a million rows, and no trial lies in two pieces: large sessions are stored so,
and files in the order of the record are cut where a trial ends. Where trials are found in two
pieces all the same (in a table that was shuffled), these pieces are worked on once more, together.
So the tables are those that one gets from all rows at once; sums over trials of people and sessions
are added in another order, which may change their last digit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...core.json_values import grouped
from ...core.worker_pool import SerialPool, WorkerPool
from ..data.coding import groups
from ..data.loading import Data, concatenated, described, tables_and_folders, unread_columns
from ..data.pieces import ROWS, Piece, jobs_of, pieces_of_file, pieces_of_session, read_piece
from ..data.scoring import TRIAL, UNIT_SESSION, LeftOut, sort_rows
from ..data.sessions import DAMAGE, Head, SessionFacts, facts_of, heads, left_out, nothing_read, unfinished
from ..data.style import RAW, Raw, called, labelled, people_of
from ..means.cell_means import Sums
from .evidence import Evidence, EvidenceOnly, Whole, whole
from .registry import effect

#: By what answerers are told apart in a piece: names follow from all pieces.
_WHO = ("paradigm", *RAW)
_SPAN = tuple(name for name in TRIAL if name not in ("trial", "trial_id"))


@dataclass(frozen=True)
class _Job:
    """Pieces that one worker reads together; ``forced``: paradigms and effects that are looked at
    even where columns are missing."""

    pieces: tuple[Piece, ...]
    forced: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True)
class _JobSettings:
    """The settings that every worker gets."""

    effects: tuple[str, ...]
    include_practice: bool
    include_pilot: bool
    sessions: tuple[SessionFacts, ...]


@dataclass(frozen=True)
class _Result:
    """The result of a job.

    Parameters
    ----------
    evidence : by paradigm and effect
    left_out : as of a table
    answerers, people : paradigms, each with somebody who answered in it, or with a participant
    trials : of each session, practice apart
    spans : lowest and highest number of the trials in each block that the job has rows of
    damaged : sessions that could not be read, and why
    """

    evidence: Mapping[tuple[str, str], Evidence] = field(default_factory=dict)
    left_out: LeftOut = field(default_factory=LeftOut)
    answerers: frozenset[tuple[str, Raw]] = frozenset()
    people: frozenset[tuple[str, str]] = frozenset()
    trials: Mapping[str, int] = field(default_factory=dict)
    spans: tuple[tuple[tuple[Any, ...], float, float], ...] = ()
    damaged: Mapping[str, str] = field(default_factory=dict)


def load_scattered(
    paths: Sequence[str | Path],
    effects: Sequence[str],
    *,
    pool: WorkerPool | None = None,
    include_practice: bool = False,
    include_pilot: bool = False,
    rows: int = ROWS,
) -> Data:
    """Load the evidence for some effects from sessions, folders full of them, and response tables:
    as :func:`.loading.load`, with evidence in place of answers.

    Parameters
    ----------
    effects : their names
    pool : who does the work; this process when not given
    rows : about how many are read at once

    Raises
    ------
    SpanLabError
        when a path does not exist, a table cannot be read, or nothing can be.
    """
    files, folders = tables_and_folders(paths)
    session_heads, problems = heads(folders) if folders else ([], [])
    if folders and not session_heads:
        raise nothing_read(problems)
    pieces = [piece for head in session_heads for piece in pieces_of_session(head, rows)] + [
        piece for file in files for piece in pieces_of_file(file, rows)
    ]
    asked = _JobSettings(
        tuple(effects),
        include_practice,
        include_pilot,
        tuple(facts for head in session_heads if (facts := facts_of(head, 0)).label or facts.model),
    )
    results, session_heads, damaged = _all_done(
        pool or SerialPool(), asked, [_Job(job) for job in jobs_of(pieces, rows)], session_heads
    )
    problems += damaged
    if folders and not session_heads and not files:
        raise nothing_read(problems)
    trials = sum((Counter(result.trials) for result in results), Counter())
    sessions = [facts_of(head, trials[head.name]) for head in session_heads]
    left = sum((result.left_out for result in results), LeftOut())
    nobody = sort_rows(pd.DataFrame())[0]
    scored = EvidenceOnly(
        nobody.items, nobody.intrusions, left.sentences(), left.oddities.sentences(), wholes=_wholes(results)
    )
    notes = (*problems, *(sentence for facts in sessions for sentence in unfinished(facts)))
    return replace(described(scored, scored.paradigms, sessions, notes), unread=unread_columns(files))


def _all_done(
    pool: WorkerPool, asked: _JobSettings, jobs: Sequence[_Job], session_heads: list[Head]
) -> tuple[list[_Result], list[Head], list[str]]:
    """Every job, and once more those whose pieces share trials, lack columns that others have, or
    are of a session that is damaged elsewhere."""
    problems: list[str] = []
    done = _done(pool, asked, jobs)
    damaged = {name: why for result in done.values() for name, why in result.damaged.items()}
    if damaged:
        problems = [damaged[head.name] for head in session_heads if head.name in damaged]
        session_heads = [head for head in session_heads if head.name not in damaged]
        again = {}
        for job in [job for job in done if any(piece.session in damaged for piece in job.pieces)]:
            del done[job]
            left = tuple(piece for piece in job.pieces if piece.session not in damaged)
            again |= {_Job(left): None} if left else {}
        done |= _done(pool, asked, list(again))
    merged = [_Job(tuple(piece for job in alike for piece in job.pieces)) for alike in _sharing(done)]
    if merged:
        gone = {piece for job in merged for piece in job.pieces}
        done = {job: result for job, result in done.items() if not gone & set(job.pieces)} | _done(pool, asked, merged)
    there = {key for result in done.values() for key, evidence in result.evidence.items() if evidence.sums}
    lacking = {
        job: frozenset(key for key, evidence in result.evidence.items() if evidence.passed and key in there)
        for job, result in done.items()
    }
    for job, result in _done(
        pool, asked, [replace(job, forced=forced) for job, forced in lacking.items() if forced]
    ).items():
        done[replace(job, forced=frozenset())] = result
    return list(done.values()), session_heads, problems


def _done(pool: WorkerPool, asked: _JobSettings, jobs: Sequence[_Job]) -> dict[_Job, _Result]:
    results = dict(pool.each(_result, partial(_given, asked), jobs)) if jobs else {}
    return {job: results[number] for number, job in enumerate(jobs)}  # in the order of the data, whoever was first


def _given(asked: _JobSettings) -> _JobSettings:
    return asked


def _result(asked: _JobSettings, job: _Job) -> _Result:
    """Read the pieces of a job and make their evidence, as a worker does."""
    tables, damaged = [], {}
    for piece in job.pieces:
        try:
            tables.append(labelled(read_piece(piece), asked.sessions if piece.session else ()))
        except DAMAGE as error:
            if not piece.session:
                raise
            damaged[piece.session] = left_out(piece.path, error)
    if damaged or not tables:
        return _Result(damaged=damaged)
    table = concatenated(tables)
    heads = table.iloc[groups(table, ["paradigm", *RAW, "participant"])[1]]
    answerers = frozenset(
        (str(paradigm), (str(a), str(b), str(c), str(d)))
        for paradigm, a, b, c, d in heads[["paradigm", *RAW]].itertuples(index=False)
    )
    people = people_of(heads)
    named = {piece.session for piece in job.pieces if piece.session}
    trials = _trials(table, named)
    tables.clear()
    given = [table]
    del table
    scored, left = sort_rows(given.pop(), include_practice=asked.include_practice, include_pilot=asked.include_pilot)
    evidence = {
        (paradigm, name): effect(name).evidence(part, who=_WHO, forced=(paradigm, name) in job.forced)
        for paradigm, part in scored.parts.items()
        for name in asked.effects
    }
    return _Result(evidence, left, answerers, people, trials, _spans(scored.items) + _spans(scored.intrusions), damaged)


def _trials(table: pd.DataFrame, sessions: Iterable[str]) -> dict[str, int]:
    """Return how many trials (practice apart) of each session are in a table."""
    wanted = set(sessions)
    if not wanted or "trial" not in table.columns:
        return {}
    real = table[~table["practice"].fillna(False).astype(bool)] if "practice" in table.columns else table
    _, first = groups(real, ["session", "trial"])
    counts = real["session"].iloc[first].astype(str).value_counts()
    return {name: int(counts.get(name, 0)) for name in wanted}


def _spans(items: pd.DataFrame) -> tuple[tuple[tuple[Any, ...], float, float], ...]:
    """For everybody's blocks, from which trial to which there are rows; from end to end where
    trials have no numbers."""
    if not len(items):
        return ()
    if UNIT_SESSION in items.columns:  # wordings and repeats share their trials
        items = items.assign(
            session=items["session"].astype(str).where(items[UNIT_SESSION] == items["session"].astype(str), "")
        )
    number, first = groups(items, _SPAN)
    trial = items["trial"].to_numpy(float)
    low, high = np.full(len(first), np.inf), np.full(len(first), -np.inf)
    np.minimum.at(low, number, np.where(np.isnan(trial), -np.inf, trial))
    np.maximum.at(high, number, np.where(np.isnan(trial), np.inf, trial))
    heads = items.iloc[first][[*_SPAN]].astype(object)
    keys = heads.where(heads.notna(), None).itertuples(index=False, name=None)
    return tuple((key, float(a), float(b)) for key, a, b in zip(keys, low, high, strict=True))


def _sharing(done: Mapping[_Job, _Result]) -> list[list[_Job]]:
    """Jobs that may have rows of the same trial, together."""
    jobs = list(done)
    leader = list(range(len(jobs)))

    def first(number: int) -> int:
        while leader[number] != number:
            number = leader[number]
        return number

    spans = grouped((key, (low, high, number)) for number, job in enumerate(jobs) for key, low, high in done[job].spans)
    for intervals in spans.values():
        intervals.sort()
        end, last = -np.inf, intervals[0][2]
        for low, high, number in intervals:
            if low <= end and number != last:
                leader[max(first(number), first(last))] = min(first(number), first(last))
            if high >= end:
                end, last = high, number
    together = grouped((first(number), job) for number, job in enumerate(jobs))
    return [alike for alike in together.values() if len(alike) > 1]


def _wholes(results: Sequence[_Result]) -> dict[tuple[str, str], Whole]:
    """The evidence of all jobs together, with everybody called as in figures."""
    names = called(
        (answerer for result in results for answerer in result.answerers),
        {answerer for result in results for answerer in result.people},
    )
    parts = grouped(
        (key, replace(evidence, sums={name: _named(sums, names) for name, sums in evidence.sums.items()}))
        for result in results
        for key, evidence in result.evidence.items()
    )
    return {key: whole(ones) for key, ones in sorted(parts.items())}


def _named(sums: Sums, names: Mapping[Raw, tuple[str, str]]) -> Sums:
    """The same sums with the columns of figures: paradigm, kind and name."""

    def place(key: tuple[Any, ...]) -> tuple[Any, ...]:
        name, kind = names[key[1:5]]  # type: ignore[index]
        return (key[0], kind, name, *key[5:])

    return replace(
        sums,
        names=("paradigm", "agent_kind", "agent", *sums.names[5:]),
        who=3,
        keys=tuple(place(key) for key in sums.keys),
        answerers=frozenset(
            (place(answerer), participant, session) for answerer, participant, session in sums.answerers
        ),
    )
