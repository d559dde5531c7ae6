"""Read data for figures and scores: sessions, folders full of them, or response tables in files;
only the columns that the analysis needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import pandas as pd

from ...core.agent_kinds import NETWORK
from ...core.errors import SpanLabError
from ...sessions.record.reader import read_session
from .coding import decoded
from .door import BIDS, open_table
from .exclusions import Exclusions, Rule, apply_exclusions, of_sessions
from .files import TABLES, UNREAD
from .people_table import read_people, strangers, with_people
from .recipe import Recipe
from .scoring import Scored, score_table
from .sessions import Gathered, SessionFacts, SpanFacts, gather
from .style import labelled, named, title_of


@dataclass(frozen=True)
class Data:
    """The data from which figures and scores are computed.

    Parameters
    ----------
    scored : all answers, with agents named as figures name them
    human : for each paradigm the name of the published human data that belong to it
    titles : of the paradigms
    notes : what was left out, damaged or unfinished, in plain sentences
    readouts : for each paradigm, how networks' answers were read out, in plain sentences
    sessions : what each session was; those of files are not among them
    problems : those of the notes that tell of sessions that are damaged or unfinished
    exclusions : what rules left out, None where there were none
    spans : results of adaptive sessions, whose answers are not among the others
    read_as : what was inferred of tables in files, in plain sentences
    recorded : the answers of sessions as they were recorded, before anything was left out, in the columns that were
        read; None without sessions
    taken : of columns of tables in files that were taken for one of ours, which one
    """

    scored: Scored
    human: Mapping[str, str]
    titles: Mapping[str, str]
    notes: tuple[str, ...]
    readouts: Mapping[str, tuple[str, ...]]
    sessions: tuple[SessionFacts, ...] = ()
    problems: tuple[str, ...] = ()
    exclusions: Exclusions | None = None
    spans: tuple[SpanFacts, ...] = ()
    read_as: tuple[str, ...] = ()
    recorded: pd.DataFrame | None = None
    taken: Mapping[str, str] = field(default_factory=dict)

    def columns(self, names: str) -> str:
        """Names of columns (commas between several) as they are called here, whoever called them."""
        return ",".join(self.taken.get(name.strip(), name) for name in names.split(","))

    @property
    def cautions(self) -> tuple[str, ...]:
        """What was inferred of the data, and likely mistakes in them that were used all the same, in
        plain sentences."""
        told = self.exclusions.cautions if self.exclusions else ()
        return (*self.read_as, *told, *self.scored.cautions)


def files_of(paths: Sequence[str | Path]) -> tuple[list[Path], list[str | Path]]:
    """Tables in files, those in BIDS data sets among them, and all other paths.

    Raises
    ------
    SpanLabError
        for spreadsheets of a kind that is not read, and a data set without tables.
    """
    tables: list[Path] = []
    others: list[str | Path] = []
    for path in map(Path, paths):
        if path.suffix.lower() in UNREAD and not path.is_dir():
            raise SpanLabError(
                f"{path} cannot be read: of spreadsheets, only .xlsx and .csv can be read. Save it as one of these"
            )
        if path.is_dir() and (path / "dataset_description.json").exists() and [*path.glob("sub-*")]:
            found = sorted(one for one in path.rglob("*.tsv") if BIDS.fullmatch(one.name))
            if not found:
                raise SpanLabError(f"{path} has no table of answers: sub-*/[ses-*/]*/*_events.tsv or *_beh.tsv")
            tables += found
        elif path.suffix.lower() in TABLES and not path.is_dir():
            tables.append(path)
        else:
            others.append(path)
    return tables, others


def tables_of(paths: Sequence[str | Path], recipe: Recipe | None = None) -> list[pd.DataFrame]:
    """The whole tables among some paths, in the columns of the response table."""
    return [open_table(file, recipe, whole=True).table for file in files_of(paths)[0]]


def load(
    paths: Sequence[str | Path],
    *,
    include_practice: bool = False,
    include_pilot: bool = False,
    rules: Sequence[Rule] = (),
    spans_suffice: bool = False,
    recipe: Recipe | None = None,
    people: Path | None = None,
    accept_unread: bool = False,
    whole: bool = True,
) -> Data:
    """Read sessions (folders), data folders full of them, and anybody's tables (see :mod:`.door`).

    Parameters
    ----------
    rules : of exclusion, applied in this order before anything is averaged
    spans_suffice : whether adaptive sessions alone are enough to go on with
    recipe : what the columns of tables in files mean
    people : a table with a row for each participant, whose columns become conditions
    accept_unread : whether answers of which many replies could not be read are tested all the same
    whole : whether columns of sessions are read that effects and scores do not need; rules always have them

    Raises
    ------
    SpanLabError
        when a path does not exist, a table cannot be read, or nothing can be.
    """
    files, folders = files_of(paths)
    raw, gathered = list[pd.DataFrame](), Gathered(pd.DataFrame(), (), ())
    if folders:
        gathered = gather(folders, spans_suffice or bool(files), whole or bool(rules))
        raw.append(gathered.responses)
    sessions = gathered.sessions
    opened = [open_table(file, recipe, whole=bool(rules)) for file in files]
    for before, one in zip(accumulate((len(one.table) for one in opened), initial=0), opened, strict=False):
        # trials that were counted are not those of another file
        one.table["row_trial"] += before * one.table["row_trial"].gt(0)
    raw += [one.table for one in opened]
    read_as = dict.fromkeys(sentence for one in opened for sentence in one.said)
    taken = {
        theirs: ours
        for one in opened
        for ours, theirs in ({**recipe.columns, **one.read} if recipe else one.read).items()
        if not {theirs, f"factor_{theirs}", f"record_{theirs}"} & {*one.table.columns}
    }
    del opened  # a long table is not kept twice
    counted = {"include_practice": include_practice, "include_pilot": include_pilot}
    raw, exclusions = _without(raw, rules, sessions, **counted) if rules else (raw, None)
    if people is not None:
        described_by = read_people(people)
        raw = [with_people(table, described_by) for table in raw]
        names = [name for table in raw if "participant" in table.columns for name in table["participant"].dropna()]
        read_as |= dict.fromkeys(filter(None, [strangers(people, described_by.index, names)]))
    tables = [labelled(raw.pop(0), sessions if not number else ()) for number in range(len(raw))]
    scored = score_table(named(_concatenated(tables), **counted), **counted)
    scored = replace(
        scored, accept_unread=accept_unread, declared={facts.paradigm: facts.declared for facts in sessions}
    )
    names = sorted(scored.items["paradigm"].unique())
    data = described(scored, names, sessions, gathered.problems, exclusions)
    if folders:
        data = replace(data, recorded=gathered.responses)
    return replace(data, spans=gathered.spans, read_as=tuple(read_as), taken=taken)


def described(
    scored: Scored,
    paradigms: Sequence[str],
    sessions: Sequence[SessionFacts],
    problems: Sequence[str] = (),
    exclusions: Exclusions | None = None,
) -> Data:
    """Scored answers together with what is known about their sessions."""
    return Data(
        scored=scored,
        human={
            name: next((facts.human for facts in sessions if facts.paradigm == name and facts.human), name)
            for name in paradigms
        },
        titles={name: title_of(name, sessions) for name in paradigms},
        notes=(*problems, *(exclusions.notes if exclusions else ()), *scored.notes, *_tolerances(scored)),
        readouts=readouts(sessions),
        sessions=tuple(sessions),
        problems=tuple(problems),
        exclusions=exclusions,
    )


def _tolerances(scored: Scored) -> list[str]:
    """Return what counts as right where answers are on a continuous scale, for each paradigm with
    such answers."""
    if "tolerance" not in scored.items.columns:
        return []
    notes: list[str] = []
    for paradigm, part in scored.parts.items():
        known = sorted({float(value) for value in decoded(part.items["tolerance"]).dropna()})
        if known:
            listed = " or ".join(f"{value:g}°" for value in known)
            notes.append(
                f"{paradigm}: an answer on the continuous scale counts as right when its error is at most {listed}, as"
                " the paradigm declares."
            )
    return notes


def _without(
    tables: list[pd.DataFrame], rules: Sequence[Rule], sessions: Sequence[SessionFacts], **counted: bool
) -> tuple[list[pd.DataFrame], Exclusions]:
    """Tables without what rules leave out; they are judged together, so that a person in two files
    is one person."""
    known = of_sessions(sessions, rules)
    if len(tables) == 1:
        kept, report = apply_exclusions(tables[0], rules, known, **counted)
        return [kept], report
    kept, report = apply_exclusions(
        pd.concat([table.assign(_table=number) for number, table in enumerate(tables)], ignore_index=True),
        rules,
        known,
        **counted,
    )
    return [
        kept[kept["_table"] == number].drop(columns="_table").reset_index(drop=True) for number in range(len(tables))
    ], report


def _concatenated(tables: list[pd.DataFrame]) -> pd.DataFrame:
    """Join tables into one; texts that all of them keep once (categories) stay so. The list is
    emptied."""
    if len(tables) == 1:
        return tables.pop()
    names = dict.fromkeys(name for table in tables for name in table.columns)
    columns = {name: _joined([table.get(name, _nothing(len(table))) for table in tables]) for name in names}
    tables.clear()
    return pd.DataFrame(columns)


def _joined(parts: list[pd.Series]) -> Any:
    """The parts of a column as one: categories as such, where all that has values has them."""
    from pandas.api.types import union_categoricals

    kept = [part for part in parts if part.notna().any()]
    kinds = {str(part.cat.categories.dtype) if hasattr(part, "cat") else "" for part in kept}
    if len(kinds) == 1 and "" not in kinds:
        empty = kept[0].cat.categories[:0]
        return union_categoricals(
            [part if part.notna().any() else pd.Categorical([None] * len(part), empty) for part in parts]
        )
    plain = [part.astype(part.cat.categories.dtype) if hasattr(part, "cat") else part for part in parts]
    return pd.concat(plain).reset_index(drop=True)


def _nothing(rows: int) -> pd.Series:
    """A column in which everything is missing."""
    return pd.Series(pd.Categorical([None] * rows, pd.Index([], dtype="str")))


def readouts(sessions: Sequence[SessionFacts]) -> dict[str, tuple[str, ...]]:
    """For each paradigm, how answers of networks were read out: among the allowed ones or over the
    whole head."""
    agents_of: dict[tuple[str, str], set[str]] = {}
    for facts in sessions:
        if facts.kind == NETWORK.name:
            network: Any = (read_session(facts.folder).get("paradigm_data") or {}).get("network") or {}
            whole = isinstance(network, Mapping) and network.get("readout") == "all_classes"
            head = network.get("head")
            among = (
                f"; a guess among all {head} classes is right once in {head} times"
                if isinstance(head, int) and head > 1
                else ""
            )
            everywhere = (
                f"over all classes of the head (the chance lines are those of a guess among the allowed answers{among})"
            )
            how = f"read out {everywhere}" if whole else "limited to the allowed ones"
            agents_of.setdefault((facts.paradigm, how), set()).add(facts.agent)
    notes: dict[str, tuple[str, ...]] = {}
    for (paradigm, how), agents in sorted(agents_of.items()):
        notes[paradigm] = (*notes.get(paradigm, ()), f"{paradigm}: answers of {', '.join(sorted(agents))} were {how}.")
    return notes
