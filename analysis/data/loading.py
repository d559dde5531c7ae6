"""Read data for figures and scores: sessions, folders full of them, or response tables in files;
only the columns that the analysis needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet

from ...core.agent_kinds import NETWORK, PARTICIPANT
from ...core.errors import SpanLabError
from ...core.json_values import NOTHING
from ...sessions.record.columns import FURTHER
from ...sessions.record.reader import COLUMNS as RECORDED
from ...sessions.record.reader import read_session
from .coding import decoded
from .column_map import AS_WRITTEN, ColumnMap, hint, unread
from .exclusions import Exclusions, Rule, apply_exclusions, of_sessions
from .people_table import read_people, with_people
from .scoring import NEEDED, Scored, score_table
from .sessions import SessionFacts, SpanFacts, gather
from .spreadsheets import TEXT, UNREAD, WORKBOOK, header_of, read_text
from .style import labelled, named, title_of

#: Columns that the analysis reads, besides those of factors and recorded values.
COLUMNS = tuple(column.name for column in RECORDED if column.loaded)
_TABLES = (".parquet", *TEXT, WORKBOOK)
_TEXTS = {column.name for column in RECORDED if column.type in ("string", "json")}


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
    unread : columns of files that look like ones that the analysis reads, in plain sentences
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
    unread: tuple[str, ...] = ()

    @property
    def cautions(self) -> tuple[str, ...]:
        """Likely mistakes in the data that were used all the same, in plain sentences."""
        return (*self.unread, *self.scored.cautions)


def load(
    paths: Sequence[str | Path],
    *,
    include_practice: bool = False,
    include_pilot: bool = False,
    trial_ids: bool = True,
    rules: Sequence[Rule] = (),
    spans_suffice: bool = False,
    columns: ColumnMap = AS_WRITTEN,
    people: Path | None = None,
    accept_unread: bool = False,
) -> Data:
    """Read sessions (folders), data folders full of them, and response tables (``.parquet``,
    ``.csv``, ``.tsv``, ``.xlsx``: the columns of the record).

    Parameters
    ----------
    trial_ids : whether to read ``trial_id`` from files: only error consistency needs it, and in
        long tables it takes a third of the memory
    rules : of exclusion, applied in this order before anything is averaged
    spans_suffice : whether adaptive sessions alone are enough to go on with
    columns : the names of columns of files in the response table
    people : a table with a row for each participant, whose columns become conditions
    accept_unread : whether answers of which many replies could not be read are tested all the same

    Raises
    ------
    SpanLabError
        when a path does not exist, a table cannot be read, or nothing can be.
    """
    files, folders = tables_and_folders(paths)
    gathered = gather(folders, spans_suffice or bool(files)) if folders else None
    sessions = gathered.sessions if gathered else ()
    raw = [gathered.responses] if gathered else []
    raw += [read_file(file, trial_ids, bool(rules), columns) for file in files]
    raw, exclusions = _without(raw, rules, sessions) if rules else (raw, None)
    if people is not None:
        described_by = read_people(people)
        raw = [with_people(table, described_by) for table in raw]
    tables = [labelled(raw.pop(0), sessions if gathered and not number else ()) for number in range(len(raw))]
    scored = score_table(named(_concatenated(tables)), include_practice=include_practice, include_pilot=include_pilot)
    scored = replace(scored, accept_unread=accept_unread)
    names = sorted(scored.items["paradigm"].unique())
    data = described(scored, names, sessions, gathered.problems if gathered else (), exclusions)
    return replace(data, spans=gathered.spans if gathered else (), unread=_unread_columns(files, columns))


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
    tables: list[pd.DataFrame], rules: Sequence[Rule], sessions: Sequence[SessionFacts]
) -> tuple[list[pd.DataFrame], Exclusions]:
    """Tables without what rules leave out; they are judged together, so that a person in two files
    is one person."""
    known = of_sessions(sessions, rules)
    if len(tables) == 1:
        kept, report = apply_exclusions(tables[0], rules, known)
        return [kept], report
    kept, report = apply_exclusions(
        pd.concat([table.assign(_table=number) for number, table in enumerate(tables)], ignore_index=True), rules, known
    )
    return [
        kept[kept["_table"] == number].drop(columns="_table").reset_index(drop=True) for number in range(len(tables))
    ], report


def _unread_columns(files: Sequence[Path], columns: ColumnMap = AS_WRITTEN) -> tuple[str, ...]:
    """Return what is said of columns of files that look like ones that the analysis reads."""
    return tuple(sentence for file in files for sentence in unread(file, _names(file, columns)))


def _names(file: Path, columns: ColumnMap) -> list[str]:
    """The columns of a file by their names in the response table."""
    names = (
        header_of(file, columns)
        if file.suffix.lower() in (*TEXT, WORKBOOK)
        else pyarrow.parquet.read_schema(file).names
    )
    return [*columns.renamed(file, names), *(name for name, _ in columns.values)]


def read_file(file: Path, trial_ids: bool = True, whole: bool = False, columns: ColumnMap = AS_WRITTEN) -> pd.DataFrame:
    """The columns that the analysis needs of a response table in a file (all of them if ``whole``);
    texts that repeat are kept once.

    A table that does not number its trials is read with its ``trial_id`` whether asked or not.

    Raises
    ------
    SpanLabError
        when the file cannot be read or is not a response table.
    """
    try:
        if file.suffix.lower() in (*TEXT, WORKBOOK):

            def pick(names: Sequence[str]) -> Sequence[str]:
                return [name for name in names if name] if whole else _wanted(names, trial_ids)

            table = read_text(file, pick, lambda name: name in _TEXTS or name.startswith(FURTHER), columns)
        else:
            schema = pyarrow.parquet.read_schema(file)
            ours = columns.renamed(file, schema.names)
            wished = ours if whole else _wanted(ours, trial_ids)
            read = [theirs for theirs, name in zip(schema.names, ours, strict=True) if name in wished]
            texts = [name for name in read if pyarrow.types.is_string(schema.field(name).type)]
            # column by column: of a long table, all at once take twice the memory
            with pyarrow.parquet.ParquetFile(file, read_dictionary=texts, pre_buffer=False) as opened:
                table = pyarrow.table([opened.read([name]).column(0) for name in read], names=read)
            table = table.rename_columns([name for name in ours if name in wished])
    except FileNotFoundError:
        raise SpanLabError(f"{file} does not exist") from None
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise SpanLabError(f"{file} cannot be read as a table: {str(error).splitlines()[0]}") from None
    table = columns.filled(table)
    missing = [name for name in NEEDED if name not in table.column_names]
    lacking = [*missing, *(["participant"] if "participant" not in table.column_names else [])]
    likely = hint(_names(file, columns), lacking) if lacking else ""
    if missing:
        raise SpanLabError(
            f"{file} is not a response table: it has no column {', '.join(missing)} (see 'The record' in the"
            f" documentation){likely}"
        )
    _refuse_nameless(file, table, likely)
    given = [table]
    del table
    return _frame(given)


def _frame(given: list[pyarrow.Table]) -> pd.DataFrame:
    """An Arrow table as a data frame; texts that repeat are kept once. The list is emptied."""
    table = given.pop()
    for place, field in enumerate(table.schema):
        if pyarrow.types.is_string(field.type) or pyarrow.types.is_large_string(field.type):
            table = table.set_column(place, field.name, table.column(place).dictionary_encode())
    given = [table.unify_dictionaries()]
    del table  # column by column, memory is given back as soon as it is copied
    frame = given.pop().to_pandas(split_blocks=True, self_destruct=True)
    pyarrow.default_memory_pool().release_unused()
    return frame


def _concatenated(tables: list[pd.DataFrame]) -> pd.DataFrame:
    """Join tables into one; texts that all of them keep once (categories) stay so. The list is
    emptied."""
    from pandas.api.types import union_categoricals

    if len(tables) == 1:
        return tables.pop()
    columns: dict[str, Any] = {}
    for name in dict.fromkeys(name for table in tables for name in table.columns):
        parts = [table[name] if name in table.columns else _nothing(len(table)) for table in tables]
        kinds = [
            part.dtype.categories.dtype
            for part in parts
            if isinstance(part.dtype, pd.CategoricalDtype) and len(part.dtype.categories)
        ]
        if (
            kinds
            and len(set(kinds)) == 1
            and all(isinstance(part.dtype, pd.CategoricalDtype) or part.isna().all() for part in parts)
        ):
            kept = [
                (
                    part
                    if isinstance(part.dtype, pd.CategoricalDtype) and len(part.dtype.categories)
                    else _nothing(len(part), kinds[0])
                )
                for part in parts
            ]
            columns[name] = union_categoricals(kept)
        else:
            columns[name] = pd.concat(
                [
                    part.astype(part.dtype.categories.dtype) if isinstance(part.dtype, pd.CategoricalDtype) else part
                    for part in parts
                ]
            )
            columns[name] = columns[name].reset_index(drop=True)
    tables.clear()
    return pd.DataFrame(columns)


def _nothing(rows: int, kind: Any = "str") -> pd.Series:
    """A column of texts in which everything is missing."""
    return pd.Series(pd.Categorical.from_codes(np.full(rows, -1, np.int8), categories=pd.Index([], dtype=kind)))


def _wanted(names: Sequence[str], trial_ids: bool) -> list[str]:
    """Those columns of a table that the analysis reads, with ``trial_id`` or without it where
    trials are numbered."""
    left = () if trial_ids or "trial" not in names else ("trial_id",)
    return [name for name in names if (name in COLUMNS and name not in left) or name.startswith(FURTHER)]


def tables_and_folders(paths: Sequence[str | Path]) -> tuple[list[Path], list[str | Path]]:
    """Response tables in files, by their ending, and all other paths: sessions, and folders full of
    them.

    Raises
    ------
    SpanLabError
        for spreadsheets of a kind that is not read.
    """
    for path in paths:
        if Path(path).suffix.lower() in UNREAD and not Path(path).is_dir():
            raise SpanLabError(
                f"{path} cannot be read: of spreadsheets, only .xlsx and .csv can be read. Save it as one of these"
            )
    tables = [Path(path) for path in paths if Path(path).suffix.lower() in _TABLES]
    return tables, [path for path in paths if Path(path) not in tables]


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


def _refuse_nameless(file: Path, table: pyarrow.Table, hint: str = "") -> None:
    """Refuse a table in which people cannot be told apart: without a column of participants, or
    with rows of people that name nobody.

    Parameters
    ----------
    hint : how to name a column otherwise, where one of the table looks like the one that lacks

    Raises
    ------
    SpanLabError
        with what to write.
    """
    answerers = _answerers(table)
    persons = [one for one in answerers if one.kind == PARTICIPANT.name]
    unsaid = [one for one in answerers if not one.kind]
    if "participant" not in table.column_names:
        if persons or unsaid:
            raise SpanLabError(
                f"{file} has no column participant: several people would count as one. Add it, with an identifier for"
                " each person and nothing for machines; a table of machines alone needs a column agent_kind (network,"
                f" chat ...) instead{hint}"
            )
        return
    named = any(not one.nobody for one in unsaid)
    nameless = [
        one
        for one in answerers
        if one.nobody and (one.kind == PARTICIPANT.name or (not one.kind and (named or one.participant)))
    ]
    if nameless:
        written = sorted({one.participant for one in nameless} - {""})
        found = f" ({', '.join(map(repr, written[:3]))})" if written else ""
        raise SpanLabError(
            f"{file}: {sum(one.rows for one in nameless):,} rows name nobody: participant is empty, or a word that"
            f" means missing, such as NA, null or None{found}. Write an identifier for each person (P01 ...), and"
            " network, chat ... in agent_kind where the answers are a machine's"
        )


@dataclass(frozen=True)
class _Answerer:
    """Rows of a table with the same kind and participant."""

    kind: str
    participant: str
    rows: int

    @property
    def nobody(self) -> bool:
        """True if the participant is no identifier."""
        return self.participant.strip().casefold() in NOTHING


def _answerers(table: pyarrow.Table) -> list[_Answerer]:
    """Return who answers in the rows that have an agent."""
    rows = table.filter(table.column("agent").is_valid())
    names = [name for name in ("agent_kind", "participant") if name in rows.column_names]
    columns = {name: rows.column(name).cast(pyarrow.string()) for name in names} | {
        "all": pyarrow.repeat("", rows.num_rows)
    }
    groups = pyarrow.table(columns).group_by([*columns]).aggregate([([], "count_all")]).to_pylist()
    return [
        _Answerer(group.get("agent_kind") or "", group.get("participant") or "", group["count_all"]) for group in groups
    ]
