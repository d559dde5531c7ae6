"""An effect for any column: a measure along one column, for each value of another, where no effect
is declared for these conditions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import pandas as pd

from ...core.errors import SpanLabError
from ...core.registry import nearest
from ..data.coding import (
    YES_OR_NO,
    DeclaredEffect,
    alike,
    column_named,
    columns_there,
    decoded,
    groups,
    is_numeric,
    plain_name,
)
from ..data.scoring import WHO, Scored, plural
from ..data.style import listed
from ..stats.signal_detection import SIDES, signal_of
from .curves import Averages
from .effect import Effect
from .reaction_times import timed_questions
from .sensitivity import Sensitivity
from .transforms import TRIAL

Value = Literal["correct", "rt_ms", "rt_median", "d_prime"]
VALUES: tuple[Value, ...] = get_args(Value)
NAME = "conditions"
#: Different values along an axis, and panels, that a figure can show.
MOST_PLACES, MOST_PANELS = 60, 12
#: Of so many named conditions every two are compared; of more, each with the first.
_PAIRS = 4


@dataclass(frozen=True)
class _Rows:
    """Preparation of rows: words for yes and no, and what the value asks for."""

    names: tuple[str, ...]
    value: Value
    words: tuple[str, str]
    sensitivity: Sensitivity | None

    def __call__(self, scored: Scored) -> Scored:
        items = scored.items
        for name in self.names:
            items = items.assign(**{name: in_words(items[name])})
        scored = Scored(items, scored.intrusions, scored.notes)
        if self.sensitivity is not None:
            return self.sensitivity.of_words(scored, {self.words[0]}, {self.words[1]})
        if self.value == "correct":
            return scored
        items = timed_questions(scored)
        return Scored(
            _medians(items, self.names) if self.value == "rt_median" else items,
            scored.intrusions,
            scored.notes,
        )


def conditions_effect(
    part: Scored, paradigm: str, along: str = "", by: str = "", value: str = "correct", *, signal: str = ""
) -> Effect:
    """The effect of any column on a measure.

    Parameters
    ----------
    part : scored items of one paradigm
    along : the column along the horizontal axis, with or without what factors and recorded values
        begin with; the first factor when not given
    by : a column, or several with commas between them, whose values have panels; the second factor when
        neither is given
    value : ``correct``, ``rt_ms`` (means), ``rt_median`` or ``d_prime``
    signal : of d′, the answer that is the signal; by its usual words when not given

    Raises
    ------
    SpanLabError
        for columns that are not there or hold too many values, and where nothing of this sort was
        measured.
    """
    if value not in VALUES:
        allowed = (*VALUES, *part.of_file.effects)
        raise SpanLabError(
            f"is {', '.join(allowed[:-1])} or {allowed[-1]}, not '{value}'{nearest(value, allowed)}", option="value"
        )
    known: Value = next(one for one in VALUES if one == value)
    items, what = part.items, f"figure {NAME}"
    asked = columns_of(items, by)
    if along or by:
        panels = [column_named(items, one, paradigm, what) for one in asked]
        free = (one for one in part.conditions if plain_name(one) not in map(plain_name, asked))
        x = column_named(items, along, paradigm, what) if along else next(free, "")
    else:
        x, *panels = part.conditions[:2] or [""]
    if not x:
        raise SpanLabError(f"no {what}: {paradigm} varies no factor; --along takes any other column")
    names = [x, *panels]
    twice = next((one for at, one in enumerate(names) if one in names[:at]), None)
    if twice is not None:
        raise SpanLabError(f"no {what}: '{plain_name(twice)}' is named twice in --along and --by")
    _check_levels(items[[x]], MOST_PLACES, "along", paradigm)
    if panels:
        _check_levels(items[panels], MOST_PANELS, "by", paradigm)
    order = () if is_numeric(items[x]) else tuple(_in_order(part, x))
    words, sensitivity = question_of(items, names, paradigm, what, signal) if known == "d_prime" else (("", ""), None)
    x_name = plain_name(x).replace("_", " ")
    called = [plain_name(panel).replace("_", " ") for panel in panels]
    titles = {"correct": "correct", "rt_ms": "reaction time", "rt_median": "median reaction time", "d_prime": "d′"}
    return Effect(
        name=NAME,
        title=f"{titles[known]} by {listed([x_name, *called])}",
        x=x,
        x_title=x_name,
        panels=tuple(panels),
        panel_labels=tuple(f"{one}: {{}}" for one in called),
        panel_order=tuple(_in_order(part, panels[0])) if len(panels) == 1 and not is_numeric(items[panels[0]]) else (),
        needs=tuple(names) + (("rt_ms",) if known in ("rt_ms", "rt_median") else ()),
        prepare=_Rows(tuple(names), known, words, sensitivity),
        estimator=sensitivity or Averages("correct" if known == "correct" else "rt_ms"),
        measure={
            "correct": "correct",
            "d_prime": "d′",
            "rt_ms": "mean reaction time (ms)",
            "rt_median": "median reaction time (ms)",
        }[known],
        order=order,
        differences=_differences(order),
        human=False,
        blocks=True,
        method=_method(part, paradigm, names, known, words, sensitivity, what),
    )


@dataclass(frozen=True)
class _Compared:
    """Preparation of rows: those of the levels that an effect of a file compares, then as for any column.

    Parameters
    ----------
    declared, levels : what is compared
    together : what all these levels are called, where they are signal and noise of one measure; else empty
    rows : what follows
    """

    declared: DeclaredEffect
    levels: tuple[str, ...]
    together: str
    rows: Callable[[Scored], Scored] | None = None

    def __call__(self, scored: Scored) -> Scored:
        words, column = written(scored.items[self.declared.of]), self.declared.of
        items = scored.items[words.isin(self.levels).to_numpy(bool) & self.declared.concerned(scored.items)]
        items = items.assign(**{column: self.together}) if self.together else items
        compared = replace(scored, items=items.reset_index(drop=True))
        return compared if self.rows is None else self.rows(compared)


def effect_of_file(part: Scored, paradigm: str, name: str) -> Effect:
    """An effect that a paradigm's file declares.

    Parameters
    ----------
    part : scored items of this paradigm

    Raises
    ------
    SpanLabError
        where the data have nothing of it.
    """
    declared = part.of_file.effects[name]
    called = name.replace("_", " ")
    levels = tuple(dict.fromkeys(level for pair in declared.pairs for level in reversed(pair)))
    at_once = declared.value == "d_prime"
    if lost := [column for column in (declared.of, declared.along) if column and column not in part.items.columns]:
        raise SpanLabError(f"no effect {name}: these data of {paradigm} have no {plain_name(lost[0])}")
    compared = _Compared(declared, levels, called if at_once else "")
    rows = compared(part)
    if not len(rows.items):
        raise SpanLabError(f"no effect {name}: these data of {paradigm} have no answers at {listed([*levels])}")
    columns, signal, meant = (declared.of, declared.along), "", ""
    if at_once:
        columns = (declared.along or declared.of, "")
        meant = f"Signal: {declared.pairs[0][0]}; noise: {declared.pairs[0][1]}."
        signals = part.items[written(part.items[declared.of]).eq(declared.pairs[0][0]).to_numpy(bool)]
        signal = str(next(iter(decoded(signals["correct_answer"]).dropna()), ""))
    effect = conditions_effect(rows, paradigm, *columns, declared.value, signal=signal)
    numeric = is_numeric(part.items[declared.of])
    differences = tuple(
        (
            called if len(declared.pairs) == 1 else f"{one} minus {other}",
            *map(_number if numeric else str, (one, other)),
        )
        for one, other in declared.pairs
    )
    in_file = part.of_file.ordered(declared.of, levels) if declared.of in part.of_file.levels else levels
    along = tuple(map(_number, levels)) if numeric else tuple(in_file)
    return replace(
        effect,
        name=name,
        title=called,
        order=effect.order if at_once else along,
        needs=(*effect.needs, *(["phase"] if declared.phase else [])),
        differences=() if at_once else differences,
        alone=at_once,
        prepare=replace(compared, rows=effect.prepare),
        method=" ".join(filter(None, (declared.caption, meant, effect.method))),
    )


def unnamed_conditions(part: Scored, effects: Sequence[Effect], value: Value) -> list[tuple[str, str]]:
    """Columns of figures for conditions that no effect shows, two by two (along, by); none where all
    are shown, where none varies, and of N-back blocks. Times have one figure.

    Parameters
    ----------
    effects : that are shown, of whatever value
    """
    if part.blocks or (value != "correct" and not len(timed_questions(part))):
        return []
    library = any(part.items["paradigm"].iloc[0] in one.paradigms for one in effects)  # its figures are declared
    meant = [
        name for name in part.conditions if not library or name in part.of_file.conditions or "record_" not in name
    ]
    names = [name for name in meant if 1 < decoded(part.items[name]).nunique() <= MOST_PANELS]
    same = [one for one in effects if one.value == value and one.name != NAME]
    left = [name for name in names if not any(_shows(one, part, name) for one in same)]
    if not left:
        return []
    numeric = [name for name in [*left, *names] if is_numeric(part.items[name]) and not part.of_file.conditions]
    along = (numeric or left)[0]
    by = next((name for name in [*left, *(names if value != "correct" else [])] if name != along), "")
    further = [name for name in left if name not in (along, by)] if value == "correct" else []
    return [(along, by), *((further[n], "".join(further[n + 1 : n + 2])) for n in range(0, len(further), 2))]


def _shows(effect: Effect, part: Scored, name: str) -> bool:
    """Return whether the cells of an effect tell the levels of a factor apart; one of a file may compare
    some of them."""
    compared = effect.prepare
    if isinstance(compared, _Compared) and name == compared.declared.of:
        return {*written(part.items[name]).dropna()} <= {*compared.levels}
    if any(one in part.items.columns and alike(part.items, one, name) for one in effect.by):
        return True
    rows = effect.prepared(part).items
    return {name, *effect.by} <= {*rows.columns} and bool(
        (rows.assign(_level=rows[name].astype(str)).groupby([*effect.by], observed=True)["_level"].nunique() <= 1).all()
    )


def in_words(column: pd.Series) -> pd.Series:
    """Levels as they are said: numbers as numbers, everything else as words."""
    if is_numeric(column):
        return decoded(column)
    plain = decoded(column)
    said = [YES_OR_NO[bool(value)] if isinstance(value, bool | np.bool_) else str(value) for value in plain]
    words = [None if value is None or value != value else word for value, word in zip(plain, said, strict=True)]
    return pd.Series(pd.array(words, dtype="str"), index=column.index)


def _number(level: str) -> float | int:
    """A level of numbers, as tables have it."""
    return int(level) if level.lstrip("-").isdigit() else float(level)


def written(column: pd.Series) -> pd.Series:
    """Levels as the contrasts of a file write them: numbers in words, too."""
    words = in_words(column)
    if not is_numeric(column):
        return words
    return pd.Series(
        pd.array([None if one != one else f"{one:.15g}" for one in words.to_numpy(float)], dtype="str"), words.index
    )


def _in_order(part: Scored, column: str) -> list[str]:
    """The levels of a column in words, in the order of the file."""
    return part.of_file.ordered(column, in_words(part.items[column]).dropna().astype(str).unique())


def columns_of(items: pd.DataFrame, by: str) -> list[str]:
    """The columns that ``by`` names, with commas between several."""
    there = by in {*columns_there(items), *items.columns}
    return [by] if there else [one.strip() for one in by.split(",") if one.strip()]


def _check_levels(table: pd.DataFrame, most: int, option: str, paradigm: str) -> None:
    many = len(table.apply(decoded).dropna().drop_duplicates())
    if many > most:
        names = " and ".join(map(plain_name, table.columns))
        raise SpanLabError(
            f"no figure {NAME} {option} {names}: {paradigm} has {many} different values of it, and a figure"
            f" shows at most {most}"
        )


def _differences(order: Sequence[str]) -> tuple[tuple[str, str, str], ...]:
    if len(order) > _PAIRS:
        return tuple((f"{one} minus {order[0]}", one, order[0]) for one in order[1:])
    return tuple((f"{one} minus {other}", one, other) for at, other in enumerate(order) for one in order[at + 1 :])


def _medians(items: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """One row for each person and condition, with the median of its times."""
    number, first = groups(items, [*WHO, "participant", *names])
    return items.iloc[first].assign(rt_ms=items["rt_ms"].groupby(number).median().to_numpy(float))


def question_of(
    items: pd.DataFrame, names: Sequence[str], paradigm: str, what: str, signal: str = ""
) -> tuple[tuple[str, str], Sensitivity]:
    """The word that names the signal, the other word, and how d' is computed from them."""
    if "record_transition" in items.columns and items["record_transition"].notna().any():
        raise SpanLabError(
            f"no {what} of d_prime: in {paradigm} the same two words answer two tasks, so that none of them stands for"
            " a signal; take correct"
        )
    truth = decoded(items["correct_answer"]) if "correct_answer" in items.columns else None
    words_of = [] if truth is None else sorted({str(one) for one in truth.dropna().unique()})
    if truth is None or len(words_of) != 2 or not all(isinstance(one, str) for one in truth.dropna().unique()):
        raise SpanLabError(
            f"no {what} of d_prime: d′ is for questions answered with one of two words, and {paradigm} has"
            f" {plural(len(words_of), 'answer')}"
        )
    words = signal_of(words_of) if not signal else (signal, next(one for one in words_of if one != signal))
    for name in names:
        if (truth.groupby(items[name].astype(str)).nunique() < 2).all():
            raise SpanLabError(
                f"no {what} of d_prime: each {plain_name(name)} of {paradigm} has questions of one right answer only;"
                " d′ needs both"
            )
    by = (*names[1:], *names[:1])
    sides = not signal and words in SIDES
    return words, Sensitivity(by, "forced choice" if sides else "detection", ("d′",))


