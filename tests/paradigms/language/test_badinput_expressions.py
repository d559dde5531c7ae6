"""Expressions cannot reach Python, hang, or eat memory; they give plain values or one sentence."""

from __future__ import annotations

import ast
import builtins
import json
from keyword import iskeyword
from typing import Any

import pytest
from effort import at_most
from hypothesis import given, settings
from hypothesis import strategies as st

from spanlab.core.json_values import LimitError, weigh
from spanlab.paradigms.language.expressions import (
    FUNCTIONS,
    LITERALS,
    MAX_WORK,
    Expression,
    ExpressionError,
    is_name,
    spend,
    start_trial,
    work_done,
)

ITEMS = [{"symbol": "b", "label": "m"}, {"symbol": "c", "label": "-"}]
ENVIRONMENT: dict[str, Any] = {
    "a": 3,
    "b": [1, 2, 3],
    "c": "word",
    "d": {"x": 1, "y": [2, 3]},
    "items": ITEMS,
    "t": True,
    "n": None,
    "f": 0.5,
}

ESCAPES = [
    "().__class__",
    "().__class__.__bases__[0].__subclasses__()",
    "''.__class__.__mro__",
    "a.__class__",
    "d.__class__",
    "items[0].__class__",
    "(1).real",
    "'a'.upper()",
    "'a'.upper",
    "b.append(4)",
    "[].append",
    "d.keys()",
    "d.items",
    "'{0.__class__}'.format(a)",
    "'%s' % a",
    "'%(x)s' % d",
    "f'{a}'",
    "f'{a.__class__}'",
    "lambda: 1",
    "(lambda: 1)()",
    "(y := 1)",
    "[*b]",
    "max(*b)",
    "max(b, key=len)",
    "{**d}['x'].__class__",
    "{1, 2}",
    "{k: 1 for k in b}",
    "(x for x in b)",
    "sum(x for x in b)",
    "{x for x in b}",
    "[x async for x in b]",
    "await a",
    "yield",
    "(yield)",
    "__import__('os')",
    "__builtins__",
    "eval('1')",
    "exec('1')",
    "open('/etc/passwd')",
    "print(1)",
    "getattr(a, 'real')",
    "globals()",
    "type(a)",
    "list(b)",
    "dict(d)",
    "set(b)",
    "tuple(b)",
    "int('3')",
    "float('3')",
    "rand()",
    "randint(5)",
    "len",
    "[len]",
    "[len][0]",
    "{'f': len}.f",
    "len if t else 1",
    "[0 for len in b] and len",
    "[len for len in [1]][0] + [0 for x in [len]][0]",
    "str.join",
    "len.__call__(b)",
    "d['__class__']",
    "d.get",
    "...",
    "1j",
    "(-8) ** 0.5",
    "b'bytes'",
    "b''",
    "a @ a",
    "a << 2",
    "a | 2",
    "~a",
    "a is 3",
    "c is 'word'",
    "a; b",
    "import os",
    "a = 1",
    "a\nb",
    "del a",
    "pass",
    "assert a",
    "a if t",
    "[",
    "(",
    "'",
    "'\\d'",
    "1or 2",
    "\x00",
    "a\x00",
    "é̊́" * 3 + "(",
    "ﬁ",
    "{1: 2}",
    "{a: 2}",
    "b['x']",
    "d[0]",
    "d[b]",
    "b[b]",
    "b[0.5]",
    "a[0]",
    "b[99]",
    "b[::0]",
    "1 / 0",
    "a % 0",
    "0 ** -1",
    "b + a",
    "c + a",
    "-c",
    "-b",
    "+n",
    "n < a",
    "b < a",
    "'x' < 1",
    "1 in 5",
    "a in c",
    "len()",
    "len(1)",
    "len(b, b)",
    "range()",
    "range(1, 2, 3, 4)",
    "range('x')",
    "range(1, 5, 0)",
    "sum('abc')",
    "sum([b])",
    "sum(b, b)",
    "zip()",
    "zip(a)",
    "max([])",
    "max()",
    "max(1, 'x')",
    "sorted(a)",
    "sorted([1, 'x'])",
    "without()",
    "flatten(a)",
    "distinct(a)",
    "abs(c)",
    "round(c)",
    "str(b)",
    "str(n)",
    "[x for x in a]",
    "[x for (x, y) in b]",
]


def value(text: str) -> Any:
    """The value of an expression, as one trial would get it."""
    start_trial()
    return Expression(text)(ENVIRONMENT)


