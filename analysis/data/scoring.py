"""From the response table to scored items: columns get their types, rows are sorted into items and
intrusions. Everything that is left out is counted and reported, and so is what looks like a mistake and is used.

Nothing here depends on who answered.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from ...core.agent_kinds import PARTICIPANT
from ...core.errors import SpanLabError, in_number
from ...core.json_values import grouped
from .coding import Declared, absent, as_text, asked_last, booleans, coded, decoded, groups, varied
from .ratings import score_halves, with_confidence

_TEXT = (
    "session",
    "participant",
    "agent_kind",
    "agent",
    "agent_settings_hash",
    "paradigm",
    "paradigm_hash",
    "generator",
    "trial_id",
    "outcome",
)
#: Numbers and what they may be at least and at most; whether they are whole.
NUMBERS: Mapping[str, tuple[float, float, bool]] = {
    **dict.fromkeys(("trial", "block", "step", "ask"), (-np.inf, np.inf, False)),
    **dict.fromkeys(("set_size", "list_length", "retention_steps"), (0, np.inf, True)),
    **dict.fromkeys(("serial_position", "output_position"), (1, np.inf, True)),
    **dict.fromkeys(("chance", "blind"), (0, 1, False)),
    "edit_distance": (0, np.inf, True),
}
#: Columns that hold yes or no.
YES_NO = ("correct", "oracle", "practice", "pilot", "warm_up")
#: What tells one trial, as it was taken by somebody, from all others.
TRIAL = (
    "session",
    "participant",
    "agent_kind",
    "agent",
    "agent_settings_hash",
    "paradigm",
    "block",
    "practice",
    "trial",
    "trial_id",
    "row_trial",
)
#: The session of an answerer as a unit of its means, where it is another than the session in the
#: record: see :func:`unit_session`.
UNIT_SESSION = "unit_session"
#: A number for each trial of an answerer, the same in all its sessions: see :func:`same_trial`.
SAME_TRIAL = "same_trial"
#: How the unit of a session begins that is one of several wordings.
WORDING = "wording: "
#: Columns without which no accuracy can be told.
NEEDED = ("agent", "paradigm", "correct")
#: What one agent of one paradigm is known by.
WHO = ("paradigm", "agent_kind", "agent")


#: Columns that say what was answered to an item: rows of one item that differ in one of them
#: contradict each other.
_ANSWERED = ("answer", "correct_answer", "correct", "outcome", "rt_ms")
#: Reaction times of people below this many ms are not possible; as seconds they are usual.
_QUICK_MS = 10.0
#: A person whose reaction times are so often below it has them in seconds.
_MOSTLY = 0.9
_NAMES = 6

_Result = TypeVar("_Result")


_NOTHING = Declared()


@dataclass(frozen=True)
class Scored:
    """A response table ready to be averaged.

    Parameters
    ----------
    items : one row per scored item, ``correct`` 0.0 or 1.0, ``participant`` empty for machines,
        ``unit_trial`` one whole number per trial (-1: unknown)
    intrusions : answers that were not asked for (free recall); no items, so in no accuracy
    notes : what was left out or mended, in plain sentences; empty when all rows were used as they
        are
    cautions : what looks like a mistake in the table and was used all the same, in plain sentences
    accept_unread : whether answers of which many replies could not be read are tested all the same
        (see :mod:`.unread`)
    declared : by paradigm, what its file says of conditions
    """

    items: pd.DataFrame
    intrusions: pd.DataFrame
    notes: tuple[str, ...]
    cautions: tuple[str, ...] = ()
    accept_unread: bool = False
    declared: Mapping[str, Declared] = field(default_factory=dict[str, Declared])

    @property
    def of_file(self) -> Declared:
        """What the file of the only paradigm here declares of its conditions."""
        return self.declared.get(str(self.items["paradigm"].iloc[0]), _NOTHING) if len(self.items) else _NOTHING

    @functools.cached_property
    def conditions(self) -> list[str]:
        """The columns of conditions of the only paradigm here: those that its file names, or else
        the factors that it varies; and, after the first, the phase, where questions of several count."""
        named = [name for name in self.of_file.conditions if name in self.items.columns]
        columns = [name for name in named if decoded(self.items[name]).nunique() > 1] or varied(
            self.items, self.of_file.stand_ins
        )
        phases = ["phase"] if self._phases > 1 else []
        return [*columns[:1], *phases, *columns[1:]]

    @functools.cached_property
    def main(self) -> Scored:
        """The answers with which a page begins (:func:`.coding.asked_last`)."""
        return self.about(())

    def about(self, columns: Iterable[str]) -> Scored:
        """The answers that an effect with these columns is about (:func:`.coding.asked_last`)."""
        if self._phases < 2:
            return self
        kept = asked_last(self.items, (*columns,))
        return self if kept.all() else replace(self, items=self.items[kept].reset_index(drop=True))

    @functools.cached_property
    def _phases(self) -> int:
        """In how many phases questions are asked."""
        return self.items.get("phase", pd.Series([""])).nunique()

    @functools.cached_property
    def known(self) -> dict[Any, Any]:
        """Results that were computed from these items before, kept for later calls."""
        return {}

    def once(self, key: Any, compute: Callable[[], _Result]) -> _Result:
        """A result that is computed from these items when it is first asked for."""
        if key not in self.known:
            self.known[key] = compute()
        return self.known[key]

    @functools.cached_property
    def blocks(self) -> bool:
        """True if N-back items are among them."""
        return has_blocks(self.items)

    @functools.cached_property
    def parts(self) -> Mapping[str, Scored]:
        """Each paradigm by itself."""
        if not len(self.items):
            return {}
        codes, names = coded(self.items["paradigm"])
        if len(names) == 1:
            return {names[0]: self}
        cuts = [0, *np.flatnonzero(codes[1:] != codes[:-1]) + 1, len(codes)]
        runs = {int(codes[start]): slice(start, end) for start, end in pairwise(cuts)}
        together = len(cuts) == len(names) + 1  # rows that stand together need no copy
        by_paradigm = {}
        for number, name in enumerate(names):
            items = self.items.iloc[runs[number]] if together else self.items[codes == number]
            intrusions = self.intrusions[self.intrusions["paradigm"] == name]
            by_paradigm[name] = Scored(
                items.reset_index(drop=True), intrusions, self.notes, self.cautions, self.accept_unread, self.declared
            )
        return by_paradigm


def plural(count: int, one: str, many: str = "") -> str:
    """``1 row``, ``2 rows``."""
    return f"{count} {in_number(count, one, many)}"


def and_more(names: Sized, told: int) -> str:
    """`` and 3 more``; nothing where no more names are there than are told."""
    return f" and {len(names) - told} more" if len(names) > told else ""


def score_table(responses: pd.DataFrame, *, include_practice: bool = False, include_pilot: bool = False) -> Scored:
    """Sort a response table into scored items and intrusions.

    Practice and pilot rows are left out unless asked for; warm-up questions of chat models, and
    decisions for which nothing need be held (set size 0), always. Duplicates count once; omitted
    and invalid answers are wrong; rows without a score are left out. Every such decision is counted
    in ``notes``. Missing columns and an empty table give notes too, and no error.

    Parameters
    ----------
    responses : the response table of one or many sessions (columns as in
        ``sessions.record.COLUMNS``)

    Raises
    ------
    SpanLabError
        when rows contradict each other: two answers to the same item of the same trial.
    """
    left_out: dict[str, int] = {}
    rows, columns = len(responses), frozenset(map(str, responses.columns))
    table = responses.copy(deep=False)
    del responses  # a long table is not kept twice
    table, inferred = numbered(_typed(table, left_out))
    oddities = [*_oddities_of(table)]
    items, intrusions = _sorted(table, left_out, include_practice, include_pilot)
    return Scored(items, intrusions, _told(rows, columns, left_out), (*inferred, *oddities))


def as_scored(responses: pd.DataFrame | Scored) -> Scored:
    """Scored answers, of a response table, too."""
    return responses if isinstance(responses, Scored) else score_table(responses)


def unit_session(items: pd.DataFrame) -> pd.Series:
    """Return the unit to which each item's session belongs.

    It is the session itself. Where a chat model took the same trials in several wordings, or
    several times, its sessions are those of one agent: a unit is then a wording, with all of its
    repeats.
    """
    return items.get(UNIT_SESSION, items["session"])


def same_trial(items: pd.DataFrame) -> pd.Series:
    """Return the number of each item's trial: that of the trial as it was taken, or one for all
    wordings and repeats in which one agent took it."""
    return items.get(SAME_TRIAL, items["unit_trial"])


def over_repeats(items: pd.DataFrame) -> pd.DataFrame:
    """Items of which each is there once in each wording: ``correct`` is averaged over repeats. So
    identical repeats add nothing.

    Items of tables without wordings and repeats stay as they are.
    """
    if SAME_TRIAL not in items.columns or not len(items):
        return items
    number, first = groups(items, [SAME_TRIAL, UNIT_SESSION, "step", "ask", "serial_position"])
    if len(first) == len(items):
        return items
    mean = np.bincount(number, weights=items["correct"].to_numpy(float)) / np.bincount(number)
    return items.iloc[first].assign(correct=mean).reset_index(drop=True)


def has_blocks(items: pd.DataFrame) -> bool:
    """Return whether there are N-back items among scored items."""
    return "record_match" in items.columns and bool(items["record_match"].notna().any())


def identity(name: str) -> str:
    """The same for identifiers that differ in case, spaces, hyphens and leading zeros alone."""
    return re.sub(r"(?<!\d)0+(?=\d)", "", re.sub(r"[\s_\-–.]+", "", name.casefold()))


def _told(rows: int, columns: frozenset[str], counts: Mapping[str, int]) -> tuple[str, ...]:
    """What was left out of a table and why, in words; empty when all rows were used unchanged.

    Parameters
    ----------
    counts : of rows, by the reason (a key of :data:`REASONS`)
    """
    if not rows:
        return ("The table has no rows.",)
    missing = [name for name in NEEDED if name not in columns]
    if missing:
        return (f"The table has no column {', '.join(missing)}: nothing can be scored.",)
    notes: list[str] = []
    notes += [
        f"{plural(count, 'value')} of {reason.removeprefix(_ODD)} that cannot be (such as half a position, or a chance"
        " above 1) taken as missing."
        for reason, count in sorted(counts.items())
        if reason.startswith(_ODD) and count
    ]
    used = [reason for reason in REASONS if counts.get(reason)]
    return (*notes, *(f"{plural(counts[reason], REASONS[reason][0])} {REASONS[reason][1]}" for reason in used))


#: With the name of a column: reason of what is no row that is left out, but a value that is taken
#: as missing.
_ODD = "odd "
#: Why rows are left out (or mended): what they are called, and the rest of the sentence; in the
#: order in which it happens.
REASONS: Mapping[str, tuple[str, str]] = {
    "practice": ("practice row", "left out."),
    "practice used": ("practice row", "included on request."),
    "pilot": ("pilot row", "left out."),
    "pilot used": ("pilot row", "included on request."),
    "warm_up": ("warm-up row", "left out: questions asked before those that count, in the same conversation."),
    "check": ("check", "of attention or of the instructions left out: these need no memory."),
    "twice": ("duplicate row", "counted once."),
    "idle": ("decision", "that needed no memory (set size 0) left out."),
    "confidence": ("rating", "of confidence put beside the answer before."),
    "halves": ("rating", "scored as an answer, by the half of the scale in which it lies."),
    "middle": (
        "rating",
        (
            "on a scale with a middle left out: the middle is neither of two answers, so a scale of answers needs an"
            " even number of steps."
        ),
    ),
    "unscored": ("row", "without a score left out."),
}


def _sorted(
    table: pd.DataFrame, left_out: dict[str, int], include_practice: bool, include_pilot: bool
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Sort the rows of a table whose columns have their types into items and intrusions.

    Parameters
    ----------
    left_out : gets the number of rows that are left out, by the reason
    """
    for name, wanted in (("practice", include_practice), ("pilot", include_pilot)):
        marked = table[name]
        if marked.any():
            left_out[f"{name} used" if wanted else name] = int(marked.sum())
            table = table if wanted else table[~marked]
    warming = table["warm_up"]
    if warming.any():
        left_out["warm_up"] = int(warming.sum())
        table = table[~warming]
    if "_check" in table.columns:
        checks = table["_check"].eq(True).fillna(False).astype(bool)
        left_out["check"] = int(checks.sum())
        table = table[~checks].drop(columns="_check")
    table = _asked_one_by_one(_without_duplicates(table.assign(unit_trial=groups(table, TRIAL)[0]), left_out))
    if UNIT_SESSION in table.columns:
        pool = table[UNIT_SESSION].where(table[UNIT_SESSION] != table["session"].astype(str), "")
        alike = groups(table.assign(session=table["session"].astype(str).where(pool == "", "")), TRIAL)[0]
        table = table.assign(**{SAME_TRIAL: alike})
    idle = decisions(table)
    if idle.any():
        left_out["idle"] = int(idle.sum())
        table = table[~idle]
    halves = middle = rated = 0
    if table["_unanswerable"].any():
        table, halves, middle = score_halves(table)
        table, rated = with_confidence(table)
    left_out |= {
        name: count for name, count in (("confidence", rated), ("halves", halves), ("middle", middle)) if count
    }
    intruding = table["_intrusion"]
    intrusions, items = table[intruding], table[~intruding] if intruding.any() else table
    failed = items["outcome"].isin(["omitted", "invalid"])
    unknown = items["correct"].isna() & (
        ~failed | items["_unanswerable"]
    )  # a rating that was left out is no wrong answer
    if unknown.any():
        if (count := int(unknown.sum()) - rated - middle) > 0:
            left_out["unscored"] = count
        items, failed = items[~unknown], failed[~unknown]
    if failed.any():
        items = items.assign(correct=items["correct"].mask(failed, 0.0).astype(float))
    return _sorted_out(items), _sorted_out(intrusions)


