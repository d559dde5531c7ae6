"""Expressions in YAML: strings that begin with ``=``, read into functions of our own (:mod:`.evaluation`), never given to Python's ``eval``.

An expression may use numbers, strings, lists, comparisons, arithmetic, indexing, ``and``/``or``/``not``, ``a if b else c``, list comprehensions, the fields
of drawn values (``item.symbol``) and the functions below. It cannot reach Python objects: attributes are looked up in mappings only, and there are no
methods.
"""

from __future__ import annotations

import ast
import unicodedata
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from ...core.registry import nearest
from .evaluation import Environment, meaning
from .functions import FUNCTIONS, ExpressionError, wrong_number
from .limits import LimitError, spend, weigh

MAX_LENGTH = 500


def is_expression(value: Any) -> bool:
    """Whether a YAML value is an expression."""
    return isinstance(value, str) and value.startswith("=")


def is_name(value: Any) -> bool:
    """Whether expressions can call something so. (Python reads some letters as others, such as ligatures; they are no names here.)"""
    return isinstance(value, str) and value.isidentifier() and not value.startswith("_") and unicodedata.normalize("NFKC", value) == value


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
            raise ExpressionError(f"cannot read the expression '={self.text}': {getattr(error, 'msg', None) or error}") from None
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
        except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError, RecursionError, MemoryError) as error:
            raise ExpressionError(f"'={self.text}': {str(error) or type(error).__name__}") from None


def _tree(text: str) -> ast.Expression:
    try:
        return ast.parse(text, mode="eval")
    except SystemError:
        # "AST constructor recursion depth mismatch": up to Python 3.11.7 and 3.12.1, all threads share one count of the depth, which another thread that
        # parses at the same moment spoils (python/cpython issue 106905). The text itself is fine, or refused by another error the second time.
        return ast.parse(text, mode="eval")


_SYNTAX = """
    Expression Constant Name Load Store Attribute Subscript Slice List Tuple Dict ListComp comprehension IfExp Call
    BoolOp And Or UnaryOp Not USub UAdd BinOp Add Sub Mult Div FloorDiv Mod Pow Compare Eq NotEq Lt LtE Gt GtE In NotIn Is IsNot
"""
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
                # Which numbers and words are one and the same object differs between Python versions.
                if isinstance(test, (ast.Is, ast.IsNot)) and not (isinstance(other, ast.Constant) and type(other.value) in (type(None), bool)):
                    raise ExpressionError(f"'={text}': 'is' takes None, True or False; compare with ==")
        if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
            raise ExpressionError(f"'={text}': no field begins with an underscore")
        if isinstance(node, ast.Call):
            if not isinstance(node.func, ast.Name):
                raise ExpressionError(f"'={text}': there are no methods; functions are {', '.join(FUNCTIONS)}")
            if node.func.id not in FUNCTIONS:
                raise ExpressionError(f"'={text}': unknown function '{node.func.id}'{nearest(node.func.id, FUNCTIONS)}")
            if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
                raise ExpressionError(f"'={text}': functions take plain values only")
            if wrong := wrong_number(node.func.id, len(node.args)):
                raise ExpressionError(f"'={text}': {wrong}")


def _refuse_constant(value: Any, text: str) -> None:
    try:
        weigh(value)
    except LimitError as error:
        raise ExpressionError(f"'={text}': {error}") from None


def _free_names(tree: ast.AST) -> frozenset[str]:
    bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in called and node.id not in bound)


class Template:
    """A YAML value with expressions somewhere inside, read once and filled in many times.

    Parameters
    ----------
    value : any YAML value
    report : called with (path below this value, message) for every expression that cannot be read, or that uses a name not in ``known``
    known : the names that exist where the value stands; None skips that check
    """

    __slots__ = ("_fill", "_values", "constant")

    def __init__(self, value: Any, report: Callable[[tuple[str | int, ...], str], None], known: Iterable[str] | None = None) -> None:
        names = None if known is None else frozenset(known)
        self._values = 0
        self._fill = self._build(value, (), report, names)
        #: whether there is no expression inside
        self.constant = self._fill is None
        if self._fill is None:
            self._fill = lambda _env: value

    def _build(self, value: Any, path: tuple[str | int, ...], report: Any, known: frozenset[str] | None) -> Callable[[Environment], Any] | None:
        self._values += 1
        if is_expression(value):
            try:
                expression = Expression(value)
            except ExpressionError as error:
                report(path, str(error))
                return lambda _env: None
            for name in sorted(expression.names - known) if known is not None else ():
                report(path, f"'{value}' uses '{name}', which is not known here{nearest(name, known or ())}")
            return expression
        if isinstance(value, dict):
            parts = {key: self._build(inner, (*path, key), report, known) for key, inner in value.items()}
            if all(part is None for part in parts.values()):
                return None
            varying = [(key, part) for key, part in parts.items() if part is not None]
            return lambda env: {**value, **{key: part(env) for key, part in varying}}
        if isinstance(value, list):
            items = [self._build(inner, (*path, n), report, known) for n, inner in enumerate(value)]
            if all(item is None for item in items):
                return None
            return lambda env: [(value[n] if item is None else item(env)) for n, item in enumerate(items)]
        return None

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
