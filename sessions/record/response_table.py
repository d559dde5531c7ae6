"""The response table as it is made from events: its columns, a data frame, and the bytes of its CSV
file, which are the same wherever it is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...core.errors import SpanLabError

if TYPE_CHECKING:
    import pandas as pd

#: what the values of a column may be, by its type
_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}
#: powers of ten between which a number is written without an exponent
_LOW, _HIGH = -6, 10


@dataclass(frozen=True)
class Table:
    """A table of answers.

    Parameters
    ----------
    values : of each column, None where there is nothing
    types : of each column: string, integer, number or boolean
    """

    values: Mapping[str, Sequence[Any]]
    types: Mapping[str, str]

    @property
    def column_names(self) -> list[str]:
        return list(self.values)

    @property
    def num_rows(self) -> int:
        return len(next(iter(self.values.values()), ()))

    def select(self, columns: Sequence[str], /) -> Table:
        return Table({name: self.values[name] for name in columns}, self.types)

    def to_pylist(self) -> list[dict[str, Any]]:
        rows = zip(*self.values.values(), strict=True)
        return [dict(zip(self.values, row, strict=True)) for row in rows]

    def to_pandas(self) -> pd.DataFrame:
        """The same as a data frame, with the types that pyarrow would give it."""
        import pandas as pd

        text = pd.Series([""]).dtype
        columns = {name: pd.Series(cells, dtype=self._dtype(name, cells, text)) for name, cells in self.values.items()}
        return pd.DataFrame(columns)

    def _dtype(self, name: str, cells: Sequence[Any], text: Any) -> Any:
        kind = self.types[name]
        if kind == "string":
            return text
        if kind == "number":
            return "float64"
        if any(cell is None for cell in cells):
            return "float64" if kind == "integer" else "object"
        return "int64" if kind == "integer" else "bool"

    def check(self) -> Table:
        """Itself, when each value fits its column.

        Raises
        ------
        SpanLabError
            when one does not.
        """
        for name, cells in self.values.items():
            kind = self.types[name]
            for cell in cells:
                fits = isinstance(cell, _KINDS[kind]) and (kind == "boolean" or not isinstance(cell, bool))
                if cell is not None and not (fits and (kind != "integer" or -(2**63) <= cell < 2**63)):
                    raise SpanLabError(
                        f"the column {name} of the record takes only values of type {kind}; found {cell!r}"
                    )
        return self

    def csv(self) -> str:
        """The text of its CSV file: texts in quotation marks, nothing where there is nothing."""
        written = [[_written(cell, self.types[name]) for cell in cells] for name, cells in self.values.items()]
        header = ",".join(_quoted(name) for name in self.values)
        return "\n".join([header, *map(",".join, zip(*written, strict=True)), ""])


def together(tables: Iterable[Table]) -> Table:
    """Tables one below another; columns that one lacks have nothing there."""
    parts = [*tables]
    types = {name: kind for part in parts for name, kind in part.types.items()}
    names = dict.fromkeys(name for part in parts for name in part.values)
    return Table({name: list(_below(parts, name)) for name in names}, types)


def _below(parts: Sequence[Table], name: str) -> Iterator[Any]:
    for part in parts:
        yield from part.values.get(name, [None] * part.num_rows)


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _written(cell: Any, kind: str) -> str:
    """A cell as pyarrow writes it."""
    if cell is None:
        return ""
    if kind == "string":
        return _quoted(cell)
    if kind == "boolean":
        return "true" if cell else "false"
    return str(cell) if kind == "integer" else number_text(float(cell))


def number_text(value: float) -> str:
    """The shortest digits that give a number again, with an exponent where it is long or small."""
    if value in (float("inf"), float("-inf")) or value != value:
        return str(value)
    digits, exponent = _digits(repr(abs(value)))
    sign = "-" if str(value).startswith("-") else ""
    if not _LOW <= exponent < _HIGH:
        rest = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{rest}e{exponent:+d}" if exponent > 0 else f"{sign}{digits[0]}{rest}e{exponent}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    whole, part = digits[: exponent + 1].ljust(exponent + 1, "0"), digits[exponent + 1 :]
    return f"{sign}{whole}.{part}" if part else f"{sign}{whole}"


def _digits(text: str) -> tuple[str, int]:
    """The significant digits of a number as Python writes it, and the power of ten of the first."""
    base, _, power = text.partition("e")
    whole, _, part = base.partition(".")
    every = whole + part
    digits = every.lstrip("0")
    if not digits.strip("0"):
        return "0", 0
    exponent = len(whole) - 1 - (len(every) - len(digits)) + int(power or 0)
    return digits.rstrip("0"), exponent
