"""A recipe says what the columns of somebody's table mean: names, units, rows that are practice,
answers that lie beside each other. ``spanlab import table FILE --suggest`` begins one."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from ...core.errors import SpanLabError
from ...core.registry import StrictModel, nearest
from ...sessions.record.table import COLUMNS

OPTION = "--recipe"
OURS = frozenset(column.name for column in COLUMNS)
Unit = Literal["ms", "s", "degrees", "radians"]
Listed = Annotated[tuple[str, ...], Field(strict=False)]
_NAME = re.compile(r"(factor|record)_\w+")


class Long(StrictModel):
    """Several answers that lie beside each other in a row."""

    number: str = Field(default="ask", description="the column that the number in the names becomes")
    columns: dict[str, str] = Field(
        description=(
            "column of the response table: their names, with {} for the number, such as answer: 'resp{}'; the name of"
            " one column that holds whole lists (ABCD, or a b c d)"
        )
    )


class Recipe(StrictModel):
    """What the columns of a table mean."""

    names: Listed = Field(default=(), description="names of the columns, of a file without a header")
    skip: Annotated[int, Field(ge=0)] = Field(default=0, description="lines before the header")
    sheet: str = Field(default="", description="the sheet of a workbook")
    columns: dict[str, str] = Field(
        default={},
        description=(
            "column of the response table: their column; a calculation such as 'target - answer'; FILE for the name of"
            " the file; 'FILE: sub-(\\w+)' for a part of it"
        ),
    )
    values: dict[str, str | int | float | bool] = Field(
        default={}, description="column of the response table: the value that all rows have"
    )
    conditions: Listed = Field(default=(), description="their columns that are conditions")
    units: dict[str, Unit] = Field(default={}, description="column of the response table: ms, s, degrees or radians")
    long: Long | None = Field(default=None, description="answers that lie beside each other in a row")
    keep: str = Field(default="", description="rows that are read, such as block > 1")
    practice: str = Field(default="", description="rows that are practice: COLUMN=VALUE, or loops of PsychoPy")
    words: dict[str, dict[str, str]] = Field(
        default={}, description="column of the response table: what their values are called, such as {'1': different}"
    )
    missing: Listed = Field(default=(), description="what stands where there is no value, besides NA, n/a, NaN, None")

    def asked(self, names: Sequence[str], file: Path) -> None:
        """Refuse what a recipe names that is not there.

        Raises
        ------
        SpanLabError
            with the nearest name.
        """
        known = {*self.columns, *self.values, *self.units, *self.words, *(self.long.columns if self.long else ())}
        for ours in sorted(known):
            if ours not in OURS and not _NAME.fullmatch(ours):
                raise SpanLabError(
                    f"{OPTION}: the response table has no column '{ours}'"
                    f"{nearest(ours, OURS) or ' (a condition is listed under conditions)'}"
                )
        for theirs in self.conditions:
            if theirs not in names:
                raise SpanLabError(_lacks(file, theirs, names))


def read_inline(texts: Sequence[str]) -> Recipe:
    """``["subject=participant,accuracy=correct", "agent:people"]`` as a recipe.

    Raises
    ------
    SpanLabError
        when an entry is none.
    """
    columns: dict[str, str] = {}
    values: dict[str, str | int | float | bool] = {}
    for entry in (entry.strip() for text in texts for entry in text.split(",")):
        theirs, equals, ours = (part.strip() for part in entry.rpartition("="))
        if not equals:
            ours, _, theirs = (part.strip() for part in entry.partition(":"))
        if not theirs or not ours:
            raise SpanLabError(
                f"{OPTION} takes a file, or THEIRS=OURS, such as subject=participant,accuracy=correct, and OURS:VALUE"
                f" for a column that is missing, such as agent_kind:participant; found '{entry}'"
            )
        if ours in columns or ours in values or (equals and theirs in columns.values()):
            raise SpanLabError(f"{OPTION} {entry}: each column is named once")
        if equals:
            columns[ours] = theirs
        else:
            values[ours] = theirs
    recipe = Recipe(columns=columns, values=values)
    recipe.asked((), Path())
    return recipe


def written(recipe: Recipe) -> str:
    """A recipe as YAML."""
    import yaml

    return yaml.safe_dump(recipe.model_dump(exclude_defaults=True, mode="json"), sort_keys=False, allow_unicode=True)


def column(table: pd.DataFrame, wanted: str, file: Path) -> pd.Series:
    """A column of a table as a recipe names it: by its name, from the name of the file, or as a
    calculation.

    Raises
    ------
    SpanLabError
        when there is none.
    """
    made = {name: name[1:] for name in map(str, table.columns) if name[:1] == "_" and name[1:] not in table.columns}
    table = table.rename(columns=made)  # of answers beside each other
    if wanted in table.columns:
        return table[wanted]
    if wanted.partition(":")[0].strip() == "FILE":
        text = file.stem
        if pattern := wanted.partition(":")[2].strip():
            found = re.search(pattern, file.name)
            if not found:
                raise SpanLabError(f"{file}: its name has nothing like {pattern}")
            text = found[found.lastindex or 0]
        return pd.Series(
            pd.Categorical.from_codes(np.zeros(len(table), int), categories=pd.Index([text])), index=table.index
        )
    names = {f"_column{at}": name for at, name in enumerate(table.columns)}
    text = wanted
    for token, name in sorted(names.items(), key=lambda item: -len(item[1])):
        text = re.sub(rf"(?<![\w.]){re.escape(name)}(?![\w.])", token, text)
    try:
        value = _calculated(ast.parse(text, mode="eval").body, table, names)
    except (SyntaxError, ValueError, KeyError, TypeError):
        raise SpanLabError(_lacks(file, wanted, [*table.columns])) from None
    return pd.Series(value, index=table.index)


def _lacks(file: Path, name: str, names: Sequence[str]) -> str:
    return f"{OPTION}: {file} has no column '{name}'{nearest(name, names)}; it has {', '.join(map(str, names))}"


_OPERATORS: Mapping[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.USub: operator.neg,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.And: operator.and_,
    ast.Or: operator.or_,
    ast.Not: operator.invert,
}


def _calculated(node: ast.AST, table: pd.DataFrame, names: Mapping[str, str]) -> Any:
    """The value of a calculation: columns, numbers, texts, arithmetic and comparisons; nothing else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.sub("_column[0-9]+", lambda token: names.get(token[0], token[0]), node.value)
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    if isinstance(node, ast.Name):
        return values_of(table[names[node.id]])
    if isinstance(node, ast.BinOp):
        return _OPERATORS[type(node.op)](*(_calculated(side, table, names) for side in (node.left, node.right)))
    if isinstance(node, ast.UnaryOp):
        return _OPERATORS[type(node.op)](_calculated(node.operand, table, names))
    if isinstance(node, ast.BoolOp):
        first, *others = (_calculated(part, table, names) for part in node.values)
        for other in others:
            first = _OPERATORS[type(node.op)](first, other)
        return first
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = _calculated(node.left, table, names), _calculated(node.comparators[0], table, names)
        return _OPERATORS[type(node.ops[0])](left, right)
    raise ValueError("no calculation")


def values_of(values: pd.Series) -> pd.Series:
    """A column as numbers where it holds nothing else, as texts otherwise."""
    numbers = pd.to_numeric(values.astype(object), errors="coerce")
    return numbers if numbers.notna().equals(values.notna()) else values.astype(object).fillna("").astype(str)
