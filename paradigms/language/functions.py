"""Functions and operators of expressions. All are bounded and deterministic, and report errors in
the words of the file."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from .limits import MAX_VALUES, LimitError, spend, weigh

MAX_RANGE = 10_000


class ExpressionError(ValueError):
    """An expression that cannot be read or evaluated; the message says why."""


def kind_of(value: Any) -> str:
    """Describe the type of a value in words."""
    kinds = {
        list: "a list",
        tuple: "a list",
        str: "text",
        int: "a number",
        float: "a number",
        bool: "true or false",
        type(None): "empty",
        dict: "a mapping",
    }
    return kinds.get(type(value), "a value")


def _range(first: int, end: int | None = None, step: int = 1) -> list[int]:
    numbers = range(first) if end is None else range(first, end, step)
    # len() itself fails for more than 64 bits
    if numbers and (numbers[-1] - numbers[0]) // numbers.step >= MAX_RANGE:
        raise ExpressionError(f"range of more than {MAX_RANGE} numbers")
    return list(numbers)


def _zip(one: list[Any], *more: list[Any]) -> list[list[Any]]:
    lists = [one, *more]
    if len({len(_listed(part, "zip")) for part in lists}) > 1:
        raise ExpressionError(f"zip of lists of different lengths ({', '.join(str(len(part)) for part in lists)})")
    return [list(row) for row in zip(*lists, strict=True)]


def _without(values: list[Any], *unwanted: Any) -> list[Any]:
    spend(weigh(_listed(values, "without")) * len(unwanted))
    return [value for value in values if value not in unwanted]


def _distinct(values: list[Any]) -> list[Any]:
    spend(weigh(_listed(values, "distinct")) ** 2)
    return [value for n, value in enumerate(values) if value not in values[:n]]


def _flatten(values: list[Any]) -> list[Any]:
    return [
        element for value in _listed(values, "flatten") for element in (value if isinstance(value, list) else [value])
    ]


def _len(value: Any) -> int:
    if not isinstance(value, (list, str, Mapping)):
        raise ExpressionError(f"len counts lists and text; this is {kind_of(value)}")
    return len(value)


def _abs(number: float) -> float:
    if not isinstance(number, (int, float)):
        raise ExpressionError(f"abs takes a number; this is {kind_of(number)}")
    return abs(number)


def _str(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, (int, float, str)):
        raise ExpressionError(f"str takes a number or text; this is {kind_of(value)}")
    return str(value)


def _sum(values: list[Any]) -> Any:
    for value in _listed(values, "sum"):
        if not isinstance(value, (int, float)):
            raise ExpressionError(f"sum adds numbers; found {kind_of(value)}")
    return sum(values)


def _round(number: float, digits: int = 0) -> float:
    if not isinstance(number, (int, float)) or not isinstance(digits, int) or abs(digits) > 30:
        raise ExpressionError("round takes a number, and perhaps a number of digits")
    return round(number, digits) if digits else round(number)


def _listed(value: Any, function: str) -> list[Any]:
    if not isinstance(value, list):
        raise ExpressionError(f"{function} takes lists; this is {kind_of(value)}")
    return value


def _ordering(function: Callable[..., Any]) -> Callable[..., Any]:
    """Python's min, max or sorted of a list (or of several values), with errors in our words."""

    def explained(value: Any, *more: Any) -> Any:
        several = [value, *more] if more else _listed(value, function.__name__)
        spend(weigh(several))
        try:
            return function(several)
        except TypeError:
            raise ExpressionError(
                f"{function.__name__} cannot compare {', '.join(dict.fromkeys(map(kind_of, several)))}"
            ) from None
        except ValueError:
            raise ExpressionError(f"{function.__name__} of an empty list") from None

    return explained


def _sorted(values: list[Any]) -> list[Any]:
    return _ordering(sorted)(_listed(values, "sorted"))


#: What an expression may call.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": _abs,
    "distinct": _distinct,
    "flatten": _flatten,
    "len": _len,
    "max": _ordering(max),
    "min": _ordering(min),
    "range": _range,
    "round": _round,
    "sorted": _sorted,
    "str": _str,
    "sum": _sum,
    "without": _without,
    "zip": _zip,
}


def _power(base: Any, exponent: Any) -> Any:
    if isinstance(base, int) and isinstance(exponent, int) and abs(exponent) * base.bit_length() > 128:
        raise LimitError("a whole number beyond 64 bits")
    return base**exponent


def _times(a: Any, b: Any) -> Any:
    for many, times in ((a, b), (b, a)):
        if isinstance(many, (list, str)) and isinstance(times, int) and len(many) * times > MAX_VALUES:
            raise LimitError(f"more than {MAX_VALUES} values")
    return a * b


def _modulo(a: Any, b: Any) -> Any:
    if isinstance(a, str):
        raise ExpressionError("text has no '%'")
    return a % b


def _paid(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """A comparison that is paid for: that of long lists takes long."""

    def paid(a: Any, b: Any) -> bool:
        for operand in (a, b):
            if isinstance(operand, (list, Mapping)):
                spend(weigh(operand))
        return compare(a, b)

    return paid


#: What expressions may calculate.
OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Not: operator.not_,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mult: _times,
    ast.Pow: _power,
    ast.Mod: _modulo,
    ast.Eq: _paid(operator.eq),
    ast.NotEq: _paid(operator.ne),
    ast.Lt: _paid(operator.lt),
    ast.LtE: _paid(operator.le),
    ast.Gt: _paid(operator.gt),
    ast.GtE: _paid(operator.ge),
    ast.In: _paid(lambda one, many: one in many),
    ast.NotIn: _paid(lambda one, many: one not in many),
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