def _typed(table: pd.DataFrame, left_out: dict[str, int]) -> pd.DataFrame:
    """The table with all columns that scoring needs, each with its type; empty where one is missing
    that cannot be done without.

    Parameters
    ----------
    left_out : gets the number of values that cannot be, by column
    """
    if any(name not in table.columns for name in NEEDED):
        table = table.iloc[0:0]
    # A table that keeps its texts once is long: so does the text that it lacks.
    once = any(isinstance(kind, pd.CategoricalDtype) for kind in table.dtypes)
    nothing = (
        pd.Categorical.from_codes(np.zeros(len(table), np.int8), categories=pd.Index([""], dtype="str")) if once else ""
    )
    lacking = {**dict.fromkeys(_TEXT, nothing), **dict.fromkeys(NUMBERS, np.nan), **dict.fromkeys(YES_NO, False)}
    lacking["correct"] = np.nan
    table = table.assign(**{name: empty for name, empty in lacking.items() if name not in table.columns})
    for name in _TEXT:
        table[name] = as_text(table[name])
    if UNIT_SESSION in table.columns:
        unit = as_text(table[UNIT_SESSION]).astype(str)
        table[UNIT_SESSION] = unit.where(unit != "", table["session"].astype(str))
    for name, (low, high, whole) in NUMBERS.items():
        table[name] = _numbers(table[name], name, left_out, low, high, whole)
    if "rt_ms" in table.columns:
        table["rt_ms"] = _numbers(table["rt_ms"], "rt_ms", left_out, 0)
    for name in YES_NO[1:]:
        table[name] = booleans(table[name]).fillna(0.0).astype(bool)
    table["correct"] = booleans(table["correct"])
    if "row_trial" in table.columns:
        table["row_trial"] = table["row_trial"].fillna(0).astype(np.int64)
    if "correct_answer" in table.columns:
        unlisted = absent(table["correct_answer"])
        table["_unanswerable"] = unlisted & table["correct"].isna()
    else:
        unlisted = table.groupby("paradigm")["serial_position"].transform("count") > 0
        table["_unanswerable"] = False
    table["_intrusion"] = unlisted & table["serial_position"].isna() & table["output_position"].notna()
    return table.reset_index(drop=True)


