"""Expressions in YAML: strings that begin with ``=``, read into functions of our own, never given
to Python's ``eval``.

An expression may use numbers, strings, lists, comparisons, arithmetic, indexing,
``and``/``or``/``not``, ``a if b else c``, list comprehensions, the fields of drawn values
(``item.symbol``) and the functions below. It cannot reach Python objects: attributes are looked up
in mappings only, and there are no methods.

Each part of a syntax tree becomes a function from an environment to a value, once, when a file is
read. Whatever makes new values is weighed and paid for, and so is each turn of a loop: an
expression can neither hang the program nor fill the memory.
"""

from __future__ import annotations

import ast
import inspect
import math
import operator
import re
import threading
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from ...core.json_values import MAX_VALUES, LimitError, weigh
from ...core.registry import nearest

#: so many names are listed where one is unknown
_MOST_NAMES = 20
#: how YAML writes these values; expressions take them so, too
LITERALS: Mapping[str, Any] = {"null": None, "true": True, "false": False}
#: an expression within a text, and a name in braces that may have been meant as one
_WITHIN = re.compile(r"\{=(.*?)\}", re.DOTALL)
BRACED = re.compile(r"\{(\w+)\}")
#: of all loops of one list together
MAX_TURNS = 10_000

#: values that filling in one trial may touch, so that no file can hang the program; the largest
#: published trials touch a few thousand
MAX_WORK = 2_000_000

Environment = Mapping[str, Any]
Value = Callable[[Environment], Any]


class _Account(threading.local):
    left = MAX_WORK


_ACCOUNT = _Account()


def start_trial() -> None:
    """A new trial begins: it has all its work before it."""
    _ACCOUNT.left = MAX_WORK


def work_done() -> int:
    """The number of values that the trial has used so far."""
    return MAX_WORK - _ACCOUNT.left


def spend(work: int) -> None:
    """Note that so many values are touched.

    Raises
    ------
    LimitError
        when the trial has touched too many.
    """
    _ACCOUNT.left -= work
    if _ACCOUNT.left < 0:
        raise LimitError(
            "this takes more work than one trial may cost; are there loops within loops, or very long lists?"
        )


def _there(name: str, names: Iterable[str]) -> str:
    """The nearest of some names, or else all of them."""
    all_of_them = sorted(names)
    more = ", ..." if len(all_of_them) > _MOST_NAMES else ""
    return nearest(name, all_of_them) or (
        f" (known: {', '.join(all_of_them[:_MOST_NAMES])}{more})" if all_of_them else ""
    )


def meaning(tree: ast.AST) -> Value:
    """The function that a tree of allowed syntax stands for."""
    return _MEANINGS[type(tree)](tree)


def _constant(tree: ast.Constant) -> Value:
    value = tree.value
    return lambda env: value


def _name(tree: ast.Name) -> Value:
    name = tree.id
    if name in LITERALS:
        literal = LITERALS[name]
        return lambda env: literal

    def look_up(env: Environment) -> Any:
        try:
            return env[name]
        except KeyError:
            raise ExpressionError(f"'{name}' is not known here{_there(name, env)}") from None

    return look_up


def _attribute(tree: ast.Attribute) -> Value:
    inner, name = meaning(tree.value), tree.attr
    return lambda env: _field(inner(env), name)


def _field(value: Any, name: Any) -> Any:
    if not isinstance(value, dict):
        raise ExpressionError(f"'.{name}': only drawn values with named fields have fields; this is {kind_of(value)}")
    try:
        return value[name]
    except (KeyError, TypeError):
        raise ExpressionError(f"no field '{name}'{nearest(name, value) or '; there are ' + ', '.join(value)}") from None


def _subscript(tree: ast.Subscript) -> Value:
    inner = meaning(tree.value)
    if isinstance(tree.slice, ast.Slice):
        ends = [end and meaning(end) for end in (tree.slice.lower, tree.slice.upper, tree.slice.step)]
        return lambda env: _weighed(inner(env)[slice(*(end and end(env) for end in ends))])
    key = meaning(tree.slice)
    return lambda env: _member(inner(env), key(env))


