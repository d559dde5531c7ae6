"""Columns of tables of answers: conditions by the names that people use for them (with or without
``factor_`` and ``record_``, and which of them a paradigm varies), and values as codes, numbers, texts, yes
and no, each read once."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from ...core.errors import SpanLabError
from ...core.json_values import as_object
from ...core.registry import nearest
from ...sessions.record.table import FURTHER, OWN_COLUMNS
from .recipe import OPTION, OURS
from .vocabulary import TAKEN

#: Columns of the record that conditions may be, besides factors and recorded values.
PLAIN = (
    "list_length",
    "set_size",
    "serial_position",
    "retention_steps",
    "output_position",
    "block",
    "group",
    "confidence",
    "phase",
)
#: Those of them that a paradigm may vary as a factor.
_FACTORS = ("list_length", "set_size", "retention_steps")
#: the rows of a table of conditions: what they stand for is in recorded values
_ROWS = "factor_table_row"
#: most levels of a recorded value that is a condition though no file says so
_MOST_RECORDED = 8
#: How truth values are said as levels.
YES_OR_NO = {True: "yes", False: "no"}
#: What people and spreadsheets write for yes and for no.
YES = frozenset(
    (
        *("true", "1", "1.0", "yes", "wahr", "vrai", "verdadero", "vero", "waar", "verdadeiro"),
        *("sant", "sann", "sand", "prawda", "tosi", "igaz", "doğru", "истина"),
    )
)
NO = frozenset(
    (
        *("false", "0", "0.0", "no", "falsch", "faux", "falso", "onwaar", "falskt", "usann"),
        *("falsk", "fałsz", "epätosi", "hamis", "yanlış", "ложь"),
    )
)
_ROOM = 2**62


@dataclass(frozen=True)
class DeclaredEffect:
    """An effect that the file of a paradigm declares.

    Parameters
    ----------
    of, along : columns: what is compared, and a condition for each level of which it is shown
    pairs : levels of ``of`` in words: the first minus the second of each
    value : ``correct``, ``rt_ms``, ``rt_median`` or ``d_prime``
    phase : of the questions that it is about; empty for all
    """

    name: str
    of: str
    pairs: tuple[tuple[str, str], ...]
    along: str
    value: str
    caption: str
    phase: str = ""

    @property
    def compared(self) -> str:
        """What is compared, in words."""
        measured = {"correct": "right answers", "d_prime": "d′", "rt_ms": "mean times", "rt_median": "median times"}
        pairs = " and ".join(f"{one} minus {other}" for one, other in self.pairs)
        along = f", for each level of {plain_name(self.along)}" if self.along else ""
        return f"{plain_name(self.of)} {pairs} in {measured[self.value]}{along}"

    def concerned(self, items: pd.DataFrame) -> np.ndarray:
        """Mark the rows that it is about: of its phase, or else as :func:`asked_last` says."""
        return (
            items["phase"].eq(self.phase).fillna(False).to_numpy(bool)
            if self.phase
            else asked_last(items, (self.of, self.along))
        )


@dataclass(frozen=True)
class Declared:
    """What the file of a paradigm says of its conditions.

    Parameters
    ----------
    conditions : columns that figures, tests and scores are about, the most important first; empty
        where it names none
    levels : of every factor, by column, in the order of the file
    effects : by name
    stand_ins : by the column of a factor that only a draw uses, that of the recorded value it stands for
    """

    conditions: tuple[str, ...] = ()
    levels: Mapping[str, tuple[Any, ...]] = field(default_factory=dict[str, tuple[Any, ...]])
    effects: Mapping[str, DeclaredEffect] = field(default_factory=dict[str, DeclaredEffect])
    stand_ins: Mapping[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def read(cls, content: object) -> Declared:
        """Read the content of a paradigm's file, as a session keeps it."""
        data = as_object(content)
        factors = {str(name): _levels(value) for name, value in (data.get("factors") or {}).items()}
        columns = {name: name if name in OWN_COLUMNS else f"factor_{name}" for name in factors}

        def column(name: str) -> str:
            return columns.get(name) or (name if name in OWN_COLUMNS else f"record_{name}")

        effects = {
            name: DeclaredEffect(
                name=name,
                of=column(entry["of"]),
                pairs=tuple((_level(one), _level(other)) for one, other in entry["contrast"].items()),
                along=column(entry["along"]) if entry.get("along") else "",
                value=entry.get("value", "correct"),
                caption=entry.get("caption") or "",
                phase=entry.get("phase") or "",
            )
            for name, entry in (data.get("effects") or {}).items()
        }
        named = tuple(map(column, data.get("conditions") or ()))
        stand_ins = {columns[name]: column(value) for name, value in _stand_ins(data, factors)}
        return cls(named, {columns[name]: levels for name, levels in factors.items()}, effects, stand_ins)

    def ordered(self, column: str, words: Iterable[str]) -> list[str]:
        """Levels in words, in the order of the file; in a natural one where it has none."""
        places = {_said(level): place for place, level in enumerate(self.levels.get(column, ()))}
        return sorted(words, key=lambda word: (places.get(word, len(places)), natural(word)))


