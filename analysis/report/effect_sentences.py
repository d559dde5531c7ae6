"""The effect for which a paradigm is used, in a sentence: a cost, a number of items held, the ends
of a list, or a slope, for people and models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from ...core.agent_kinds import kind_named
from ..data.coding import records
from ..data.numbers import decimals, number, with_sign
from ..data.scoring import WHO, Scored
from ..data.style import listed, of_kinds
from ..data.unread import testable, testable_cells
from ..effects.capacity import UNTOLD, informative_sizes, over_sizes
from ..effects.curves import primacy_recency
from ..figures.effect_figure import ComputedEffect, panel_names
from ..means.contrasts import Contrast
from ..stats.equivalence import Equivalence, Margin, equivalence_from, margin_of, verdict_in_words
from .text import ranked

#: More than this many answerers make no sentence; people are still named.
_MOST = 6
#: Differences that are effects of their own, the first that there is; in points, as all are of
#: shares.
_COSTS = (("task_switching", "switch cost"), ("congruency", "congruency effect"))


def effect_sentence(
    effects: Sequence[ComputedEffect], scored: Scored, margins: Sequence[Margin] = ()
) -> tuple[str, str]:
    """The name of a paradigm's effect, and its value with a 95% interval for each answerer but
    yardsticks; empty where no effect is known or seen.

    Parameters
    ----------
    effects : that the paradigm shows
    scored : its answers, in which the ends of lists are looked for also where there is one list
        length only
    margins : within which differences count as none, as they were declared
    """
    if not scored.accept_unread:
        tested = testable(scored)
        if tested is not scored:
            effects = [
                replace(one, table=one.effect.table(tested, paradigm, human=""))
                for one in effects
                for paradigm in tested.parts
            ]
        effects, scored = [replace(one, table=testable_cells(one.table)) for one in effects], tested
    by_name = {one.effect.name: one for one in effects}
    points = margin_of(margins, "points")
    for name, contrast in _COSTS:
        if name in by_name and (text := _each(_rows(by_name[name].trends, contrast), points)):
            return contrast[:1].upper() + contrast[1:], f": {text}."
    for name, text in (_capacity(by_name, scored), _ends(by_name, scored, points)):
        if text:
            return name, text
    for one in effects:
        if one.effect.value == "correct" and one.effect.averages and len(one.trends):
            name, text = _slope(one)
            if text:
                return name, text
    return "", ""


def _capacity(by_name: Mapping[str, ComputedEffect], scored: Scored) -> tuple[str, str]:
    """K, over the set sizes at which it can be told; where there are none, at the largest that
    everybody has."""

    if "capacity" not in by_name:
        return "", ""
    table = by_name["capacity"].table
    table = table[(table["formula"] == "Pashler") & table["mean"].notna()]
    shared = _shared_by_all(table, "set_size")
    if not shared:
        return "", ""
    sizes = informative_sizes(_telling(table), shared) or [max(shared)]
    cells = by_name["capacity"].effect.evidence(scored, str(table["paradigm"].iloc[0])).cells
    means = []
    for key, rows in table[table["set_size"].isin(sizes)].groupby(list(WHO), sort=False, observed=True):
        who = [str(one) for one in key]
        if set(sizes) <= {*rows["set_size"]}:
            means.append(dict(zip(WHO, who, strict=True)) | over_sizes(cells, who, sizes, rows))
    rows = pd.DataFrame(means).rename(columns={"mean": "value"})
    untold = rows["note"].fillna("").str.startswith(UNTOLD)
    text = _each(rows[~untold], say=number, scale=1, least=1, above_0=True)
    parts = [text] if text else []
    if many := [_called(row) for row in records(ranked(_telling(rows[untold])))]:
        parts.append(
            "it cannot be determined from these trials for"
            f" {listed(many) if len(many) <= _MOST else f'{len(many)} agents'}"
        )
    most = sum(sizes) / len(sizes)
    full = [_called(row) for row in records(ranked(_telling(rows[~untold & (rows["high"] >= most)])))]
    if 0 < len(full) <= _MOST:
        parts.append(f"{listed(full)} may hold all{f' {int(most)}' if len(sizes) == 1 else ''}, or more")
    shown = f"{int(most)} shown" if len(sizes) == 1 else f"mean over {listed([str(int(one)) for one in sizes])} shown"
    return (f"Items held (Pashler's K, {shown})", f": {'; '.join(parts)}.") if parts else ("", "")


def _ends(by_name: Mapping[str, ComputedEffect], scored: Scored, margin: Margin | None) -> tuple[str, str]:
    tested = testable(scored, ("list_length",))
    if not (by_name.keys() & {"primacy_recency", "serial_position"} and (tested.items["list_length"] >= 3).any()):
        return "", ""
    table = primacy_recency(tested)
    table = table[table["mean"].notna()].rename(columns={"mean": "value"})
    shared = _shared(table, "list_length")
    if shared is None:
        return "", ""
    table = table[table["list_length"] == shared]
    first, last = (_each(table[table["index"] == index], margin) for index in ("primacy", "recency"))
    if not first or not last:
        return "", ""
    text = f": the first item minus those in the middle, {first}; the last item minus those in the middle, {last}."
    return f"Primacy and recency in lists of {int(shared)}", text


def _slope(one: ComputedEffect) -> tuple[str, str]:
    table = _rows(one.trends, "slope")
    if not len(table):
        return "", ""
    where = ""
    if one.effect.panels:  # of several panels the last that everybody has
        names = panel_names(one.effect, one.table)
        of_panel = table.assign(_panel=[one.effect.panel(row) for row in records(table)])
        everybody = _telling(of_panel)["agent"].nunique()
        full = [
            name for name in names if _telling(of_panel[of_panel["_panel"] == name])["agent"].nunique() == everybody
        ]
        if not full:
            return "", ""
        table, where = of_panel[of_panel["_panel"] == full[-1]], f" ({full[-1]})"
    text = _each(table)
    step = {"set_size": "item", "list_length": "item", "serial_position": "place in the list"}.get(one.effect.x, "unit")
    name = f"Slope of {one.effect.title}{where}"
    return (
        (name, f": for each further {step}{f' of {one.effect.x_title}' if step == 'unit' else ''}, {text}.")
        if text
        else ("", "")
    )


def _rows(table: pd.DataFrame, contrast: str) -> pd.DataFrame:
    return table[(table["contrast"] == contrast) & table["value"].notna()] if len(table) else table


def _telling(table: pd.DataFrame) -> pd.DataFrame:
    """Rows of everybody but yardsticks and means of groups."""
    return table[of_kinds(table["agent_kind"], lambda kind: kind.role not in ("yardstick", "print"))]


def _shared_by_all(table: pd.DataFrame, column: str) -> list[float]:
    """The values of a column that everybody who is told has."""
    rows = _telling(table)
    many = rows.groupby(column, observed=True)["agent"].nunique()
    return [float(value) for value in many[many == rows["agent"].nunique()].index]


def _shared(table: pd.DataFrame, column: str) -> float | None:
    """The largest of :func:`_shared_by_all`."""
    return max(_shared_by_all(table, column), default=None)


def _each(
    table: pd.DataFrame,
    margin: Margin | None = None,
    say: Callable[[float, int], str] = with_sign,
    *,
    scale: float = 100,
    least: int = 0,
    above_0: bool = False,
) -> str:
    """``people (n = 9) +12 points (95% interval +8 to +16), network +3 (−2 to +8: not
    distinguishable from 0)``.

    Parameters
    ----------
    say : a number as text, with so many decimals: ``least``, or more where an interval is narrow
    scale : by which values are multiplied; shares become points
    above_0 : True for values that are above 0 by their nature, and no points
    """
    rows = [row for row in records(ranked(_telling(table))) if row["n_units"] > 1]  # one trial is no headline
    people = [row for row in rows if kind_named(str(row["agent_kind"])).role == "person"]
    answerers = rows if len(rows) <= _MOST else people
    phrases = []
    for row in answerers:
        digits = decimals(scale * row["low"], scale * row["high"], least)
        value, low, high = (say(scale * row[name], digits) for name in ("value", "low", "high"))
        text = f"{_called(row)} {value}{'' if above_0 or phrases else ' points'}"
        if row["low"] == row["low"]:
            interval = f"{low} to {high}"
            tested = _equivalence(row, margin) if margin is not None else None
            told_apart = not row["low"] <= 0 <= row["high"]
            words = [] if told_apart else ["not distinguishable from 0"]
            words += [] if tested is None or margin is None else [verdict_in_words(tested, margin, from_0=True)]
            text += f" ({'' if phrases else '95% interval '}{interval}{': ' * bool(words)}{', '.join(words)})"
        else:
            reason, withheld, _ = str(row["note"]).partition(": no interval")
            text += f" (no interval: {reason})" if withheld else " (no interval)"
        phrases.append(text)
    return ", ".join(phrases)


def _equivalence(row: Mapping[Any, Any], margin: Margin) -> Equivalence | None:
    """The verdict that the table beside has, or where it has none, that of the value and its
    standard error."""
    if str(row.get("alike") or ""):
        return equivalence_from(row["low_90"], row["high_90"], row["p_alike"], margin.scaled)
    return margin.judge(row.get("tested") or Contrast(row["value"], row["se"], row["df"], 0))


def _called(row: Mapping[Any, Any]) -> str:
    name = str(row["agent"])
    return name[:1].lower() + name[1:] if name.startswith("People (") else name
