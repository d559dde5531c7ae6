"""The one door for tables that somebody brings: which columns are who, which trial, condition,
answer, truth, time and angle, in the units of the record. Every inference is a sentence; what
cannot be inferred is asked for in an error that says what to write.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...core.agent_kinds import PARTICIPANT
from ...core.errors import SpanLabError, in_number
from ...core.json_values import NOTHING
from ...sessions.record.table import COLUMNS as RECORDED
from ...sessions.record.table import FURTHER
from .coding import NO, YES, groups, numbers
from .files import DATE, WINDOWS, read_columns
from .recipe import OPTION, OURS, Recipe, column
from .scoring import NEEDED, TRIAL, YES_NO, and_more, numbered
from .vocabulary import (
    ANSWERS,
    BACK,
    BACKS,
    CODED,
    EXPECTED,
    MATCH,
    MATCHES,
    NO_MATCH,
    NOTHING_GIVEN,
    OF_DESIGNS,
    OUTCOMES,
    PROGRAMS,
    SHOWN,
    SYNONYMS,
    TAKEN,
    VERDICTS,
    Program,
    folded_name,
)

#: Columns that the analysis reads, besides those of factors and recorded values.
COLUMNS = tuple(one.name for one in RECORDED if one.loaded)
NUMERIC = frozenset(one.name for one in RECORDED if one.type in ("integer", "number"))
#: A column of more different values is no condition.
_MOST_LEVELS = 50
#: No set and no list has more items.
_MOST_ITEMS = 100
#: What stands where there is no value.
_MISSING = frozenset(("NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "None", "null", "NULL", "#NULL!", "."))
_GROUPED = re.compile(r"\s*[-+]?\d{1,3}([.,])\d{3}(\1\d{3})*(?!\1)[.,]\d+\s*")
_COMMA = re.compile(r"\s*[-+]?\d+,\d+([eE][-+]?\d+)?\s*")
_POINT = re.compile(r"\s*[-+]?\d*\.\d+([eE][-+]?\d+)?\s*")
#: What a spreadsheet makes of an identifier such as 12e5, or of one of sixteen digits.
_POWER = re.compile(r"\d([.,]\d+)?[eE][-+]\d+")
#: How spreadsheets write what was recorded as true or false; yes, no, 0 and 1 may be levels.
_TRUTHS = (YES | NO) - {"yes", "no", "1", "0", "1.0", "0.0"}
#: Times whose median is below this many ms are seconds.
_SECONDS = 50.0
#: Columns that tell the questions of a trial apart.
_WITHIN = ("step", "ask", "serial_position", "output_position", "phase", "record_match")
#: What most rows are.
_MOSTLY = 0.75
#: An answer on a circle counts as right within this part of it, where nothing else is said.
_TOLERANCE = 1 / 8
#: Names of tables of BIDS.
BIDS = re.compile(
    r"sub-(?P<participant>[A-Za-z0-9]+)(_ses-(?P<session>[A-Za-z0-9]+))?_task-(?P<paradigm>[A-Za-z0-9]+)"
    r"(_[a-z]+-[A-Za-z0-9]+)*_(events|beh)\.tsv"
)


@dataclass(frozen=True)
class Opened:
    """A table that somebody brought, in the columns of the response table.

    Parameters
    ----------
    said : what was inferred, in sentences
    unused : their columns that are not read
    unscored : rows of a program's table without a scored answer
    contradictions : answers whose score is another than that of comparing them with the right one
    read : by column of the response table, the one of theirs that was taken for it
    """

    table: pd.DataFrame
    said: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    unscored: int = 0
    contradictions: int = 0
    read: Mapping[str, str] = field(default_factory=dict)


def open_table(file: Path, recipe: Recipe | None = None, *, whole: bool = False) -> Opened:
    """Read a table and bring it into the columns of the response table.

    Parameters
    ----------
    recipe : what its columns mean; as their names say when not given
    whole : whether columns are read that the analysis does not need

    Raises
    ------
    SpanLabError
        when it cannot be read, or what it means cannot be inferred.
    """
    return _Reading(file, recipe or Recipe()).opened(whole)


class _Reading:
    """The way of a table through the door."""

    def __init__(self, file: Path, recipe: Recipe) -> None:
        self.file, self.recipe = file, recipe
        self.said: list[str] = []
        self.read: dict[str, str] = {}  # our column: theirs
        self.unscored = self.contradictions = 0
        self.milliseconds = 0.0  # of the program's unit of time; 0 where it is not known
        self.delimiter, self.german = "", False

    def opened(self, whole: bool) -> Opened:
        recipe = self.recipe
        raw = read_columns(
            self.file,
            recipe.names,
            recipe.skip,
            recipe.sheet,
            lambda names: self._picked(names, whole),
        )
        self.delimiter = str(raw.attrs.get("delimiter", ""))
        if raw.attrs.get("encoding") == WINDOWS:
            self.said.append(f"{self.file.name} is not UTF-8: it is read as Windows-1252.")
        recipe.asked([*raw.columns], self.file)
        raw = self._without_missing(raw)
        if recipe.keep:
            raw = raw[column(raw, recipe.keep, self.file).eq(True)].reset_index(drop=True)
        raw, program = self._answers_apart(raw)
        table = self._recalled(self._named(raw, program))
        if len(table) < len(raw):  # a long table is not copied for nothing
            raw = raw.loc[table.index]
        self._who(table, raw, program)
        self._practised(table, raw)
        self._judged(table, raw)
        self._numbers(table)
        self._times(table)
        self._angles(table)
        self._scored(table, program)
        self._levels(table)
        self._refuse(table)
        self._runs(table)
        self._questions(table)
        table, inferred = numbered(table)
        self.said += [f"{self.file.name}: {sentence}" for sentence in inferred]
        self._lists(table)
        if self.read:
            pairs = ", ".join(f"'{theirs}' as {ours}" for ours, theirs in self.read.items())
            self.said.insert(0, f"{self.file.name}: {pairs}.")
        taken = {*self.read.values(), *recipe.conditions, *recipe.columns.values()}
        unused = [name for name in raw.columns if name not in {*table.columns, *taken} and not name.startswith("_")]
        return Opened(table, tuple(self.said), tuple(unused), self.unscored, self.contradictions, self.read)

    def _picked(self, names: Sequence[str], whole: bool) -> list[str]:
        """Of a table in our own columns those that the analysis needs, and what it does not know."""
        if whole or self.recipe != Recipe() or not {*NEEDED} <= {*names}:
            return [name for name in names if name]
        passed = OURS - {*COLUMNS}
        return [name for name in names if name not in passed]

    def _without_missing(self, raw: pd.DataFrame) -> pd.DataFrame:
        missing = _MISSING | {*self.recipe.missing}
        changed: dict[str, pd.Series] = {}
        for name in raw.columns:
            if isinstance(raw[name].dtype, pd.CategoricalDtype):
                gone = [one for one in raw[name].cat.categories if str(one).strip() in missing or not str(one).strip()]
                kept = (
                    raw[name]
                    if not gone or (name == "answer" and gone == ["."])
                    else raw[name].cat.remove_categories(gone)
                )
                formulas = {one: one[1:] for one in map(str, kept.cat.categories) if re.match(r"'[=+\-@]", one)}
                if gone or formulas:
                    changed[name] = kept.cat.rename_categories(formulas) if formulas else kept
        return raw.assign(**changed)

    # -- rows ---------------------------------------------------------------------------------------

    def _answers_apart(self, raw: pd.DataFrame) -> tuple[pd.DataFrame, Program | None]:
        """A row for each answer, and the program whose table it is."""
        recipe = self.recipe
        if recipe.long is not None:
            return self._lengthened(raw), None
        if any(re.fullmatch(r".+\.ACC\[\w+\]", str(name)) for name in raw.columns):  # E-Prime names the level, too
            raw = raw.rename(columns=lambda name: re.sub(r"\[\w+\]$", "", str(name)))
        names = [*raw.columns]
        program = next((one for one in PROGRAMS if all(_any(mark, names) for mark in one.marks)), None)
        if program is None or {*NEEDED} <= {*names}:
            return raw, None
        parts = {name: match[1] for name in names if (match := re.fullmatch(program.score, name))}
        if len(parts) > 1 and "" in parts.values():  # what is said of the last component again
            parts = {name: part for name, part in parts.items() if part}
        chosen = recipe.columns.get("correct")
        parts = {name: part for name, part in parts.items() if chosen in (None, name)}
        self.milliseconds = program.ms
        rows = []
        for score, part in parts.items():
            theirs = {
                "correct": score,
                "answer": _first(program.answers, part, names),
                "rt_ms": _first(program.times, part, names),
                "correct_answer": _first((*program.expected, *EXPECTED), part, names),
            }
            there = raw[raw[score].notna()]
            known = {ours: there[name] for ours, name in theirs.items() if name and ours not in recipe.columns}
            rows.append(
                there.assign(**{f"_{ours}": values for ours, values in known.items()}, _part=part, _row=there.index)
            )
            self.read |= {ours: name for ours, name in theirs.items() if name and len(parts) == 1}
        self.unscored = len(raw) - len({row for part in rows for row in part["_row"]})
        scored = ", ".join(parts) or "no column"
        self.said.append(
            f"{self.file.name} is read as a table of {program.name}: answers are the rows with a value in {scored}."
        )
        return pd.concat(rows).sort_values("_row", kind="stable").reset_index(drop=True), program

    def _lengthened(self, raw: pd.DataFrame) -> pd.DataFrame:
        assert self.recipe.long is not None
        long = self.recipe.long
        for theirs in (one for one in long.columns.values() if "{}" not in one):  # a list in one cell
            items = [_items_of(text) for text in column(raw, theirs, self.file)]
            parts = {f"{theirs} {at}": [*each] for at, each in enumerate(zip_longest(*items), start=1)}
            raw = pd.concat([raw.drop(columns=theirs), pd.DataFrame(parts, index=raw.index)], axis=1)
        wanted = {ours: theirs if "{}" in theirs else f"{theirs} {{}}" for ours, theirs in long.columns.items()}
        patterns = {ours: re.escape(theirs).replace(r"\{\}", r"(\d+)") for ours, theirs in wanted.items()}
        found = {
            ours: {int(match[1]): name for name in raw.columns if (match := re.fullmatch(pattern, str(name)))}
            for ours, pattern in patterns.items()
        }
        for ours, by_number in found.items():
            if not by_number:
                raise SpanLabError(f"{OPTION}: {self.file} has no column like '{long.columns[ours]}'")
        beside = {name for by_number in found.values() for name in by_number.values()}
        rest = raw.drop(columns=[*beside])
        rows = [
            rest.assign(
                **{f"_{ours}": raw[by_number[at]] for ours, by_number in found.items() if at in by_number},
                **{f"_{long.number}": at},
                _row=raw.index,
            )
            for at in sorted({at for by_number in found.values() for at in by_number})
        ]
        table = pd.concat(rows).sort_values("_row", kind="stable")
        filled = table[[f"_{ours}" for ours in found]].notna().any(axis=1)
        # also a list of which nothing was recalled
        if long.number == "output_position" and "serial_position" in found:
            filled |= ~table["_row"].duplicated()
        return table[filled].reset_index(drop=True)

    def _recalled(self, table: pd.DataFrame) -> pd.DataFrame:
        """Of lists that were recalled freely, of which only what was recalled has rows (its position in the
        list, in the order of recall), a row for every item, and intrusions."""
        asked = {"serial_position", "output_position", "list_length"} <= {*table.columns}
        if not asked or self.recipe.long is None or {"correct", "answer"} & {*table.columns}:
            return table
        place, length = (pd.to_numeric(table[name].astype(object)) for name in ("serial_position", "list_length"))
        trial = [name for name in table.columns if name in TRIAL]
        lists = table[length.notna()].drop_duplicates(trial)
        table = table[place.notna() & place.ne(0)].assign(serial_position=place.where(place.between(1, length)))
        listed = table["serial_position"].notna()
        table = table.assign(correct=True, correct_answer=table["serial_position"])
        table = table[~(listed & table.duplicated([*trial, "serial_position"]))]
        every = lists.loc[lists.index.repeat(pd.to_numeric(lists["list_length"].astype(object)).astype(int))]
        every = every.assign(serial_position=every.groupby(level=0).cumcount() + 1.0)
        missed = every.merge(table[[*trial, "serial_position"]], how="left", indicator=True)["_merge"].eq("left_only")
        empty = {name: None for name in ("output_position", "rt_ms") if name in table.columns}
        lost = every[missed.to_numpy()].assign(correct=False, **empty)
        self.said.append(f"{self.file.name}: items of a list without a place in its recall were not recalled.")
        return pd.concat([table, lost.assign(correct_answer=lost["serial_position"])]).sort_index(kind="stable")

    # -- columns ------------------------------------------------------------------------------------

    def _named(self, raw: pd.DataFrame, program: Program | None) -> pd.DataFrame:
        """The columns of the response table: as the recipe says, as the program does, and as names
        are alike."""
        recipe, file = self.recipe, self.file
        table = pd.DataFrame(index=raw.index)
        for ours, theirs in recipe.columns.items():
            another = theirs.isidentifier() and theirs != "FILE" and theirs not in raw.columns and ours in raw.columns
            if not another:  # another file of the same command may have our names
                table[ours] = column(raw, theirs, file)
        for ours, value in recipe.values.items():
            if ours not in raw.columns and ours not in table.columns:
                table[ours] = pd.Categorical.from_codes(np.zeros(len(raw), int), categories=pd.Index([str(value)]))
        plain = {folded_name(name): str(name) for name in reversed([*raw.columns])}
        for name in raw.columns:
            ours = str(name).removeprefix("_")
            if name in ("_row", "_part") or ours in table.columns:
                continue
            meant = ours.startswith(FURTHER) or (ours in OURS and (name != ours or self._is_ours(ours, raw, plain)))
            if meant and (name != ours or program is None):
                table[ours] = raw[name]
        if program is not None:
            several = raw["_part"].nunique() > 1
            table["phase"] = raw["_part"] if several else ""
            table["trial"] = raw["_row"].to_numpy()
            table["ask"] = raw.groupby("_row").cumcount().to_numpy() + 1
        elif "_row" in raw.columns and "trial" not in table.columns and not self._alike(raw, table).get("trial"):
            table["trial"] = raw["_row"].to_numpy() + 1
        if match := BIDS.fullmatch(file.name):
            raw = raw[raw["event_type"].eq("answer")] if "event_type" in raw.columns else raw
            table = table.loc[raw.index]
            self.milliseconds = 1000.0
            for ours, value in match.groupdict().items():
                if value and ours not in table.columns:
                    table[ours] = value
            self._people_of_bids(table, match["participant"])
        for ours, theirs in self._alike(raw, table).items():
            if program is None or ours in OF_DESIGNS:
                table[ours] = raw[theirs]
                self.read[ours] = theirs
        for theirs in recipe.conditions:
            ours = theirs in OURS and _may_be(theirs, raw[theirs])
            table[theirs if ours else f"factor_{theirs}"] = raw[theirs]
        self._record(table, raw)
        for ours, words in recipe.words.items():
            if ours in table.columns:
                table[ours] = table[ours].astype(object).map(lambda value, words=words: words.get(str(value), value))
        return table

    def _is_ours(self, name: str, raw: pd.DataFrame, plain: Mapping[str, str]) -> bool:
        """Return whether a column of one of our names is ours: not where it cannot be what it says, and
        another one can, or the recipe calls it a condition."""
        others = [plain[word] for word in SYNONYMS.get(name, ()) if plain.get(word, name) != name]
        another = name in self.recipe.conditions or any(_may_be(name, raw[other]) for other in others)
        return _may_be(name, raw[name]) or not another

    def _alike(self, raw: pd.DataFrame, table: pd.DataFrame) -> dict[str, str]:
        """For columns of the response table that are not there, the one that is meant by its name."""
        there = {folded_name(name): str(name) for name in reversed([*raw.columns])}
        free = {plain: name for plain, name in there.items() if name not in {*table.columns, *self.recipe.conditions}}
        taken = {*self.recipe.columns.values()}
        found: dict[str, str] = {}
        for ours, words in SYNONYMS.items():
            candidates = [free[word] for word in words if word in free and free[word] not in {*taken, *found.values()}]
            theirs = next((name for name in candidates if _may_be(ours, raw[name])), None)
            if ours not in table.columns and theirs is not None:
                found[ours] = theirs
        return found

    def _record(self, table: pd.DataFrame, raw: pd.DataFrame) -> None:
        """Their other columns of few values, as recorded values under their own names."""
        used = {*self.read.values(), *self.recipe.columns.values(), *self.recipe.conditions}
        for name in raw.columns:
            plain = str(name)
            if plain in used or plain in OURS or plain.startswith(("_", *FURTHER)) or not plain.isidentifier():
                continue
            ours = f"record_{plain}"
            if plain in TAKEN or ours in table.columns or f"factor_{plain}" in table.columns:
                continue
            levels = {str(level).strip().lower() for level in raw[name].dropna().unique()}
            if 1 < len(levels) <= _MOST_LEVELS:
                table[ours] = raw.loc[table.index, name]
            binary = folded_name(plain) in MATCHES and levels <= YES | NO
            said, others = (YES, NO) if binary else ({MATCH}, NO_MATCH)
            if levels - said and levels - said <= others and "record_match" not in table.columns:
                match = raw.loc[table.index, name].astype(object).astype(str).str.strip().str.lower().isin(said)
                table["record_match"] = match.map({True: "true", False: "false"})
                self.read["record_match"] = plain
        if "record_match" in table.columns and not {"factor_n", "set_size"} & {*table.columns}:
            self._backs(table, raw)

    def _backs(self, table: pd.DataFrame, raw: pd.DataFrame) -> None:
        """How many back the matches of N-back are."""
        for name in raw.columns:
            found = [BACK.fullmatch(str(one).strip()) for one in raw[name].dropna().unique()]
            plain = folded_name(name) in BACKS and _may_be("set_size", raw[name])
            if plain or (found and all(found)):
                table["factor_n"] = (
                    raw.loc[table.index, name].astype(object).astype(str).str.replace(r"\D+$", "", regex=True)
                )
                if self.read.get("paradigm") == name:
                    del table["paradigm"], self.read["paradigm"]
                self.read["factor_n"] = str(name)
                return
        self.said.append(
            f"{self.file.name}: nothing says how many back matches are, so there are no hits and no d′ of N-back;"
            f" {OPTION} factor_n:2 says it."
        )

    def _people_of_bids(self, table: pd.DataFrame, label: str) -> None:
        """What ``participants.tsv`` says of who took part, where it is a machine."""
        root = next((one for one in self.file.parents if (one / "participants.tsv").exists()), None)
        if root is None:
            return
        people = read_columns(root / "participants.tsv")
        if {"participant_id", "agent_kind", "agent"} <= {*people.columns}:
            for _, row in people[people["participant_id"] == f"sub-{label}"].iterrows():
                for ours in {"agent_kind", "agent"} - {*table.columns}:
                    table[ours] = str(row[ours])
                if str(row["agent_kind"]) != PARTICIPANT.name:
                    table["participant"] = ""

    # -- who ----------------------------------------------------------------------------------------

    def _who(self, table: pd.DataFrame, raw: pd.DataFrame, program: Program | None) -> None:
        if program is not None:
            self._program_people(table, raw, program)
        told = []
        if "participant" in table.columns and "agent" not in table.columns and "agent_kind" not in table.columns:
            table["agent"] = table["agent_kind"] = PARTICIPANT.name
            told = ["answers are taken as those of people"]
        kinds = set(_plain_texts(table.get("agent_kind", pd.Series(dtype=str))))
        if "agent" not in table.columns and kinds == {PARTICIPANT.name}:
            table["agent"] = PARTICIPANT.name
        if "paradigm" not in table.columns:
            table["paradigm"] = self.file.stem
            told.append(f"its task is called {self.file.stem}")
        if told and program is None and not BIDS.fullmatch(self.file.name):
            self.said.append(f"{self.file.name}: {', and '.join(told)}.")

    def _program_people(self, table: pd.DataFrame, raw: pd.DataFrame, program: Program) -> None:
        """Who took part in which session, as a program's columns say."""
        names = [name for name in program.participants if name in raw.columns and raw[name].notna().any()]
        texts = raw[names].astype(object).fillna("").astype(str)
        if "participant" not in table.columns and len(names) > 1 and (texts.nunique(axis=1) > 1).any():
            raise SpanLabError(
                f"{self.file}: {' and '.join(names)} may name the participant, and they differ: choose with {OPTION}"
                f" {names[0]}=participant"
            )
        if "participant" not in table.columns and not names:
            raise SpanLabError(
                f"{self.file} has no column that names the participant ({' or '.join(program.participants)}): give"
                f" {OPTION} COLUMN=participant, or {OPTION} FILE=participant for the file's name"
            )
        if "participant" not in table.columns:
            table["participant"] = texts[names[0]]
        if "paradigm" not in table.columns:
            named = next((name for name in program.paradigms if name in raw.columns and raw[name].notna().all()), None)
            table["paradigm"] = self.file.stem if named is None else raw[named].astype(str)
        runs = [name for name in program.sessions if name in raw.columns and raw[name].notna().all()]
        if "session" not in table.columns:
            parts = [table["participant"], *(raw[name].astype(str) for name in runs)]
            end = [] if len(runs) == len(program.sessions) and runs else [self.file.stem]
            table["session"] = ["-".join([*map(str, row), *end]) for row in zip(*parts, strict=True)]
        within = (
            table.assign(_row=table["trial"]).drop_duplicates(["session", "_row"]).groupby("session").cumcount() + 1
        )
        table["trial"] = table["trial"].map(dict(zip(table.loc[within.index, "trial"], within, strict=True)))

    def _practised(self, table: pd.DataFrame, raw: pd.DataFrame) -> None:
        """Which rows are practice, as the recipe says."""
        rows = self.recipe.practice
        if not rows:
            return
        name, equals, value = (part.strip() for part in rows.partition("="))
        practised = [f"{loop.strip()}.thisN" for loop in rows.split(",")]
        if equals and name in raw.columns:
            marked = raw[name].astype(object).astype(str) == value
            values = f"; {name} has {', '.join(sorted(raw[name].dropna().astype(str).unique()))}"
        elif not equals and {*practised} <= {*raw.columns}:
            marked, values = raw[practised].notna().any(axis="columns"), ""
        else:
            loops = sorted(str(one).removesuffix(".thisN") for one in raw.columns if str(one).endswith(".thisN"))
            raise SpanLabError(
                f"practice: {rows}: expected COLUMN=VALUE with a column of {self.file}, or loops of PsychoPy; it has"
                f" {', '.join(loops) or 'none'}"
            )
        if not marked.any():
            raise SpanLabError(f"practice: {rows}: no answer of {self.file} is practice{values}")
        table["practice"] = marked.loc[table.index]

    def _judged(self, table: pd.DataFrame, raw: pd.DataFrame) -> None:
        """Which answers are right where words say it, outcomes of detection, or errors of 0 and 1; and what
        is right where scores tell it."""
        if "correct" not in table.columns and "outcome" in table.columns and _may_be("correct", table["outcome"]):
            table["correct"] = table.pop("outcome")
        if "correct" not in table.columns and "error" in table.columns and _may_be("correct", table["error"]):
            wrong = _plain_texts(table.pop("error"))
            table["correct"] = _yes_no(wrong.isin(NO), wrong.ne(""))
            self.read["wrong answers"] = self.read.pop("error", "error")
        if "correct" not in table.columns:
            self._shown(table, raw)
            self._answers_in_words(table)
            return
        if {"-1", "0", "1"} == {*map(str, table["correct"].dropna().unique())}:
            omitted = table["correct"].eq("-1")
            table["correct"] = table["correct"].astype(object).mask(omitted, "0")
            table["outcome"] = np.where(omitted, "omitted", "answered")
            self.said.append(f"{self.file.name}: of {self.read.get('correct', 'correct')}, -1 as no answer.")
        if {str(word).strip().casefold() for word in table["correct"].dropna().unique()} & {*VERDICTS}:
            self._outcomes(table, _plain_texts(table["correct"]).str.casefold())
        if "answer" in table.columns and "correct_answer" not in table.columns:
            given, right = _plain_texts(table["answer"]), _plain_texts(table["correct"]).str.casefold().isin(YES)
            for name in (one for one in raw.columns if one not in {*table.columns, *self.read.values()}):
                same = _plain_texts(raw.loc[table.index, name]) == given
                if (same == right).all() and 0 < same.mean() < 1:
                    table["correct_answer"] = raw.loc[table.index, name]
                    self.read["correct_answer"] = str(name)
                    break
        self._answers_in_words(table)

    def _shown(self, table: pd.DataFrame, raw: pd.DataFrame) -> None:
        """What is right where no score and no name says it: of lists what was shown, of N-back the matches (one
        key for them), and what has the words of the answers."""
        if "answer" not in table.columns or "correct_answer" in table.columns:
            return
        given = _plain_texts(table["answer"])
        words = {*given} - {""}
        if len(words) == 1 and "record_match" in table.columns and given.eq("").any():
            table["correct_answer"] = table["record_match"].map({"true": "match", "false": "no match"})
            table["answer"] = np.where(given.eq(""), "no match", "match")
            self.said.append(f"{self.file.name}: {', '.join(words)} as match, nothing as no match.")
            return
        if "serial_position" not in table.columns:
            free = [name for name in raw.columns if name not in {*table.columns, *self.read.values()}]
            coded = [name for name in free if folded_name(name) in CODED or not any(map(str.isdecimal, words))]
            same = [name for name in coded if {*_plain_texts(raw.loc[table.index, name])} - {""} == words]
            if len(same) == 1 and len(words) > 1:
                if folded_name(same[0]) not in CODED:  # a cue, say, has them, too
                    raise SpanLabError(
                        f"{self.file}: nothing says which answers are right. '{same[0]}' has the words of the answers:"
                        f" where it says what is right, {OPTION} {same[0]}=correct_answer says so"
                    )
                table["correct_answer"] = raw.loc[table.index, same[0]]
                self.read["correct_answer"] = str(same[0])
            return
        for name in (one for one in raw.columns if folded_name(one) in SHOWN):
            if 0 < (_plain_texts(raw.loc[table.index, name]) == given).mean() < 1:
                table["correct_answer"] = raw.loc[table.index, name]
                self.read["correct_answer"] = str(name)
                return

    def _answers_in_words(self, table: pd.DataFrame) -> None:
        """Answers to yes-no questions in the words of the field, where others have codes or words of their
        own."""
        if not {"answer", "correct_answer"} <= {*table.columns}:
            return
        theirs = self.read.get("correct_answer") or self.recipe.columns.get("correct_answer", "")
        one, other = CODED.get(folded_name(theirs), ("", ""))
        plain = {word: word for pair in CODED.values() for word in pair}
        words = plain | ANSWERS | ({"1": one, "0": other} if one else {})
        levels = {text: text.casefold() for text in map(str, _plain_texts(table["correct_answer"].dropna()).unique())}
        if {*levels.values()} <= {*words} and {*levels} - {*words.values()}:
            for side in ("answer", "correct_answer"):
                texts = _plain_texts(table[side]).str.casefold()
                table[side] = texts.map(lambda text: words.get(str(text), text)).where(texts.ne(""))
            said = ", ".join(f"{level} as {words[levels[level]]}" for level in sorted(levels))
            self.said.append(f"{self.file.name}: of {theirs or 'right answers'}, {said}.")

    def _outcomes(self, table: pd.DataFrame, words: pd.Series) -> None:
        table["correct"] = words.map(lambda word: VERDICTS.get(str(word), word in YES if word in YES | NO else None))
        if {*words} - {""} <= {*OUTCOMES} and "correct_answer" not in table.columns:
            signal, right = (words.map(lambda word, at=at: OUTCOMES.get(str(word), (None, None))[at]) for at in (0, 1))
            table["correct_answer"] = signal.map({True: "yes", False: "no"})
            table["answer"] = (signal == right).map({True: "yes", False: "no"}).where(words.ne(""))
            self.said.append(f"{self.file.name}: hits and misses are answers to a signal ('yes' is right).")
            if "factor_n" in table.columns and "record_match" not in table.columns:
                table["record_match"] = signal.map({True: "true", False: "false"})

    # -- numbers, times, angles ---------------------------------------------------------------------

    def _numbers(self, table: pd.DataFrame) -> None:
        """Columns of numbers as numbers, whatever separates decimals and thousands."""
        columns = [name for name in table.columns if name in NUMERIC and not _is_number(table[name])]
        texts = {name: [*map(str, table[name].astype("category").cat.categories)] for name in columns}
        every = [(text, name) for name, values in texts.items() for text in values]
        grouped = {match[1] for text, _ in every if (match := _GROUPED.fullmatch(text))}
        comma = next(((text, name) for text, name in every if _COMMA.fullmatch(text)), None)
        point = next(
            ((text, name) for text, name in every if _POINT.fullmatch(text) and not _THOUSANDS.fullmatch(text)), None
        )
        german = grouped == {"."} or (comma is not None and grouped != {","})
        if len(grouped) > 1 or (german and (point or (self.delimiter == "," and not grouped))):
            both = [f"{text} in column {name}" for text, name in filter(None, (comma, point))]
            raise SpanLabError(
                f"{self.file} has numbers with commas ({' and '.join(both)}), and it is unclear whether these separate"
                " decimals or thousands"
            )
        self.german = german
        for name in columns:
            category = table[name].astype("category")
            values = [_number(str(one), german) for one in category.cat.categories]
            if lost := [str(one) for one, value in zip(category.cat.categories, values, strict=True) if value != value]:
                theirs = self.read.get(name, name)
                instead = f"; {OPTION} {theirs}=factor_OTHER reads '{theirs}' as a condition called OTHER"
                self.said.append(
                    f"{self.file.name}: {', '.join(map(repr, lost[:3]))}{and_more(lost, 3)} in '{theirs}'"
                    f" {in_number(len(lost), 'is no number, and counts', 'are no numbers, and count')} as missing"
                    f"{instead if len(lost) == len(values) else ''}."
                )
            table[name] = np.array([*values, np.nan])[category.cat.codes]

    def _times(self, table: pd.DataFrame) -> None:
        """Times in milliseconds."""
        beside = self.recipe.long.columns if self.recipe.long else {}
        theirs = self.recipe.columns.get("rt_ms") or beside.get("rt_ms") or self.read.get("rt_ms", "")
        unit = self.recipe.units.get("rt_ms")
        if "rt_ms" not in table.columns or not (theirs or unit or self.milliseconds):
            return
        factor = {"ms": 1.0, "s": 1000.0}.get(unit or "", self.milliseconds)
        times = table["rt_ms"].to_numpy(float)
        if not factor:
            plain = theirs.lower().replace("_", "")
            known = bool(np.isfinite(times).any())
            factor = 1000.0 if known and not plain.endswith("ms") and np.nanmedian(times) < _SECONDS else 1.0
            if factor > 1:
                self.said.append(f"{self.file.name}: times ({theirs}) are taken as seconds.")
        table["rt_ms"] = np.round(times * factor, 3)

    def _angles(self, table: pd.DataFrame) -> None:
        """Errors on a circle in degrees, the shorter way round, and how many degrees it has."""
        given = self.recipe.units.get("error") or self.recipe.units.get("answer")
        known = "period" in table.columns and bool(np.isfinite(table["period"].to_numpy(float)).any())
        if "error" not in table.columns and {"answer", "correct_answer"} <= {*table.columns}:
            sides = [numbers(table[name]) for name in ("answer", "correct_answer")]
            circle = 0.0 if known or given or "correct" in table.columns else _circle(*sides)
            if circle:
                table["period"], known = circle, True
                self.said.append(f"{self.file.name}: answers are taken as angles of a circle of {circle:.4g} (period).")
            if known or given:
                table["error"] = sides[0] - sides[1]
                self.said.append(f"{self.file.name}: errors are answers minus right answers.")
        if "error" not in table.columns or not np.isfinite(table["error"].to_numpy(float)).any():
            return
        errors = table["error"].to_numpy(float)
        size = np.abs(errors[np.isfinite(errors)])
        most = float(size.max(initial=0.0))
        radians = _are_radians(table, size, known) if given is None else given == "radians"
        if radians is None:
            raise SpanLabError(
                f"{self.file}: it is unclear whether errors up to {most:.1f} are degrees or radians; {OPTION}"
                " period:360 or period:6.2832 says how long the circle is"
            )
        if radians:
            errors = np.degrees(errors)
            most = float(np.degrees(most))
            for name in ("period", "tolerance"):
                if name in table.columns:
                    table[name] = np.degrees(table[name].to_numpy(float))
            self.said.append(f"{self.file.name}: errors are taken as radians, and are in degrees here.")
        if not known:
            turned, between = (int(np.sum(np.abs(np.abs(errors) - turn) < 20)) for turn in (180, 90))
            circle = 180 if 80.0 < most <= 90.5 or (most <= 180.0 and turned > max(4, 2 * between)) else 360
            table["period"] = float(circle)
            self.said.append(f"{self.file.name}: the circle of answers is taken to have {circle}° (period).")
        period = table["period"].to_numpy(float)
        with np.errstate(invalid="ignore"):
            wrapped = (errors + period / 2) % period - period / 2
        beyond = int((np.abs(errors) > period / 2 + 1e-9).sum())
        if beyond:
            self.said.append(
                f"{self.file.name}: {beyond:,} errors beyond half a circle are taken the shorter way round."
            )
            errors = np.where(np.abs(errors) > period / 2, wrapped, errors)
        table["error"] = errors

    # -- answers ------------------------------------------------------------------------------------

    def _scored(self, table: pd.DataFrame, program: Program | None) -> None:
        """Which answers are right, and which were never given."""
        answered = "answer" in table.columns and bool(table["answer"].notna().any())
        erring = "error" in table.columns and bool(np.isfinite(table["error"].to_numpy(float)).any())
        if "correct" not in table.columns and erring:
            if "tolerance" not in table.columns:
                table["tolerance"] = table["period"] * _TOLERANCE
                self.said.append(
                    f"{self.file.name}: answers count as right up to an error of"
                    f" {float(table['tolerance'].iloc[0]) if len(table) else 45:g}° (tolerance)."
                )
            table["correct"] = _yes_no(table["error"].abs() <= table["tolerance"], table["error"].notna())
        elif "correct" not in table.columns and answered and "correct_answer" in table.columns:
            given, right = (_plain_texts(table[name]) for name in ("answer", "correct_answer"))
            table["correct"] = _yes_no(given == right, table["correct_answer"].notna())
            self.said.append(f"{self.file.name}: answers count as right where they equal the right answer.")
        if "correct" not in table.columns:
            return
        self._refuse_odd(table)
        right = table["correct"].astype(object).astype(str).str.strip().str.lower().isin(YES)
        if answered and "outcome" not in table.columns:
            table["outcome"] = np.where(table["answer"].isna() & ~right, "omitted", "answered")
            if program is not None and "correct_answer" in table.columns:
                both = table["answer"].notna() & table["correct_answer"].notna()
                same = _plain_texts(table["answer"]) == _plain_texts(table["correct_answer"])
                self.contradictions = int((both & (same != right)).sum())
        if "outcome" in table.columns and "correct_answer" not in table.columns:
            # beside tables that have right answers, what has none would be a rating
            table["correct"] = table["correct"].astype(object).mask(table["outcome"].eq("omitted") & ~right, False)

    def _refuse_odd(self, table: pd.DataFrame) -> None:
        for name in (one for one in YES_NO if one in table.columns and not _is_number(table[one])):
            values = [str(one) for one in table[name].dropna().unique()]
            odd = sorted(repr(one) for one in values if one.strip().lower() not in YES | NO | NOTHING)
            if odd:
                raise SpanLabError(
                    f"{self.file}: column {self.read.get(name, name)} holds {', '.join(odd[:3])}, which is neither true"
                    " nor false"
                )

    def _levels(self, table: pd.DataFrame) -> None:
        """Levels of conditions: truths as such, numbers in quotes as numbers, decimal commas."""
        for name in (one for one in table.columns if one.startswith(FURTHER) and not _is_number(table[one])):
            category = table[name].astype("category")
            texts = [str(one) for one in category.cat.categories]
            wanted = self._level_texts(texts)  # the old names where two would be the same
            table[name] = category.cat.rename_categories(wanted if len({*wanted}) == len(wanted) else texts)

    def _level_texts(self, texts: Sequence[str]) -> list[str]:
        words = [text.strip().lower() for text in texts]
        if texts and all(word in _TRUTHS for word in words):
            return ["true" if word in YES else "false" for word in words]
        bare = [text[1:-1] if re.fullmatch(r'"-?(0|[1-9]\d*)(\.\d+)?"', text) else text for text in texts]
        if bare != [*texts] and all(re.fullmatch(r"-?\d+(\.\d+)?", text) for text in bare):
            return bare
        if self.delimiter != "," and any(map(_COMMA.fullmatch, texts)):
            return [text.replace(",", ".") if _COMMA.fullmatch(text) else text for text in texts]
        return [*texts]

    def _runs(self, table: pd.DataFrame) -> None:
        """Sessions (blocks of sessions that are named) in which somebody's trial numbers begin again."""
        named = {"block", "step", "trial_id"} & {*table.columns}
        if "trial" not in table.columns or named or table["trial"].is_unique:
            return
        what = "block" if "session" in table.columns else "session"
        who = groups(table, [name for name in TRIAL if name in table.columns and name != "trial"])[0]
        order = np.argsort(who, kind="stable")
        person, trial = who[order], table["trial"].to_numpy(float)[order]
        begins = np.r_[True, (person[1:] != person[:-1]) | (trial[1:] < trial[:-1])]
        many = int(begins.sum())
        restarts = many - len(np.unique(person))
        if not restarts or many * 2 > len(table):
            return
        run = np.cumsum(begins)
        apart = pd.DataFrame({"person": person, "trial": trial, "run": run}).drop_duplicates()
        if not apart.duplicated(["person", "trial"]).any():
            return
        number = np.empty(len(table), np.int64)
        number[order] = run - run[np.searchsorted(person, person)] + 1
        table[what] = number if what == "block" else number.astype(str)
        self.said.append(f"{self.file.name}: trial numbers begin again {restarts:,} times: each run is a {what}.")

    def _questions(self, table: pd.DataFrame) -> None:
        """The number of each question, where nothing numbers those of a trial."""
        if {*_WITHIN} & {*table.columns} or not {"trial", "participant"} <= {*table.columns}:
            return
        trial = groups(table, [name for name in TRIAL if name in table.columns])[0]
        several = (np.bincount(trial) > 1).mean() > _MOSTLY
        if several and not table.duplicated().any():
            table["ask"] = pd.Series(trial, index=table.index).groupby(trial).cumcount() + 1.0
            self.said.append(f"{self.file.name}: rows with one trial number are the questions of a trial, in order.")

    def _lists(self, table: pd.DataFrame) -> None:
        """The length of lists of which every position is there, and the number of each question where
        every item has an answer of its own."""
        if "serial_position" not in table.columns:
            return
        trial, _ = groups(table, [name for name in TRIAL if name in table.columns])
        place = table["serial_position"].to_numpy(float)
        if (place == 0).sum() * 2 > (place == 1).sum():
            place = table["serial_position"] = place + 1
            self.said.append(f"{self.file.name}: positions are counted from 0, and are from 1 here.")
        listed = np.ones(len(table), bool)
        if "output_position" in table.columns:  # what was recalled and in no list has no position
            listed = (table["serial_position"].notna() | table["output_position"].isna()).to_numpy(bool)
        items = pd.DataFrame({"trial": trial, "place": place})[listed]
        many = np.bincount(items["trial"], minlength=int(trial.max(initial=-1)) + 1)
        highest = np.zeros(len(many))
        np.fmax.at(highest, trial, place)
        whole = bool(items["place"].notna().all() and (highest == many).all()) and many.max(initial=0) > 1
        if not whole or items.duplicated().any():
            return
        if "list_length" not in table.columns:
            table["list_length"] = highest[trial]
            self.said.append(f"{self.file.name}: lists are as long as they have positions (list_length).")
        asked = {"answer", "correct_answer"} <= {*table.columns}
        if "ask" not in table.columns and "output_position" not in table.columns and asked:
            table["ask"] = place
            self.said.append(f"{self.file.name}: the items of a list are taken as asked for one by one, in order.")

    # -- what is refused ----------------------------------------------------------------------------

    def _refuse(self, table: pd.DataFrame) -> None:
        """Refuse a table that is none, that a spreadsheet has spoilt, or whose people cannot be
        told apart."""
        file = self.file
        if missing := [name for name in NEEDED if name not in table.columns]:
            raise SpanLabError(
                f"{file} is not a response table: nothing says {_ASKED.get(missing[0], missing[0])}. Name the column"
                f" with {OPTION} THEIRS={missing[0]}, or begin a recipe with spanlab import table {file} --suggest"
            )
        for name in table.columns:
            if isinstance(table[name].dtype, pd.CategoricalDtype):
                dates = [str(one) for one in table[name].cat.categories if str(one).startswith(DATE)]
                if dates and name not in ("session", "started_at", "date"):
                    raise SpanLabError(
                        f"{file} holds dates ({dates[0].removeprefix(DATE)}): a spreadsheet has turned values into"
                        " dates, and the original values are lost. Read the table as recorded"
                    )
        if "trial_id" in table.columns and not _is_number(table["trial_id"]):
            ids = map(str, table["trial_id"].dropna().unique())
            if power := next((text for text in ids if _POWER.fullmatch(text)), ""):
                raise SpanLabError(
                    f"{file}: a spreadsheet has turned identifiers of trials into numbers ({power}), so that trials"
                    " cannot be distinguished. Read the table as recorded, or import the column as text"
                )
        self._refuse_nameless(table)

    def _refuse_nameless(self, table: pd.DataFrame) -> None:
        """Refuse a table without a column of participants, or with rows of people that name nobody."""
        told = {name: table.get(name, "") for name in ("agent_kind", "participant")}
        who = pd.DataFrame(told, index=table.index)[table["agent"].notna()]
        rows = who.groupby([*told], dropna=False, observed=True).size().reset_index(name="rows")
        kind = _plain_texts(rows["agent_kind"])
        persons, unsaid = kind.eq(PARTICIPANT.name), kind.eq("")
        if "participant" not in table.columns:
            if (persons | unsaid).any():
                raise SpanLabError(
                    f"{self.file} has no column participant: several people would count as one. Add it, with an"
                    " identifier for each person and nothing for machines (FILE=participant in a recipe takes the name"
                    " of the file); a table of machines alone needs a column agent_kind (network, chat ...) instead"
                )
            return
        names = _plain_texts(rows["participant"])
        nobody = names.str.casefold().isin(NOTHING)
        named = bool((unsaid & ~nobody).any())
        nameless = nobody & (persons | (unsaid & (named | names.ne(""))))
        if nameless.any():
            count = int(rows.loc[nameless, "rows"].sum())
            written = sorted({*names[nameless]} - {""})
            found = f" ({', '.join(map(repr, written[:3]))})" if written else ""
            raise SpanLabError(
                f"{self.file}: {count:,} rows name nobody: participant is empty, or a word that means"
                f" missing, such as NA, null or None{found}. Write an identifier for each person (P01 ...), and"
                " network, chat ... in agent_kind where the answers are a machine's"
            )