@pytest.mark.parametrize("text", [text for text in ESCAPES if text != "1or 2"])
def test_ways_out_and_mistakes_are_refused(text: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        value(text)
    assert str(caught.value)


GREEDY = [
    "10 ** 10 ** 10",
    "2 ** 64",
    "10 ** 4000000",
    "(10 ** 18) * (10 ** 18)",
    "9 ** 9 ** 9 ** 9",
    "1e308 * 10",
    "1e999",
    "1e308 - -1e308",
    "2.0 ** 5000",
    "'x' * 10 ** 9",
    "[0] * 10 ** 9",
    "10 ** 9 * [0]",
    "'ab' * 40000",
    "[[0] * 1000] * 1000",
    "[[[0] * 100] * 100] * 100",
    "range(10 ** 9)",
    "range(-10 ** 18, 10 ** 18)",
    "range(10001)",
    "round(1, -10 ** 9)",
    "round(0.5, 10 ** 9)",
    "'%1000000000d' % 1",
    "[x for x in range(10000) for y in range(10000)]",
    "sum([sum(range(10000)) for x in range(10000)])",
    "len([1 for x in range(9999) if range(9999) == range(9999)])",
    "len([1 for x in range(9999) if x in range(9999)])",
    "len([sorted(range(9999)) for x in range(9999)])",
    "len([without(range(9999), 1, 2, 3) for x in range(9999)])",
    "flatten([[range(9999)] * 5] * 2)",
    "zip(" + ", ".join(["range(9000)"] * 9) + ")",
    "+".join(["range(9000)"] * 9),
    str(2**63),
    "9" * 400,
]


@pytest.mark.parametrize("text", GREEDY, ids=[text[:40] for text in GREEDY])
@pytest.mark.slow
def test_nothing_hangs_or_eats_memory(text: str) -> None:
    with at_most(300), pytest.raises(ExpressionError):
        value(text)


DEEP = [
    "-" * 499 + "1",
    "not " * 124 + "1",
    "(" * 249 + ")" * 249,
    "[" * 249 + "]" * 249,
    "a." * 200 + "b",
    "a[" * 150 + "0" + "]" * 150,
    "1+" * 249 + "1",
    "1 if t else " * 40 + "1",
    "[x for x in " * 35 + "b" + "]" * 35,
]


@pytest.mark.parametrize("text", DEEP, ids=[text[:12] for text in DEEP])
def test_deep_expressions_are_evaluated_or_refused(text: str) -> None:
    check(text)


def test_long_expressions_are_refused() -> None:
    with pytest.raises(ExpressionError, match="longer than 500 characters"):
        Expression("=" + "1 + " * 200 + "1")


def test_several_names_of_a_loop_take_as_many_values() -> None:
    assert value("[x + y for (x, (y, z)) in [[1, [2, 3]]]]") == [3]
    for items, found in (("[[1, 2, 3]]", "a list of 3"), ("b", "a number"), ("[c]", "text"), ("[n]", "empty")):
        with pytest.raises(ExpressionError, match=rf"expected 2 values for \(x, y\); found {found}"):
            value(f"[x for (x, y) in {items}]")


def test_names_of_a_loop_end_with_it() -> None:
    assert value("[[a for a in b] + [a] for x in b if x != 2]") == [[1, 2, 3, 3]] * 2
    assert value("[x + y for x in b for y in range(x)]") == [1, 2, 3, 3, 4, 5]
    assert ENVIRONMENT["a"] == 3


def test_another_thread_that_parses_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some versions of Python then fail once."""
    parse, failures = ast.parse, iter([SystemError("AST constructor recursion depth mismatch (before=78, after=133)")])

    def moody(*arguments: Any, **named: Any) -> Any:
        for failure in failures:
            raise failure
        return parse(*arguments, **named)

    monkeypatch.setattr(ast, "parse", moody)
    assert value("a + 1") == 4
    assert next(failures, None) is None


def test_values_that_share_their_parts_do_not_grow_without_end() -> None:
    """Doubled and doubled again, a list holds many values, though there are few lists."""
    start_trial()
    doubled: Any = [1]
    for _ in range(14):
        doubled = Expression("=[x, x]")({"x": doubled})
    with pytest.raises(ExpressionError, match="more than 50000 values"):
        Expression("=[[x, x], [x, x]]")({"x": doubled})


def test_work_is_counted_for_the_whole_trial() -> None:
    expression = Expression("=len([x for x in range(5000)])")
    start_trial()
    for _ in range(10):
        expression({})
    spend(MAX_WORK - work_done() - 1000)
    with pytest.raises(ExpressionError, match="more work than one trial may cost"):
        expression({})
    start_trial()
    assert expression({}) == 5000
    with pytest.raises(LimitError):
        spend(MAX_WORK)
    start_trial()


# random expressions -------------------------------------------------------------------------------

NAMES = st.sampled_from([*ENVIRONMENT, "zz", "len", "str", "True", "None", "__class__", "_x"])
NUMBERS = st.one_of(st.integers(-5, 5), st.sampled_from([0.5, 1e308, 10**18, 2**63, -1])).map(repr)
TEXTS = st.sampled_from(["''", "'a'", "'{}'", "'%d'", "'__class__'", "'\\n'"])
FIELDS = st.sampled_from(["x", "y", "symbol", "upper", "__class__", "append", "real", "format"])
ARITHMETIC = ["+", "-", "*", "/", "//", "%", "**", "<<", "@", "|"]
BINARY = st.sampled_from([*ARITHMETIC, "<", "<=", ">", ">=", "==", "!=", "in", "is", "and", "or", "not in", "is not"])


def _calls(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    called = st.sampled_from([*FUNCTIONS, "eval", "getattr", "list", "print"])
    return st.builds(lambda name, arguments: f"{name}({', '.join(arguments)})", called, st.lists(inner, max_size=3))


def _wider(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("({} {} {})".format, inner, BINARY, inner),
        st.builds("({}{})".format, st.sampled_from(["-", "+", "not ", "~", "*", "await ", "lambda: "]), inner),
        st.builds("{}[{}]".format, inner, inner),
        st.builds("{}[{}:{}]".format, inner, inner, inner),
        st.builds("{}.{}".format, inner, FIELDS),
        st.builds("{}.{}()".format, inner, FIELDS),
        st.builds("({} if {} else {})".format, inner, inner, inner),
        st.lists(inner, max_size=3).map(lambda parts: f"[{', '.join(parts)}]"),
        st.builds("[{} for {} in {}]".format, inner, st.sampled_from(["x", "a", "(x, y)", "len"]), inner),
        st.builds("[{} for x in {} if {}]".format, inner, inner, inner),
        st.builds("{{'x': {}, 'y': {}}}".format, inner, inner),
        _calls(inner),
    )


GRAMMAR = st.recursive(st.one_of(NAMES, NUMBERS, TEXTS, st.just("x")), _wider, max_leaves=12)


def outcome(text: str) -> Any:
    """The value of an expression, or the error that it gives."""
    try:
        return value(text)
    except ExpressionError as error:
        return error


def check(text: str) -> None:
    """An expression gives a plain value, or an ExpressionError; whatever it is, with little work."""
    before = json.dumps(ENVIRONMENT)
    with at_most(300):
        found = outcome(text)
    if isinstance(found, ExpressionError):
        assert str(found)
    else:
        weigh(found)
        json.dumps(found, allow_nan=False)
    assert json.dumps(ENVIRONMENT) == before, "an expression changes nothing"


@given(GRAMMAR)
@settings(max_examples=400, deadline=None)
@pytest.mark.slow
def test_random_expressions_give_plain_values_or_one_error(text: str) -> None:
    check(text)


@given(st.text(alphabet=st.sampled_from("abcdxyt019.+-*/%<>=!()[]{}:,'\"\\ _\n@|~^&;#$?éß"), max_size=40))
@settings(max_examples=300, deadline=None)
@pytest.mark.slow
def test_random_characters_give_plain_values_or_one_error(text: str) -> None:
    check(text)


@pytest.mark.slow
@pytest.mark.parametrize("many", [3_000, pytest.param(30_000, marks=pytest.mark.soak)])
def test_many_random_expressions_give_plain_values_or_one_error(many: int) -> None:
    settings(max_examples=many, deadline=None)(given(st.one_of(GRAMMAR, st.text(max_size=60)))(check))()


@given(st.sampled_from([name for name in dir(builtins) if name not in FUNCTIONS]))
@settings(max_examples=200, deadline=None)
def test_no_builtin_of_python_is_within_reach(name: str) -> None:
    if name in ("True", "False", "None"):
        return
    for text in (name, f"{name}(a)", f"[{name} for x in b]", f"[0 for {name} in b] + [{name}]"):
        with pytest.raises(ExpressionError):
            value(text)


@given(st.one_of(st.text(max_size=12), st.sampled_from(["ﬁ", "ª", "K", "µ", "x", "größe", "_a", "a b", "1a", ""])))
@settings(max_examples=200, deadline=None)
@pytest.mark.slow
def test_whatever_may_be_a_name_can_be_used_as_one(name: str) -> None:
    if is_name(name) and not iskeyword(name) and name not in LITERALS:  # these are reserved
        assert Expression(f"{name} == 7")({name: 7}) is True