def _member(many: Any, key: Any) -> Any:
    """``many[key]``: a place of a list or text, from 0 (or from the end, below 0), or a field of a
    drawn value."""
    if isinstance(many, dict):
        return _field(many, key)
    if not isinstance(many, (list, str)) or not isinstance(key, int):
        raise ExpressionError(f"[...] takes a list and a whole number; found {kind_of(many)} and {kind_of(key)}")
    if not -len(many) <= key < len(many):
        raise ExpressionError(
            f"there is no place {key}: the {'list' if isinstance(many, list) else 'text'} has {len(many)}, counted"
            " from 0"
        )
    return many[key]


def _list(tree: ast.List | ast.Tuple) -> Value:
    parts = [meaning(part) for part in tree.elts]
    return lambda env: _weighed([part(env) for part in parts])


def _dict(tree: ast.Dict) -> Value:
    pairs = [
        (meaning(key), meaning(value)) for key, value in zip(tree.keys, tree.values, strict=True) if key is not None
    ]
    return lambda env: _weighed({key(env): value(env) for key, value in pairs})


def _one_sided(tree: ast.UnaryOp) -> Value:
    calculate, inner = OPERATORS[type(tree.op)], meaning(tree.operand)
    return lambda env: _weighed(calculate(inner(env)))


def _two_sided(tree: ast.BinOp) -> Value:
    calculate, left, right = OPERATORS[type(tree.op)], meaning(tree.left), meaning(tree.right)
    return lambda env: _weighed(calculate(left(env), right(env)))


def _comparison(tree: ast.Compare) -> Value:
    first, tests = (
        meaning(tree.left),
        [(OPERATORS[type(test)], meaning(other)) for test, other in zip(tree.ops, tree.comparators, strict=True)],
    )

    def compare(env: Environment) -> Any:
        left, holds = first(env), True
        for test, other in tests:
            right = other(env)
            holds = test(left, right)
            if not holds:
                return holds
            left = right
        return holds

    return compare


def _logic(tree: ast.BoolOp) -> Value:
    parts, ends = [meaning(part) for part in tree.values], isinstance(tree.op, ast.Or)

    def decide(env: Environment) -> Any:
        value = None
        for part in parts:
            value = part(env)
            if bool(value) is ends:
                break
        return value

    return decide


def _conditional(tree: ast.IfExp) -> Value:
    test, body, otherwise = meaning(tree.test), meaning(tree.body), meaning(tree.orelse)
    return lambda env: body(env) if test(env) else otherwise(env)


def _call(tree: ast.Call) -> Value:
    assert isinstance(tree.func, ast.Name)
    function, arguments = FUNCTIONS[tree.func.id], [meaning(argument) for argument in tree.args]
    return lambda env: _weighed(function(*[argument(env) for argument in arguments]))


def _comprehension(tree: ast.ListComp) -> Value:
    each = meaning(tree.elt)
    loops = [(one.target, meaning(one.iter), [meaning(test) for test in one.ifs]) for one in tree.generators]

    def build(env: Environment) -> list[Any]:
        spend(len(env))
        scope, left = dict(env), MAX_TURNS

        def turns(depth: int) -> Iterator[None]:
            nonlocal left
            target, items, tests = loops[depth]
            for item in items(scope):
                left -= 1
                if left < 0:
                    raise ExpressionError(f"the loops of a list take more than {MAX_TURNS} turns")
                _bind(scope, target, item)
                if all(test(scope) for test in tests):
                    if depth + 1 < len(loops):
                        yield from turns(depth + 1)
                    else:
                        yield

        try:
            return _weighed([each(scope) for _ in turns(0)])
        finally:
            spend(MAX_TURNS - left)

    return build


def _bind(scope: dict[str, Any], target: ast.expr, value: Any) -> None:
    """Give a name of a loop, or several, what it stands for in this turn."""
    if isinstance(target, ast.Name):
        scope[target.id] = value
        return
    assert isinstance(target, (ast.Tuple, ast.List))
    if not isinstance(value, (list, str)) or len(value) != len(target.elts):
        description = f"a list of {len(value)}" if isinstance(value, list) else kind_of(value)
        raise ExpressionError(
            f"expected {len(target.elts)} values for ({', '.join(map(ast.unparse, target.elts))}); found {description}"
        )
    for part, one in zip(target.elts, value, strict=True):
        _bind(scope, part, one)


