"""Read data for figures and scores: sessions, folders full of them, or response tables in files; only the columns that the analysis needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import SpanLabError
from ..sessions.record import read_session
from .exclusions import Exclusions, Rule, apply_exclusions, timing_faults
from .gather import Gathered, SessionFacts, gather
from .names import name_agents, title_of
from .table import NEEDED, Scored, score_table

if TYPE_CHECKING:
    import pandas as pd

#: Columns that the analysis reads, besides those of factors and recorded values.
COLUMNS = (
    *("session", "participant", "agent_kind", "agent", "agent_settings_hash", "oracle", "paradigm", "paradigm_hash", "generator"),
    *("block", "trial", "trial_id", "step", "ask", "phase", "practice", "pilot", "set_size", "list_length", "serial_position"),
    *("output_position", "retention_steps", "chance", "correct_answer", "answer", "outcome", "correct", "warm_up", "rt_ms"),
)
_TABLES = (".parquet", ".csv")


@dataclass(frozen=True)
class Data:
    """What figures and scores are made of.

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
    """

    scored: Scored
    human: Mapping[str, str]
    titles: Mapping[str, str]
    notes: tuple[str, ...]
    readouts: Mapping[str, tuple[str, ...]]
    sessions: tuple[SessionFacts, ...] = ()
    problems: tuple[str, ...] = ()
    exclusions: Exclusions | None = None


def load(
    paths: Sequence[str | Path], *, include_practice: bool = False, include_pilot: bool = False, trial_ids: bool = True, rules: Sequence[Rule] = ()
) -> Data:
    """Read sessions (folders), data folders full of them, and response tables (``.parquet`` or ``.csv`` files with the columns of the record).

    Parameters
    ----------
    trial_ids : whether to read ``trial_id`` from files: only error consistency needs it, and in long tables it takes a third of the memory
    rules : of exclusion, applied in this order before anything is averaged

    Raises
    ------
    SpanLabError
        when a path does not exist, a table cannot be read, or nothing can be.
    """
    import pandas as pd

    files = [Path(path) for path in paths if Path(path).suffix.lower() in _TABLES]
    folders = [path for path in paths if Path(path) not in files]
    gathered = gather(folders) if folders else None
    sessions = gathered.sessions if gathered else ()
    raw = [gathered.responses] if gathered else []
    raw += [read_file(file, trial_ids, whole=bool(rules)) for file in files]
    raw, exclusions = _without(raw, rules, sessions) if rules else (raw, None)
    tables = [name_agents(raw.pop(0), sessions if gathered and not number else ()) for number in range(len(raw))]
    scored = score_table(
        tables.pop() if len(tables) == 1 else pd.concat(tables, ignore_index=True), include_practice=include_practice, include_pilot=include_pilot
    )
    names = sorted(scored.items["paradigm"].unique())
    return Data(
        scored=scored,
        human={name: next((facts.human for facts in sessions if facts.paradigm == name and facts.human), name) for name in names},
        titles={name: title_of(name, sessions) for name in names},
        notes=(*(gathered.problems if gathered else ()), *(exclusions.notes if exclusions else ()), *scored.notes),
        readouts=_readouts(gathered) if gathered else {},
        sessions=sessions,
        problems=gathered.problems if gathered else (),
        exclusions=exclusions,
    )


def _without(tables: list[pd.DataFrame], rules: Sequence[Rule], sessions: Sequence[SessionFacts]) -> tuple[list[pd.DataFrame], Exclusions]:
    """Tables without what rules leave out; they are judged together, so that a person in two files is one person."""
    import pandas as pd

    faults = timing_faults(sessions) if any(rule.where == "timing" for rule in rules) else None
    if len(tables) == 1:
        kept, report = apply_exclusions(tables[0], rules, faults)
        return [kept], report
    kept, report = apply_exclusions(pd.concat([table.assign(_table=number) for number, table in enumerate(tables)], ignore_index=True), rules, faults)
    return [kept[kept["_table"] == number].drop(columns="_table").reset_index(drop=True) for number in range(len(tables))], report


def read_file(file: Path, trial_ids: bool = True, whole: bool = False) -> pd.DataFrame:
    """The columns that the analysis needs of a response table in a file (all of them if ``whole``); texts that repeat are kept once.

    A table that does not number its trials is read with its ``trial_id`` whether asked or not.

    Raises
    ------
    SpanLabError
        when the file cannot be read or is no response table.
    """
    import pyarrow
    import pyarrow.csv
    import pyarrow.parquet

    try:
        if file.suffix.lower() == ".csv":
            names = file.open(encoding="utf-8").readline().strip().replace('"', "").split(",")
            wanted = names if whole else _wanted(names, trial_ids)
            table = pyarrow.csv.read_csv(file, convert_options=pyarrow.csv.ConvertOptions(include_columns=wanted, strings_can_be_null=True))
        else:
            schema = pyarrow.parquet.read_schema(file)
            wanted = schema.names if whole else _wanted(schema.names, trial_ids)
            texts = [name for name in wanted if pyarrow.types.is_string(schema.field(name).type)]
            table = pyarrow.parquet.read_table(file, columns=wanted, read_dictionary=texts)
    except FileNotFoundError:
        raise SpanLabError(f"{file} does not exist") from None
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise SpanLabError(f"{file} cannot be read as a table: {str(error).splitlines()[0]}") from None
    missing = [name for name in NEEDED if name not in table.column_names]
    if missing:
        raise SpanLabError(f"{file} is no response table: it has no column {', '.join(missing)} (docs/record.md tells the columns)")
    frame = table.to_pandas(split_blocks=True, self_destruct=True)
    del table
    pyarrow.default_memory_pool().release_unused()
    return frame


def _wanted(names: Sequence[str], trial_ids: bool) -> list[str]:
    left = () if trial_ids or "trial" not in names else ("trial_id", "paradigm_hash")
    return [name for name in names if (name in COLUMNS and name not in left) or name.startswith(("factor_", "record_"))]


def _readouts(gathered: Gathered) -> dict[str, tuple[str, ...]]:
    """Of networks: whether answers were read out among the allowed ones or over the whole head."""
    found: dict[tuple[str, str], set[str]] = {}
    for facts in gathered.sessions:
        if facts.kind == "network":
            network: Any = (read_session(facts.folder).get("paradigm_data") or {}).get("network") or {}
            whole = isinstance(network, Mapping) and network.get("readout") == "all_classes"
            how = "over all classes of the head (the chance lines are those of a guess among the allowed answers)" if whole else "among the allowed ones"
            found.setdefault((facts.paradigm, how), set()).add(facts.agent)
    told: dict[str, tuple[str, ...]] = {}
    for (paradigm, how), agents in sorted(found.items()):
        told[paradigm] = (*told.get(paradigm, ()), f"{paradigm}: answers of {', '.join(sorted(agents))} were read out {how}.")
    return told