def _numbers(
    column: pd.Series,
    name: str,
    left_out: dict[str, int],
    low: float = -np.inf,
    high: float = np.inf,
    whole: bool = False,
) -> pd.Series:
    """A column as finite numbers between two bounds; what is none is missing, and counted."""
    numbers = pd.to_numeric(column, errors="coerce").astype(float)
    values = numbers.to_numpy()
    with np.errstate(invalid="ignore"):
        fits = np.isfinite(values) & (values >= low) & (values <= high)
        if whole:
            fits &= np.floor(values) == values
    if fits.all():
        return numbers
    odd = int((~fits & column.notna().to_numpy()).sum())
    if odd:
        left_out[f"{_ODD}{name}"] = odd
    return numbers.where(fits)


def _without_duplicates(table: pd.DataFrame, left_out: dict[str, int]) -> pd.DataFrame:
    """Each item of each trial once: the same row read twice is dropped.

    Raises
    ------
    SpanLabError
        when two rows of the same item differ in what was answered, or in how it was scored or
        timed.
    """
    if not len(table):
        return table
    placed = table["row_trial"].to_numpy() == 0  # of others, items cannot be distinguished
    out = table["output_position"].where(table["_intrusion"])
    item, _ = groups(table.assign(_out=out), ["unit_trial", "step", "ask", "serial_position", "_intrusion", "_out"])
    if not (pd.Series(item).duplicated().to_numpy() & placed).any():
        return table
    answered = {name: pd.factorize(table[name])[0] for name in _ANSWERED if name in table.columns}
    work = pd.DataFrame({"item": item, **answered})
    again = work.duplicated().to_numpy() & placed
    clash = work[~again].duplicated("item").to_numpy() & placed[~again]
    if clash.any():
        other = int(np.flatnonzero(~again)[clash][0])
        raise _contradiction(table.iloc[int(np.argmax(item == item[other]))], table.iloc[other], int(clash.sum()))
    if again.any():
        left_out["twice"] = int(again.sum())
    return table[~again]