def _weighed(value: Any) -> Any:
    spend(weigh(value))
    return value


_MEANINGS: dict[type[ast.AST], Callable[[Any], Value]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.List: _list,
    ast.Tuple: _list,
    ast.Dict: _dict,
    ast.UnaryOp: _one_sided,
    ast.BinOp: _two_sided,
    ast.Compare: _comparison,
    ast.BoolOp: _logic,
    ast.IfExp: _conditional,
    ast.Call: _call,
    ast.ListComp: _comprehension,
}


MAX_LENGTH = 500


def is_expression(value: Any) -> bool:
    """Return whether a YAML value is an expression."""
    return isinstance(value, str) and value.startswith("=")


def varies(value: Any) -> bool:
    """Return whether a YAML value is an expression, or a text with expressions inside."""
    return is_expression(value) or (isinstance(value, str) and _WITHIN.search(value) is not None)


def _as_text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_as_text, value))
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ExpressionError(f"expected a number or a word within the text; found {kind_of(value)}")
    return str(value)


def is_name(value: Any) -> bool:
    """Return whether a text is a name in expressions. (Python reads some letters, such as
    ligatures, as others; they are not names here.)"""
    return (
        isinstance(value, str)
        and value.isidentifier()
        and not value.startswith("_")
        and unicodedata.normalize("NFKC", value) == value
    )


class Expression:
    """A parsed expression.

    Parameters
    ----------
    text : with or without the leading ``=``

    Raises
    ------
    ExpressionError
        when it cannot be read.
    """

    __slots__ = ("_meaning", "names", "text")

    def __init__(self, text: str) -> None:
        self.text = text.removeprefix("=").strip()
        if not self.text:
            raise ExpressionError("empty expression after '='")
        if len(self.text) > MAX_LENGTH:
            raise ExpressionError(f"expression longer than {MAX_LENGTH} characters")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # such as an unknown escape in text, on which Python versions differ
                parsed = _tree(self.text)
        except (SyntaxError, ValueError, RecursionError, MemoryError, Warning) as error:
            raise ExpressionError(
                f"cannot read the expression '={self.text}': {getattr(error, 'msg', None) or error}"
            ) from None
        _refuse_unknown_syntax(parsed.body, self.text)
        self.names = _free_names(parsed.body)
        try:
            self._meaning = meaning(parsed.body)
        except RecursionError:
            raise ExpressionError(f"'={self.text}': too many parts within parts") from None

    def __call__(self, env: Environment) -> Any:
        """The value in an environment.

        Raises
        ------
        ExpressionError
            when it cannot be evaluated there.
        """
        try:
            return self._meaning(env)
        except (ExpressionError, LimitError, ZeroDivisionError) as error:
            raise ExpressionError(f"'={self.text}': {error}") from None
        except (
            TypeError,
            ValueError,
            LookupError,
            ArithmeticError,
            AttributeError,
            RecursionError,
            MemoryError,
        ) as error:
            raise ExpressionError(f"'={self.text}': {str(error) or type(error).__name__}") from None


@lru_cache(maxsize=4096)
def read_expression(text: str) -> Expression:
    """Return an expression that is read once, however many paradigms and loads have it."""
    return Expression(text)


def _tree(text: str) -> ast.Expression:
    try:
        return ast.parse(text, mode="eval")
    except SystemError:
        # "AST constructor recursion depth mismatch": up to Python 3.11.7 and 3.12.1, all threads
        # share one count of the depth, which another thread that parses at the same moment spoils
        # (python/cpython issue 106905). The text itself is fine, or refused by another error the
        # second time.
        return ast.parse(text, mode="eval")


_SYNTAX = """
    Expression Constant Name Load Store Attribute Subscript Slice List Tuple Dict ListComp comprehension IfExp Call
    BoolOp And Or UnaryOp Not USub UAdd BinOp Add Sub Mult Div FloorDiv Mod Pow Compare Eq NotEq Lt LtE Gt GtE In NotIn Is IsNot
"""  # noqa: E501
_ALLOWED = tuple(getattr(ast, name) for name in _SYNTAX.split())