_THOUSANDS = re.compile(r"\s*[-+]?\d{1,3}(\.\d{3})+\s*")
_ASKED = {
    "correct": "which answers are right",
    "agent": "who answered",
}


def _number(text: str, german: bool) -> float:
    text = text.strip()
    text = text.replace(".", "").replace(",", ".") if german else text.replace(",", "")
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _items_of(text: Any) -> list[str | None]:
    """The items of a list that stands in one cell: words with signs between them, else letters."""
    plain = "" if text is None or text != text else str(text).strip()
    parts = re.split(r"[\s,;|]+", plain) if re.search(r"[\s,;|]", plain) else [*plain]
    return [None if part in NOTHING_GIVEN else part for part in parts]


def _is_number(values: pd.Series) -> bool:
    return values.dtype.kind in "biufc"


def _any(pattern: str, names: Sequence[str]) -> bool:
    return any(re.fullmatch(pattern, str(name)) for name in names)


def _first(templates: Sequence[str], part: str, names: Sequence[str]) -> str:
    """The first column that is there, of a component."""
    return next((one for template in templates if (one := template.format(part)) in names), "")


def _plain_texts(values: pd.Series) -> pd.Series:
    """A column as texts without quotes and spaces around them, empty where nothing is there."""
    category = values.astype("category")
    texts = [_bare(one) for one in category.cat.categories]
    return pd.Series(np.array([*texts, ""], dtype=object)[category.cat.codes], index=values.index)