#: Columns of a row's place within its trial, the surest first.
_PLACES = ("output_position", "ask", "serial_position")


def numbered(table: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """A table in which every row belongs to a trial (``row_trial`` beside ``trial`` and
    ``trial_id``), and what was inferred.

    A row that has neither ``trial`` nor ``trial_id`` is a trial of its own, unless a position tells
    that it belongs to the row before it.
    """
    if "row_trial" in table.columns:
        return table, []
    known = np.zeros(len(table), bool)
    for name in ("trial", "trial_id"):
        if name in table.columns:
            known |= (table[name].notna() & table[name].ne("")).to_numpy()
    if known.all():
        return _in_blocks(table.assign(row_trial=0), [])
    rows = table[~known]
    there = [name for name in _PLACES if name in rows.columns and rows[name].notna().mean() > _MOSTLY]
    place = next((name for name in there if rows[name].nunique() > 1), "")
    begins = np.ones(len(rows), bool)
    blocks = not place and has_blocks(rows)
    if blocks:
        same = groups(rows, [name for name in (*TRIAL, "factor_n", "set_size") if name in rows.columns])[0]
        begins[1:] = same[1:] != same[:-1]
    if place:
        same = groups(rows, [name for name in TRIAL if name in rows.columns])[0]
        at = rows[place].to_numpy(float)
        begins[1:] = (same[1:] != same[:-1]) | ~(at[1:] > at[:-1])
        if (at[begins] > 1).any():  # in another order than that of positions: a trial has none twice
            begins = _begins_again(same, at)
    number = np.zeros(len(table), np.int64)
    number[~known] = np.cumsum(begins)
    how = f"a trial begins where {place} begins again" if place else "each row is taken as a trial"
    how = "rows of one N that follow one another are taken as a block" if blocks else how
    few = "" if len(rows) == len(table) else f"{len(rows):,} rows have no trial number: "
    return _in_blocks(table.assign(row_trial=number), [f"{few or 'No trial numbers: '}{how}."])


def _in_blocks(table: pd.DataFrame, said: list[str]) -> tuple[pd.DataFrame, list[str]]:
    """Items of N-back numbered within their blocks, where nothing numbers them."""
    placed = [name for name in ("ask", "serial_position") if name in table.columns and table[name].notna().any()]
    if placed or not has_blocks(table):
        return table, said
    block = groups(table, [name for name in TRIAL if name in table.columns])[0]
    order = pd.Series(block, index=table.index).groupby(block).cumcount() + 1
    if order.max() == 1 and "trial" in table.columns:
        return _blocks_of_items(table, said)
    if order.max() == 1:
        return table, said
    return table.assign(ask=order.astype(float)), [*said, "Items of a block are numbered in the order of the rows."]


def _blocks_of_items(table: pd.DataFrame, said: list[str]) -> tuple[pd.DataFrame, list[str]]:
    """Items of N-back of which each has a trial number: a block is a run of rising numbers at one N."""
    alike = [name for name in (*TRIAL, "factor_n", "set_size") if name in table.columns and not name.endswith("trial")]
    same, at = groups(table, [name for name in alike if name != "trial_id"])[0], table["trial"].to_numpy(float)
    begins = np.r_[True, (same[1:] != same[:-1]) | ~(at[1:] > at[:-1])]
    block = np.cumsum(begins)
    place = pd.Series(block, index=table.index).groupby(block).cumcount() + 1.0
    if begins.mean() > 0.5:
        return table, said
    how = "Trial numbers are those of items: rows of one N that follow one another are taken as a block."
    return table.assign(trial=block, ask=place), [*said, how]


def _begins_again(same: np.ndarray, at: np.ndarray) -> np.ndarray:
    begins, met = np.ones(len(at), bool), set[float]()
    for row in range(len(at)):
        begins[row] = row == 0 or same[row] != same[row - 1] or at[row] in met
        met = {at[row]} if begins[row] else met | {at[row]}
    return begins


def decisions(table: pd.DataFrame) -> np.ndarray:
    """Mark decisions that need no memory, as between the items of complex spans: rows of set size 0
    in a trial with others, and in a phase of their own. Zero is a set size like any other
    elsewhere.
    """
    if "phase" not in table.columns or "unit_trial" not in table.columns:
        return np.zeros(len(table), bool)
    idle = (table["set_size"] == 0).to_numpy()
    if not idle.any():
        return idle
    beside = (table["set_size"] > 0).groupby(table["unit_trial"]).transform("any").to_numpy()
    phases = table["paradigm"].astype(str) + "\n" + table["phase"].astype(str)
    return idle & beside & ~phases.isin({*phases[~idle].unique()}).to_numpy()


def _asked_one_by_one(table: pd.DataFrame) -> pd.DataFrame:
    """A table in which output positions are those of free recall alone. Where each item of a list is
    asked for by itself, or a wrong answer has one, the list is recalled in series."""
    listed = table["serial_position"].notna() & table["output_position"].notna() & table["edit_distance"].isna()
    if not listed.any():
        return table
    rows = table[listed]
    wrong = {*rows.loc[rows["correct"].eq(0.0), "paradigm"]}
    shared = rows.duplicated(["unit_trial", "step", "ask"], keep=False) | rows["ask"].isna()
    lists = {*rows.loc[rows.duplicated("unit_trial"), "paradigm"]} - {*rows.loc[shared, "paradigm"]}
    serial = listed & table["paradigm"].isin(wrong | lists)
    asked = table["ask"].where(~serial | table["ask"].notna(), table["output_position"])
    return table.assign(output_position=table["output_position"].mask(serial), ask=asked)


def _sorted_out(table: pd.DataFrame) -> pd.DataFrame:
    """Rows counted from 0, without what only sorting needed."""
    return table.drop(columns=["_intrusion", "_unanswerable"]).reset_index(drop=True)


def _oddities_of(table: pd.DataFrame) -> Iterator[str]:
    """What looks like a mistake in a table whose columns have their types, what was made of it, and
    what to write in its place."""
    known = (table["agent"] != "") & (table["paradigm"] != "")
    kindless = known & (table["agent_kind"] == "")
    persons = table[known & ((table["agent_kind"] == PARTICIPANT.name) | kindless)]
    if kindless.any():
        many, rows = int(kindless.sum()), int(known.sum())
        of = "No row says" if many == rows else f"{many:,} of {rows:,} rows do not say"
        yield (
            f"{of} what kind of agent answered (agent_kind): these answers count as those of a machine. "
            f"Write {PARTICIPANT.name} for people, and network, chat or a name of your own for machines."
        )
    people = {*map(str, persons["participant"].unique())} - {""}
    alike = grouped((identity(name), name) for name in sorted(people))
    if several := [" and ".join(map(repr, names)) for names in alike.values() if len(names) > 1]:
        yield (
            "Identifiers of participants are nearly alike and count as different people:"
            f" {_some(several, '; ')}. Write each person's identifier in one way."
        )
    right = int((table["outcome"].isin(["omitted", "invalid"]) & (table["correct"] == 1)).sum())
    if right:
        rows = f"{right:,} {in_number(right, 'row is', 'rows are')}"
        yield (
            f"{rows} marked as omitted or invalid and yet as correct: {in_number(right, 'it counts', 'they count')} as"
            " wrong. Write the outcome answered where an answer was given."
        )
    if who := _in_seconds(persons):
        yield (
            f"Reaction times (rt_ms) of {_some(who, ', ')} are below {_QUICK_MS:g} ms, as if they were in seconds."
            " They are used as they are: write milliseconds."
        )


def _some(names: Sequence[str], between: str) -> str:
    """The first of some names, and how many more there are."""
    return between.join(names[:_NAMES]) + and_more(names, _NAMES)


def _in_seconds(persons: pd.DataFrame) -> list[str]:
    """Whose reaction times are too short for milliseconds, as a rule."""
    if "rt_ms" not in persons.columns:
        return []
    times = persons[persons["rt_ms"].notna()]
    who = times["participant"].astype(str)
    who = who.where(who != "", times["agent"].astype(str))
    quick = times["rt_ms"].between(0, _QUICK_MS, inclusive="neither").groupby(who).mean()
    return sorted(quick.index[quick >= _MOSTLY])


def _contradiction(first: pd.Series, other: pd.Series, rows: int) -> SpanLabError:
    """The error that two rows give the same item two answers.

    Parameters
    ----------
    first, other : two rows of one item
    rows : how many rows contradict an earlier one
    """
    who = "participant" if _plain(first["participant"]) else "agent"
    where = [
        f"{name} {_plain(first[name])}"
        for name in ("paradigm", who, "session", "trial", "step", "ask")
        if _plain(first.get(name))
    ]
    name = next(name for name in _ANSWERED if name in first.index and _plain(first[name]) != _plain(other[name]))
    more = f", and {rows - 1:,} further rows contradict earlier ones" if rows > 1 else ""
    return SpanLabError(
        f"two rows of the same item contradict each other: {', '.join(where)} has {name}"
        f" {_plain(first[name]) or 'empty'} in one row and {_plain(other[name]) or 'empty'} in another{more}. Delete"
        " the wrong rows; where both are right, tell them apart by the numbers in trial, step or ask, or by session"
    )


def _plain(value: Any) -> str:
    """A value in a message; empty where it is missing."""
    if value is None or value != value or value == "":
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)