def _refuse_unknown_syntax(tree: ast.AST, text: str) -> None:
    for node in ast.walk(tree):
        if not isinstance(node, _ALLOWED):
            raise ExpressionError(f"'={text}': {type(node).__name__.lower()} is not part of the expression language")
        if isinstance(node, ast.comprehension) and node.is_async:
            raise ExpressionError(f"'={text}': async is not part of the expression language")
        if isinstance(node, ast.Constant):
            _refuse_constant(node.value, text)
        if isinstance(node, ast.Compare):
            for test, other in zip(node.ops, node.comparators, strict=True):
                # Which numbers and words are one and the same object differs between Python
                # versions.
                if isinstance(test, (ast.Is, ast.IsNot)) and not _is_literal(other):
                    raise ExpressionError(f"'={text}': 'is' takes None, True or False; compare with ==")
        if isinstance(node, ast.Dict) and None in node.keys:
            raise ExpressionError(f"'={text}': ** is not part of the expression language")
        if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
            raise ExpressionError(f"'={text}': no field begins with an underscore")
        if isinstance(node, ast.Call):
            if not isinstance(node.func, ast.Name):
                raise ExpressionError(f"'={text}': there are no methods; functions are {', '.join(FUNCTIONS)}")
            if node.func.id not in FUNCTIONS:
                raise ExpressionError(f"'={text}': unknown function '{node.func.id}'{nearest(node.func.id, FUNCTIONS)}")
            if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
                raise ExpressionError(f"'={text}': functions take plain values only")
            if wrong := _wrong_number(node.func.id, len(node.args)):
                raise ExpressionError(f"'={text}': {wrong}")


def _is_literal(tree: ast.expr) -> bool:
    named = isinstance(tree, ast.Name) and tree.id in LITERALS
    return named or (isinstance(tree, ast.Constant) and type(tree.value) in (type(None), bool))


def _refuse_constant(value: Any, text: str) -> None:
    try:
        weigh(value)
    except LimitError as error:
        raise ExpressionError(f"'={text}': {error}") from None


def _free_names(tree: ast.AST) -> frozenset[str]:
    bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return frozenset(
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and id(node) not in called and node.id not in {*bound, *LITERALS}
    )


class Template:
    """A YAML value with expressions somewhere inside, read once and filled in many times.

    Parameters
    ----------
    value : any YAML value
    report : called with (path below this value, message) for every expression that cannot be read,
        or that uses a name not in ``variables``
    variables : the names that exist where the value stands; None skips that check
    gaps : names in braces that somebody else fills
    """

    __slots__ = ("_fill", "_gaps", "_values", "constant")

    def __init__(
        self,
        value: Any,
        report: Callable[[tuple[str | int, ...], str], None],
        variables: Iterable[str] | None = None,
        gaps: Iterable[str] = (),
    ) -> None:
        self._gaps = frozenset(gaps)
        names = None if variables is None else frozenset(variables)
        self._values = 0
        self._fill = self._build(value, (), report, names)
        #: whether there is no expression inside
        self.constant = self._fill is None
        if self._fill is None:
            self._fill = lambda _env: value

    def _build(
        self, value: Any, path: tuple[str | int, ...], report: Any, variables: frozenset[str] | None
    ) -> Callable[[Environment], Any] | None:
        self._values += 1
        if is_expression(value):
            try:
                expression = read_expression(value)
            except ExpressionError as error:
                report(path, str(error))
                return lambda _env: None
            for name in sorted(expression.names - variables) if variables is not None else ():
                report(path, f"'{value}' uses '{name}', which is not known here{_there(name, variables or ())}")
            return expression
        if isinstance(value, str):
            return self._build_text(value, path, report, variables)
        if isinstance(value, dict):
            parts = {key: self._build(inner, (*path, key), report, variables) for key, inner in value.items()}
            if all(part is None for part in parts.values()):
                return None
            varying = [(key, part) for key, part in parts.items() if part is not None]
            return lambda env: {**value, **{key: part(env) for key, part in varying}}
        if isinstance(value, list):
            items = [self._build(inner, (*path, n), report, variables) for n, inner in enumerate(value)]
            if all(item is None for item in items):
                return None
            return lambda env: [(value[n] if item is None else item(env)) for n, item in enumerate(items)]
        return None

    def _build_text(
        self, value: str, path: tuple[str | int, ...], report: Any, variables: frozenset[str] | None
    ) -> Callable[[Environment], Any] | None:
        """A text with expressions inside, such as ``{=n}-back``; nothing where there are none."""
        for name in BRACED.findall(value):
            if name in (variables or ()) and name not in self._gaps:
                report(path, f"'{value}' would be shown as it stands: write {{={name}}} for the value of '{name}'")
        pieces = _WITHIN.split(value)
        if len(pieces) == 1:
            return None
        parts = [
            piece if number % 2 == 0 else self._build(f"={piece}", path, report, variables)
            for number, piece in enumerate(pieces)
        ]
        return lambda env: "".join(
            part if isinstance(part, str) else _as_text(part(env)) for part in parts if part is not None
        )

    def __call__(self, env: Environment) -> Any:
        """The value, with every expression evaluated in ``env``.

        Raises
        ------
        ExpressionError
            when one of them cannot be.
        LimitError
            when the trial has become too much work.
        """
        assert self._fill is not None
        if not self.constant:
            spend(self._values)
        return self._fill(env)