def _bare(value: Any) -> str:
    text = str(value).strip()
    try:
        decoded = json.loads(text)
    except ValueError:
        return text
    if isinstance(decoded, str):
        return decoded
    return f"{decoded:g}" if isinstance(decoded, float) else text


def _yes_no(right: pd.Series, known: pd.Series) -> pd.Series:
    return right.astype(object).where(known, None)


def _may_be(ours: str, values: pd.Series) -> bool:
    """Return whether a column can be what its name says."""
    if values.isna().all():
        return False
    if ours in YES_NO:
        words = YES | NO | ({*VERDICTS, "-1"} if ours == "correct" else set())
        return all(str(one).strip().lower() in words for one in values.dropna().unique())
    if ours not in NUMERIC or (_is_number(values) and ours not in OF_DESIGNS):
        return True
    levels = np.array([_number(str(one), "," in str(one)) for one in values.dropna().unique()])
    if ours in OF_DESIGNS:
        return bool(((levels == np.floor(levels)) & (levels >= 0) & (levels <= _MOST_ITEMS)).all())
    numbers = np.isfinite(levels)  # a time may be a word where there was none, such as late
    return bool(numbers.all() or (ours == "rt_ms" and numbers.mean() >= 1 / 2))


def _circle(given: np.ndarray, right: np.ndarray) -> float:
    """The circle on which answers lie that are hardly ever the right ones; 0 where they are on none."""
    both = np.isfinite(given) & np.isfinite(right)
    few = min(len(np.unique(side[both])) for side in (given, right)) <= _MOST_LEVELS
    if few or both.mean() < _MOSTLY or (given == right)[both].mean() > 1 - _MOSTLY:
        return 0.0
    ends = [float(end(np.r_[given[both], right[both]])) for end in (np.min, np.max)]
    radians = ends[1] <= 2 * np.pi + 0.01
    half = np.pi if radians else 180.0
    circle = half if ends[0] >= 0 and ends[1] <= half + 0.01 else 2 * half
    whole = 0.9 * circle < ends[1] - ends[0] <= 1.5 * circle + 0.5  # one side may begin at 0, the other at minus half
    return circle if whole and ends[1] <= 2 * half + 0.5 and ends[0] >= -half - 0.5 else 0.0


def _are_radians(table: pd.DataFrame, size: np.ndarray, known: bool) -> bool | None:
    """Return whether errors, of which the sizes are given, are in radians; None where that is unclear. Whole numbers
    are degrees, and halves beyond 2 pi. Differences of two angles are up to 2 pi, and more where one begins at -pi and
    the other at 0: then many are a whole turn away from 0."""
    if known:
        return bool(np.nanmax(table["period"].to_numpy(float)) < 7.0)
    most = size.max(initial=0.0)
    if not (size % 1).any() or most > 4 * np.pi + 0.01 or len(table) == 1:
        return False
    if most <= 2 * np.pi + 0.01:
        return True
    if not (2 * size % 1).any():
        return False
    turned, between = (np.sum(np.abs(size - turn) < 1) for turn in (2 * np.pi, np.pi))
    return bool(turned > between) or None
