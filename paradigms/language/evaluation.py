"""What an expression's syntax means: each part of a tree becomes a function from an environment to a value, once, when a file is read.

Whatever makes new values is weighed and paid for, and so is each turn of a loop: an expression can neither hang the program nor fill the memory.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...core.registry import nearest
from .functions import FUNCTIONS, OPERATORS, ExpressionError, kind_of
from .limits import spend, weigh

#: of all loops of one list together
MAX_TURNS = 10_000

Environment = Mapping[str, Any]
Value = Callable[[Environment], Any]


def meaning(tree: ast.AST) -> Value:
    """The function that a tree of allowed syntax stands for."""
    return _MEANINGS[type(tree)](tree)


def _constant(tree: ast.Constant) -> Value:
    value = tree.value
    return lambda env: value


def _name(tree: ast.Name) -> Value:
    name = tree.id

    def look_up(env: Environment) -> Any:
        try:
            return env[name]
        except KeyError:
            raise ExpressionError(f"'{name}' is not known here{nearest(name, env)}") from None

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
        ends = [None if end is None else meaning(end) for end in (tree.slice.lower, tree.slice.upper, tree.slice.step)]
        return lambda env: _weighed(inner(env)[slice(*(None if end is None else end(env) for end in ends))])
    key = meaning(tree.slice)
    return lambda env: _member(inner(env), key(env))


def _member(many: Any, key: Any) -> Any:
    """``many[key]``: a place of a list or text, from 0 (or from the end, below 0), or a field of a drawn value."""
    if isinstance(many, dict):
        return _field(many, key)
    if not isinstance(many, (list, str)) or not isinstance(key, int):
        raise ExpressionError(f"[...] takes a list and a whole number; found {kind_of(many)} and {kind_of(key)}")
    if not -len(many) <= key < len(many):
        raise ExpressionError(f"there is no place {key}: the {'list' if isinstance(many, list) else 'text'} has {len(many)}, counted from 0")
    return many[key]


def _list(tree: ast.List | ast.Tuple) -> Value:
    parts = [meaning(part) for part in tree.elts]
    return lambda env: _weighed([part(env) for part in parts])


def _dict(tree: ast.Dict) -> Value:
    pairs = [(None if key is None else meaning(key), meaning(value)) for key, value in zip(tree.keys, tree.values, strict=True)]

    def build(env: Environment) -> dict[Any, Any]:
        built: dict[Any, Any] = {}
        for key, value in pairs:
            if key is None:  # {**others}
                built.update(value(env))
            else:
                built[key(env)] = value(env)
        return _weighed(built)

    return build


def _one_sided(tree: ast.UnaryOp) -> Value:
    calculate, inner = OPERATORS[type(tree.op)], meaning(tree.operand)
    return lambda env: _weighed(calculate(inner(env)))


def _two_sided(tree: ast.BinOp) -> Value:
    calculate, left, right = OPERATORS[type(tree.op)], meaning(tree.left), meaning(tree.right)
    return lambda env: _weighed(calculate(left(env), right(env)))


def _comparison(tree: ast.Compare) -> Value:
    first, tests = meaning(tree.left), [(OPERATORS[type(test)], meaning(other)) for test, other in zip(tree.ops, tree.comparators, strict=True)]

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
                    raise ExpressionError(f"a list is made in more than {MAX_TURNS} turns")
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
        found = f"a list of {len(value)}" if isinstance(value, list) else kind_of(value)
        raise ExpressionError(f"expected {len(target.elts)} values for ({', '.join(map(ast.unparse, target.elts))}); found {found}")
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