def _wrong_number(name: str, count: int) -> str:
    """Describe the error if a function is called with this number of values; empty if there is
    none."""
    least = most = 0
    for parameter in inspect.signature(FUNCTIONS[name]).parameters.values():
        least += parameter.default is parameter.empty and parameter.kind is not parameter.VAR_POSITIONAL
        most = math.inf if parameter.kind is parameter.VAR_POSITIONAL else most + 1
    if least <= count <= most:
        return ""
    takes = f"at least {least}" if most == math.inf else " to ".join(dict.fromkeys((f"{least}", f"{most}")))
    return f"{name} takes {takes} value{'' if takes == '1' else 's'}; found {count}"


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


def _len(value: Any) -> int:
    if not isinstance(value, (list, str, Mapping)):
        raise ExpressionError(f"len counts lists and text; this is {kind_of(value)}")
    return len(value)


def _str(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, (int, float, str)):
        raise ExpressionError(f"str takes a number or text; this is {kind_of(value)}")
    return str(value)


def _abs(number: float) -> float:
    if not isinstance(number, (int, float)):
        raise ExpressionError(f"abs takes a number; this is {kind_of(number)}")
    return abs(number)


def _round(number: float, digits: int = 0) -> float:
    if not isinstance(number, (int, float)) or not isinstance(digits, int) or abs(digits) > 30:
        raise ExpressionError("round takes a number, and perhaps a number of digits")
    return round(number, digits) if digits else round(number)


def _sum(values: list[Any]) -> Any:
    for value in _listed(values, "sum"):
        if not isinstance(value, (int, float)):
            raise ExpressionError(f"sum adds numbers; found {kind_of(value)}")
    return sum(values)


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


#: What an expression may call.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": _abs,
    "flatten": lambda values: [
        element for value in _listed(values, "flatten") for element in (value if isinstance(value, list) else [value])
    ],
    "round": _round,
    "distinct": _distinct,
    "len": _len,
    "max": _ordering(max),
    "min": _ordering(min),
    "range": _range,
    "sorted": lambda values: _ordering(sorted)(_listed(values, "sorted")),
    "str": _str,
    "sum": _sum,
    "without": _without,
    "zip": _zip,
}


def _times(a: Any, b: Any) -> Any:
    for many, times in ((a, b), (b, a)):
        if isinstance(many, (list, str)) and isinstance(times, int) and len(many) * times > MAX_VALUES:
            raise LimitError(f"more than {MAX_VALUES} values")
    return a * b


def _power(base: Any, exponent: Any) -> Any:
    if isinstance(base, int) and isinstance(exponent, int) and abs(exponent) * base.bit_length() > 128:
        raise LimitError("a whole number beyond 64 bits")
    return base**exponent


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
