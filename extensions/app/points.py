"""The points of a figure as links to the trials that they are computed from."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape, unescape
from typing import Any, Literal
from urllib.parse import urlencode

import pandas as pd

#: An address that stays as it is while a figure is drawn, and is replaced afterwards.
_NOWHERE = "https://point.invalid/?"
_LINK = re.compile(r'<a xlink:href="https://point\.invalid/\?([^"]*)"[^>]*>(<path aria-label=")([^"]*)"')
#: What was drawn as a link, but leads nowhere: published people and models have no trials here.
_NO_LINK = re.compile(r'<a xlink:href="[^"]*"[^>]*>(<path[^>]*/>)</a>')
#: Columns of a figure's table before ``oracle`` that say whose a row is and what it measures, and not which trials it is of.
_NOT_CONDITIONS = frozenset({"paradigm", "agent_kind", "agent", "measure", "variant", "rules"})
Mark = Literal["right", "wrong", "partly", "none"]


@dataclass(frozen=True, slots=True)
class PointTrial:
    """A trial behind a point.

    Parameters
    ----------
    session : its name, or its path below the data folder
    key : of the trial in it
    mark : of those answers that the point is computed from
    """

    session: str
    key: str
    mark: Mark


def with_links(spec: Mapping[str, Any], table: pd.DataFrame, agents: frozenset[str]) -> dict[str, Any]:
    """A declared figure whose points are links: each names its answerer and its conditions.

    Parameters
    ----------
    table : numbers of the figure
    agents : answerers who have trials here; published people and models have none
    """
    rows = spec["data"]["values"]
    linked = [row | {"trials": _NOWHERE + urlencode(conditions_of(row, table))} if row.get("agent") in agents else row for row in rows]
    return {**_linked(spec), "data": {"values": linked}}


def _linked(part: Any) -> Any:
    if isinstance(part, Mapping):
        changed = {key: value if key == "data" else _linked(value) for key, value in part.items()}
        mark = part.get("mark")
        if (mark.get("type") if isinstance(mark, Mapping) else mark) in ("point", "circle", "square", "bar"):
            changed["encoding"] = {**changed.get("encoding", {}), "href": {"field": "trials"}}
        return changed
    return [_linked(element) for element in part] if isinstance(part, list) else part


def conditions_of(row: Mapping[str, Any], table: pd.DataFrame) -> dict[str, str]:
    """The answerer of a point, and the conditions that all rows of the figure's table share that it may be; those are too few rather than too many."""
    mine = table[table["agent"] == row["agent"]]
    columns = [str(name) for name in table.columns]
    keys = [name for name in columns[: columns.index("oracle")] if name not in _NOT_CONDITIONS] if "oracle" in columns else []
    mean = row.get("mean")
    if not keys or "mean" not in columns or not isinstance(mean, float | int):
        return {"agent": str(row["agent"])}
    mine = mine[[math.isclose(value, mean, abs_tol=1e-9) for value in mine["mean"].astype(float)]]
    if (axis := [_equal(value, row.get("at")) for value in mine[keys[-1]]]) and any(axis):
        mine = mine[axis]
    if panel := str(row.get("panel") or ""):
        there = [any(str(_plain(line[key])) in panel.split() for key in keys) for line in mine[keys].to_dict("records")]
        mine = mine[there] if any(there) else mine
    shared = {key: _plain(mine[key].iloc[0]) for key in keys if len(mine) and mine[key].nunique(dropna=False) == 1}
    return {"agent": str(row["agent"])} | {key: json.dumps(value) for key, value in shared.items() if value is not None}


def _equal(value: Any, other: Any) -> bool:
    try:
        return float(value) == float(other)
    except (TypeError, ValueError):
        return str(value) == str(other)


def _plain(value: Any) -> Any:
    """A value of a table as JSON has it; None where there is none."""
    if value is None or value is pd.NA or value != value:
        return None
    value = value.item() if hasattr(value, "item") else value
    return int(value) if isinstance(value, float) and value.is_integer() else value


def addressed(svg: str, paradigm: str) -> str:
    """A drawing with the addresses of the app in its links, each with the name of its point."""

    def link(found: re.Match[str]) -> str:
        label = re.sub(r"; (?:who: [^;]*|trials: .*)", "", unescape(found[3]))
        name = escape(label, quote=True)
        return f'<a href="/paradigms/{paradigm}/points?{found[1]}" aria-label="{name}">{found[2]}{name}"'

    return _NO_LINK.sub(r"\1", _LINK.sub(link, svg))


def trials_of(items: pd.DataFrame, agent: str, conditions: Mapping[str, Any]) -> Iterator[PointTrial]:
    """The trials of an answerer in which these conditions were asked, in the order in which they were taken.

    Parameters
    ----------
    items : scored answers of a paradigm
    conditions : those that are no columns of the answers do not narrow them down
    """
    mine = items[items["agent"].astype(str) == agent]
    for name, value in narrowing(items, conditions).items():
        mine = mine[[_equal(_plain(one), value) for one in mine[name]]]
    for (session, trial), answers in mine.groupby(["session", "trial"], sort=True, observed=True):
        yield PointTrial(str(session), str(_plain(trial)), _mark([bool(one) for one in answers["correct"].dropna()]))


def narrowing(items: pd.DataFrame, conditions: Mapping[str, Any]) -> dict[str, Any]:
    """The conditions that select answers: those of a column of theirs, which a factor of the paradigm may be."""
    if "load" in conditions and "load" not in items.columns:  # n in N-back, and the set size elsewhere
        by_n = "factor_n" in items.columns and items["factor_n"].nunique() > 1
        load = "factor_n" if by_n else "set_size"
        conditions = {load if name == "load" else name: level for name, level in conditions.items()}
    named = {name: column for name in conditions for column in (name, f"factor_{name}") if column in items.columns}
    return {column: conditions[name] for name, column in named.items()}


def _mark(right: Sequence[bool]) -> Mark:
    return "none" if not right else "right" if all(right) else "partly" if any(right) else "wrong"