def _method(
    part: Scored,
    paradigm: str,
    names: Sequence[str],
    value: Value,
    words: tuple[str, str],
    sensitivity: Sensitivity | None,
    what: str,
) -> str:
    """Return how it is computed, in plain sentences."""
    blocks = " All items of a block count, its first ones, too." if part.blocks else ""
    if value == "correct":
        return f"Proportion correct, averaged over everything else.{blocks}"
    if sensitivity is not None:
        if sensitivity.kind == "forced choice":
            return (
                f"d′ of a choice between two sides: (z(H) − z(F)) / √2, where H and F are how often “{words[0]}” was"
                " said where it was right and where it was wrong (√2 z(correct) without a side bias); half an answer"
                " is added to each count (log-linear)."
            )
        return (
            f"d′ = z(H) − z(F), where a hit is “{words[0]}” said where it was true; half an answer is added to each"
            f" count (log-linear).{blocks}"
        )
    every, right = timed_questions(part, correct_only=False), timed_questions(part)
    if not len(right):
        raise SpanLabError(
            f"no {what} of {value}: {paradigm} has no correct answers of people with a reaction time; times of machines"
            " mean nothing"
        )
    _, first = groups(part.items, TRIAL)
    several = len(first) < len(part.items)
    for name in names if several else ():
        if (part.items.groupby(groups(part.items, TRIAL)[0])[name].nunique() > 1).any():
            raise SpanLabError(
                f"no {what} of {value}: a question of {paradigm} is about several items at once and has one time, so"
                f" that none is of a {plain_name(name)}"
            )
    centre, alone = ("Mean", "") if value == "rt_ms" else ("Median", " A single person has no interval of a median.")
    return (
        f"{centre} reaction time of each person's correct answers, averaged over people. Of"
        f" {plural(len(every), 'timed question')} {len(every) - len(right):,} answered wrongly are left out; none is"
        f" left out as too short or too long unless rules say so.{alone}"
    )