def asked_last(items: pd.DataFrame, columns: Iterable[str] = ()) -> np.ndarray:
    """Mark the questions of the last phase of trials that have scored questions in several, such as
    the probe after a cue that is answered, too; all where columns that matter tell phases apart, or
    have values in others alone."""
    everything = np.ones(len(items), bool)
    if not {"phase", "ask", "unit_trial"} <= {*items.columns} or items["phase"].nunique() < 2 or "phase" in columns:
        return everything
    asks = items["ask"].to_numpy(float, na_value=np.nan)
    of_one_trial = items[["unit_trial", "phase"]].drop_duplicates()["unit_trial"].duplicated().any()
    if not np.isfinite(asks).any() or not of_one_trial:  # parts of a session may be called phases, too
        return everything
    last = items["phase"].eq(items["phase"].iloc[int(np.nanargmax(asks))]).fillna(False).to_numpy(bool)
    elsewhere = any(name in items.columns and items[name][last].isna().all() for name in columns)
    return everything if elsewhere else last


def _levels(factor: Any) -> tuple[Any, ...]:
    """The levels of a factor as the file has it: a list, at random, or with weights."""
    return tuple(factor.get("random", factor) if isinstance(factor, Mapping) else factor)


def _stand_ins(data: Mapping[str, Any], factors: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Factors that nothing but one draw uses, each with the name under which this draw is recorded:
    ``slot`` in ``trial_type: =['AX', 'AX', 'BX'][slot]``."""
    draws = data.get("draw") or {}
    shown = json.dumps([data.get(key) for key in ("timeline", "set_size", "list_length", "instructions", "network")])
    for factor in factors:
        users = [name for name, draw in draws.items() if re.search(rf"\b{factor}\b", json.dumps(draw))]
        if len(users) == 1 and not re.search(rf"\b{factor}\b", shown):
            yield from ((factor, recorded) for recorded in re.findall(rf'"(\w+)": "=\s*{users[0]}\s*"', shown)[:1])


def _level(word: Any) -> str:
    """A level of a contrast as tables say it; the keys of a file are text."""
    return _said({"true": True, "false": False}.get(word, word))


def _said(level: Any) -> str:
    return YES_OR_NO[level] if isinstance(level, bool) else str(level)


def plain_name(column: str) -> str:
    """``presence`` for ``factor_presence``."""
    return next((column.removeprefix(prefix) for prefix in FURTHER if column.startswith(prefix)), column)


def column_named(items: pd.DataFrame, name: str, paradigm: str, what: str) -> str:
    """The column that is meant, with or without the prefix of factors and recorded values.

    Parameters
    ----------
    what : what cannot be had without it, for the message

    Raises
    ------
    SpanLabError
        when there is none; the message lists what there is.
    """
    for one in (name, *(f"{prefix}{name}" for prefix in FURTHER)):
        if one in items.columns and (one in PLAIN or one.startswith(FURTHER)) and items[one].notna().any():
            return one
    raise SpanLabError(f"no {what}: {paradigm} {lacking(name, columns_there(items))}")


def lacking(name: str, there: Sequence[str]) -> str:
    """What is said of answers without a column of conditions: what there is, and how a table's column of a name
    that is SpanLab's own is read."""
    return f"has no column '{name}'{nearest(name, there)}; its conditions are: {', '.join(there) or 'none'}" + (
        f" (a column '{name}' of your file is read with {OPTION} {name}=factor_OTHER, and called OTHER then)"
        if name in OURS | TAKEN
        else ""
    )


def columns_there(items: pd.DataFrame) -> list[str]:
    """The names of all columns of conditions that have values."""
    names = [one for one in items.columns if (one in PLAIN or one.startswith(FURTHER)) and items[one].notna().any()]
    return list(dict.fromkeys(map(plain_name, names)))


def varied(items: pd.DataFrame, stand_ins: Mapping[str, str]) -> list[str]:
    """The columns of conditions that a paradigm varies as factors, and what it records with few
    values, each of several levels; of columns with the same information, only the first.

    Factors come first, and of these numbers, since they make curves.

    Parameters
    ----------
    stand_ins : recorded values in place of the factors that stand for them
    """
    factors = [name for name in _FACTORS if name in items.columns] + sorted(
        stand_ins.get(one, one) for one in items.columns if one.startswith("factor_") and one != _ROWS
    )
    several = [name for name in factors if name in items.columns and decoded(items[name]).nunique() > 1]
    several += [
        one
        for one in sorted(set(items.columns) - set(several))
        if one.startswith("record_") and 1 < decoded(items[one]).nunique() <= _MOST_RECORDED
    ]
    kept, truth = list[str](), [name for name in ("correct_answer",) if name in items.columns]
    for name in several:
        others = kept if name in factors else [*kept, *truth]
        if not any(alike(items, name, other) for other in others):
            kept.append(name)
    return sorted(kept, key=lambda name: (name not in factors, not is_numeric(items[name])))


def alike(items: pd.DataFrame, one: str, other: str) -> bool:
    """Return whether two columns distinguish the same conditions, whatever their levels are called."""
    pairs = items[[one, other]].astype(str).drop_duplicates()
    return bool(not pairs[one].duplicated().any() and not pairs[other].duplicated().any())


def is_numeric(column: pd.Series) -> bool:
    """Return whether the levels of a column are numbers."""
    known = decoded(column).dropna()
    return all(
        isinstance(value, int | float | np.number) and not isinstance(value, bool | np.bool_)
        for value in known.unique()
    )


def coded(column: pd.Series) -> tuple[np.ndarray, list[Any]]:
    """A column as whole numbers from 0 in the order of its sorted values, and these values; -1
    stands for missing."""
    codes, distinct = pd.factorize(column)
    values = [_unboxed(value) for value in distinct]
    order = sorted(range(len(values)), key=lambda at: natural(values[at]))
    rank = np.empty(len(values) + 1, dtype=np.int64)
    rank[order] = np.arange(len(values))
    rank[-1] = -1
    return rank[codes], [values[at] for at in order]


def natural(value: Any) -> tuple[bool, Any]:
    """The place of a value in the order that people expect: numbers first, and ``2 items`` before ``10
    items``."""
    return (True, _in_parts(value)) if isinstance(value, str) else (False, value)


@lru_cache(maxsize=1 << 16)  # names of sessions are sorted again and again
def _in_parts(text: str) -> list[tuple[bool, float, str]]:
    parts = re.split(r"(\d+(?:\.\d+)?)", text)
    return [(not part.strip(), float(part), "") if at % 2 else (True, 0.0, part) for at, part in enumerate(parts)]


def packed(codes: Sequence[np.ndarray], sizes: Sequence[int], sort: bool = True) -> np.ndarray:
    """Several columns of codes as one column of whole numbers that sort like the first, then the
    second, and so on (if ``sort``)."""
    code, room = np.zeros(len(codes[0]), dtype=np.int64), 1
    for column_codes, size in zip(codes, sizes, strict=True):
        if size <= 1 and not column_codes.any():
            continue
        if room * max(size, 1) > _ROOM:
            code, names = pd.factorize(code, sort=sort)
            room = len(names)
        code, room = code * max(size, 1) + column_codes, room * max(size, 1)
    return code


def groups(table: pd.DataFrame, columns: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Rows that are alike in ``columns``: the number of each row's group, and the first row of each
    group. Missing values are alike."""
    number = np.zeros(len(table), np.int64)
    for name in columns:
        codes, distinct = pd.factorize(table[name], use_na_sentinel=False)
        if len(distinct) > 1:
            number, _ = pd.factorize(number * len(distinct) + codes)
    return number, first_rows(number, int(number.max(initial=-1)) + 1)


def first_rows(number: np.ndarray, many: int) -> np.ndarray:
    """The first row of each group."""
    first = np.empty(many, dtype=np.int64)
    first[number[::-1]] = np.arange(len(number) - 1, -1, -1)
    return first


def decoded(column: pd.Series) -> pd.Series:
    """A column of JSON scalars (as text, or decoded already) as plain values; None where it holds
    null or nothing."""
    codes, values = pd.factorize(column)
    plain = [*map(plain_value, values)]
    known = [value for value in plain if value is not None]
    missing = len(known) < len(plain) or bool((codes < 0).any())
    if not known or all(isinstance(value, int | float) and not isinstance(value, bool) for value in known):
        whole = not missing and all(isinstance(value, int) for value in known)
        numbers = np.array([*(np.nan if value is None else value for value in plain), np.nan])
        return pd.Series(numbers[codes].astype(np.int64) if whole else numbers[codes], index=column.index)
    if all(isinstance(value, str) for value in known):
        return pd.Series(pd.array([*plain, None], dtype="str").take(codes % (len(plain) + 1)), index=column.index)
    return pd.Series(np.array([*plain, None], dtype=object)[codes], index=column.index).infer_objects()


def numbers(column: pd.Series) -> np.ndarray:
    """A column of JSON scalars as numbers; true is 1, false 0, everything else that is not a number
    NaN."""
    codes, values = pd.factorize(column)
    plain = [value if isinstance(value := plain_value(text), bool | int | float) else np.nan for text in values]
    return np.asarray([*map(float, plain), np.nan])[codes]


def records(table: pd.DataFrame) -> list[dict[Any, Any]]:
    """The rows of a table as ``table.to_dict("records")`` has them, in half the time: a page asks
    for those of hundreds of small tables."""
    columns = [_boxed(column) for _, column in table.items()]
    names = [*table.columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _boxed(column: pd.Series) -> list[Any]:
    """The values of a column as Python's own; None for what is missing where pandas has a value of
    its own for that."""
    values = column.tolist()
    if column.dtype.kind != "O" and isinstance(column.dtype, np.dtype):
        return values
    return [None if value is pd.NA else _unboxed(value) for value in values]


def _unboxed(value: Any) -> Any:
    """A value of numpy as Python's own."""
    return value.item() if isinstance(value, np.generic) else value


def in_short(value: Any) -> str:
    """A value as text; a number is the same with and without a decimal point."""
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def mean_or_nan(values: np.ndarray) -> float:
    """The mean; NaN of no values."""
    return float(values.mean()) if len(values) else np.nan


def with_whole(table: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """A table with these of its columns as whole numbers, each of which may be missing."""
    return table.assign(**{name: table[name].astype("Int64") for name in names if name in table.columns})


def plain_value(value: object) -> Any:
    """Return what a JSON scalar stands for; other text stands for itself."""
    if not isinstance(value, str):
        return _unboxed(value)
    try:
        decoded_value = json.loads(value)
    except ValueError:
        return value
    return value if isinstance(decoded_value, (list, dict)) else decoded_value


def as_text(column: pd.Series) -> pd.Series:
    """A column as text, nothing where it is missing; texts that are kept once (categories) stay so."""
    if isinstance(column.dtype, pd.CategoricalDtype) and column.cat.categories.dtype == "str":
        if not column.isna().any():
            return column
        return (column if "" in column.cat.categories else column.cat.add_categories("")).fillna("")
    return _each(column, lambda value: "" if _missing(value) else str(value), str)


def booleans(column: pd.Series) -> pd.Series:
    """Yes and no in any spelling that a file may hold, as 1.0, 0.0 and NaN."""
    if column.dtype == bool:
        return column.astype(float)
    words = {**dict.fromkeys(YES, 1.0), **dict.fromkeys(NO, 0.0)}
    return _each(column, lambda value: words.get(str(value).strip().lower(), np.nan), float)


def yes_in(table: pd.DataFrame, name: str) -> pd.Series:
    """The rows in which a column of yes and no says yes; none where the table lacks it."""
    return booleans(table.get(name, pd.Series(False, index=table.index))).eq(1.0)


def analysed(table: pd.DataFrame, include_practice: bool = False, include_pilot: bool = False) -> pd.Series:
    """The rows of a table that are analysed: practice and pilots on request alone."""
    return (include_practice | ~yes_in(table, "practice")) & (include_pilot | ~yes_in(table, "pilot"))


def absent(column: pd.Series) -> pd.Series:
    """Return where a column of JSON scalars holds null, decoded or as text."""
    return _each(
        column, lambda value: _missing(value) or (isinstance(value, str) and value.strip() in ("", "null")), bool
    )


def _missing(value: object) -> bool:
    return value is None or value != value


def _each(column: pd.Series, function: Callable[[object], object], kind: type) -> pd.Series:
    """A function of every value of a column, computed once for each distinct value: long tables
    repeat few of them."""
    if not len(column):
        return pd.Series(np.empty(0, object), index=column.index).astype(kind)
    try:
        codes, distinct = pd.factorize(column)
    except TypeError:  # lists and the like
        return column.map(function).astype(kind)
    # missing values have code -1: the last one
    return pd.Series(
        pd.array([*map(function, distinct), function(None)], dtype=kind).take(codes % (len(distinct) + 1)),
        index=column.index,
    )
