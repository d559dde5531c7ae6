"""Whatever a file holds, loading and compiling it works or gives an error that names the file;
never another exception, never a hang."""

# ruff: noqa: E501

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from effort import at_most
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from paradigm_texts import PROBE, load, text

from spanlab.core.errors import ParadigmError, SpanLabError
from spanlab.paradigms import compile_trial, fingerprint, list_paradigms, load_paradigm, plan_practice, plan_session
from spanlab.paradigms.checking import check_paradigm
from spanlab.paradigms.design import session_design
from spanlab.paradigms.language.schema import DatasetDesign
from spanlab.paradigms.language.yaml_source import library_file as library_path
from spanlab.paradigms.language.yaml_source import parse
from spanlab.paradigms.paradigm import paradigm_from_data
from spanlab.sessions.studies import load_study

#: loading and compiling are a fraction of a million additions; a hostile file may cost as much as
#: some hundred millions
MUCH = 800

HERE = Path(__file__).resolve().parents[2]
SHIPPED = [path.read_text(encoding="utf-8") for name in list_paradigms() if (path := library_path(name)) is not None]
SHIPPED += [path.read_text(encoding="utf-8") for path in sorted((HERE / "drafts").glob("*.yaml"))]

FOLDER = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def tried(folder: Path, content: str | bytes) -> SpanLabError | None:
    """The error that a file gives when it is loaded, compiled and planned, if any."""
    try:
        paradigm = load(folder, content, "broken.yaml")
        combinations = paradigm.combinations()
        for index, levels in enumerate([*combinations[:2], *combinations[-1:]]):
            fingerprint(compile_trial(paradigm, levels, index, "published" if index else "corrected"))
        for name, design in paradigm.designs.items():
            if not isinstance(design, DatasetDesign):
                plan_session(paradigm, 1, session_design(paradigm, name))
        plan_practice(paradigm, 1)
    except SpanLabError as error:
        return error
    return None


def survives(folder: Path, content: str | bytes) -> bool:
    """Whether a file works; when not, its error names the file, and the line wherever there is one."""
    with at_most(MUCH):
        error = tried(folder, content)
    if isinstance(error, ParadigmError):
        assert error.problems
    for line in str(error).split("\n") if error is not None else ():
        assert line.isprintable()
        assert 10 < len(line) < 1600
        if isinstance(error, ParadigmError):
            assert re.match(rf"((broken|{'|'.join(list_paradigms())})\.yaml|zero)(:\d+)? ", line), (
                f"no file in the message: {line}"
            )
    return error is None


# mutations of shipped files -----------------------------------------------------------------------

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 12),
    st.sampled_from([10**5, 10**9, 2**63, 10**30, -(10**30)]),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.text(max_size=12),
    st.sampled_from(
        [
            "no",
            "=1",
            "=",
            "=zz",
            "=number",
            "=[1, 2]",
            "=1 / 0",
            "=range(10 ** 9)",
            "={'a': 1}",
            "none",
            "all",
            "en",
            "2",
            "true",
            "=list_length",
            "=n",
        ]
    ),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)),
    max_leaves=6,
)
WORDS = st.sampled_from(
    [
        "paradigm",
        "version",
        "title",
        "factors",
        "draw",
        "timeline",
        "designs",
        "practice",
        "instructions",
        "network",
        "source",
        "set_size",
        "list_length",
        "show",
        "ask",
        "phase",
        "record",
        "do",
        "for",
        "when",
        "else",
        "repeat",
        "feedback",
        "model_steps",
        "ms",
        "answer",
        "ends",
        "window_ms",
        "choice",
        "cells",
        "options",
        "take",
        "grid",
        "matrix",
        "blank",
        "filled",
        "permutation",
        "of",
        "random",
        "uniform",
        "extends",
        "counts",
        "count",
        "tasks",
    ]
)


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Random values under the right keys."""
    keys = [
        "paradigm",
        "version",
        "title",
        "instructions",
        "timeline",
        "factors",
        "draw",
        "designs",
        "practice",
        "network",
        "source",
        "set_size",
        "domains",
    ]
    steps = st.dictionaries(WORDS, st.one_of(VALUES, st.dictionaries(WORDS, VALUES, max_size=3)), max_size=4)
    content: dict[str, Any] = {
        "paradigm": "x",
        "version": 1,
        "title": "x",
        "instructions": {"en": "x"},
        "timeline": draw(st.lists(steps, max_size=3)),
    }
    for key in draw(st.lists(st.sampled_from(keys), max_size=3)):
        content[key] = draw(
            st.one_of(
                VALUES,
                st.dictionaries(WORDS, st.one_of(VALUES, st.dictionaries(WORDS, VALUES, max_size=2)), max_size=3),
            )
        )
    return yaml.safe_dump(content, allow_unicode=True, sort_keys=False, width=1000)


@given(
    content=st.one_of(
        st.binary(max_size=200),
        st.text(max_size=200).map(lambda characters: characters.encode("utf-8", "surrogatepass")),
    )
)
@settings(FOLDER, max_examples=100)
def test_random_bytes(tmp_path: Path, content: bytes) -> None:
    assert not survives(tmp_path, content)


@given(
    content=st.recursive(
        SCALARS,
        lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(WORDS, inner, max_size=4)),
        max_leaves=20,
    )
)
@settings(FOLDER, max_examples=150)
def test_random_content_of_a_record(content: Any) -> None:
    """A session keeps its paradigm as JSON; a damaged one gives an error, too."""
    plain = json.loads(json.dumps(content))
    with suppress(SpanLabError):
        paradigm_from_data(plain if isinstance(plain, dict) else {"timeline": plain}, "kept")


@pytest.mark.slow
def test_a_design_of_57600_trials_is_planned_in_time(tmp_path: Path) -> None:
    """Trials are chosen one after the other, each without a look at all of its cell."""
    (shipped,) = (content for content in SHIPPED if "paradigm: vir\n" in content)
    assert "repetitions: 20\n" in shipped
    assert survives(tmp_path, shipped.replace("repetitions: 20\n", "repetitions: 9600\n"))


# what is huge, deep or hostile --------------------------------------------------------------------


def blank(inside: str = "") -> str:
    return f"{{phase: p, show: {{blank: {{}}}}{inside}}}"


def many(count: int, one: str) -> str:
    return "".join(one.replace("#", str(n)) for n in range(count))


HOSTILE: dict[str, str | bytes] = {
    "10 MB of letters": b"a" * 10_000_000,
    "10 MB of keys": many(700_000, "key#: 1\n"),
    "a megabyte of one word": text(more="domains: [" + "a" * 990_000 + "]"),
    "a megabyte of one key": "k" * 990_000 + ": 1\n",
    "brackets": "[" * 100_000,
    "brackets closed": "[" * 100_000 + "]" * 100_000,
    "braces": "{a: " * 100_000,
    "dashes": "- " * 100_000,
    "question marks": "? " * 100_000,
    "quotes": "'" * 900_001,
    "anchors": "&a " * 300_000,
    "many anchors": "domains:\n" + many(20_000, "- &a# x\n"),
    "laughs": "a0: &a0 [x]\n" + many(30, "b#: &b# [*a0, *a0]\n") + "c0: &c0 [*b0, *b1]\n" + "".join(f"c{n}: &c{n} [{', '.join([f'*c{n - 1}'] * 9)}]\n" for n in range(1, 20)),
    "documents": "---\n" * 200_000,
    "directives": "%TAG ! !\n" * 50_000,
    "unknown keys": text(more=many(20_000, "k#: x\n")),
    "duplicate keys": text(more="a: 1\n" * 20_000),
    "missing names": text(draw="a: [" + ", ".join(["=zz"] * 20_000) + "]"),
    "levels": text(factors="a: [" + many(40_000, "#, ") + "]"),
    "factors": text(factors=many(9_000, "f#: [1, 2]\n")),
    "crossed factors": text(factors=many(12, "f#: [" + ", ".join(map(str, range(30))) + "]\n")),
    "draws": text(draw=many(9_000, "d#: {one_of: 5}\n")),
    "doubling draws": text(draw="d0: [1]\n" + "".join(f"d{n}: '=[d{n - 1}, d{n - 1}]'\n" for n in range(1, 60))),
    "comparing doubles": text(draw="".join(f"{a}{n}: '=[{a}{n - 1}, {a}{n - 1}]'\n" if n else f"{a}0: [1]\n" for n in range(14) for a in "xy") + "z: =x13 == y13"),
    "a huge permutation": text(draw="a: {permutation: {of: 1000000000}}"),
    "a large permutation": text(draw="a: {permutation: {of: 100000}}"),
    "a huge count": text(draw="a: {several: {of: 2, count: 1000000000}}"),
    "many copies of a list": text(draw="a: {several: {of: [[" + ", ".join(["1"] * 2000) + "]], count: 10000}}"),
    "a huge set of patterns": text(draw="a: {matrix_patterns: {count: 1000000000, grid: 12, filled: 70}}"),
    "a huge range": text(f"- {{for: 'x in range(10 ** 9)', do: [{blank()}]}}\n{PROBE}"),
    "a huge power": text(draw="a: =10 ** 10 ** 10"),
    "a huge repeat": text(f"- {{repeat: 1000000000, do: [{blank()}]}}\n{PROBE}"),
    "repeats in repeats": text("- repeat: 10000\n  do:\n    - repeat: 10000\n      do:\n        - repeat: 10000\n          do: [" + blank() + "]\n" + PROBE),
    "loops that do nothing": text("- for: x in range(10000)\n  do:\n    - for: y in range(10000)\n      when: =False\n      do: [" + blank() + "]\n" + PROBE),
    "many steps": text(f"- {{repeat: 9999, do: [{blank()}]}}\n{PROBE}"),
    "many heavy steps": text("- repeat: 9998\n  phase: p\n  show: {pattern_array: {grid: 8, cells: =q}}\n" + PROBE, draw="p: {matrix_patterns: {count: 9, grid: 8, filled: 30}}\nq: =p"),
    "many long steps": text("- repeat: 9999\n  phase: p\n  show: [" + ", ".join(["{blank: {}, ms: 1}"] * 100) + "]\n" + PROBE),
    "many displays": text("- phase: p\n  show: [" + ", ".join(["{blank: {}, ms: 1}"] * 9_000) + "]\n" + PROBE),
    "many records": text("- repeat: 9999\n  phase: p\n  show: {blank: {}}\n  record: {" + many(2_000, "r#: =number, ") + "}\n" + PROBE),
    "many steps written out": text((blank_step := "- {phase: p, show: {matrix: {filled: [1]}}}\n") * 5_000 + PROBE),
    "a long text": text("- {phase: p, show: {text: '" + "word " * 100_000 + "'}}\n" + PROBE),
    "many options": text("- {phase: p, show: {blank: {}}, ask: {choice: {options: [" + many(20_000, "o#, ") + "]}, answer: o1}}"),
    "huge trial counts": text(factors="a: [1, 2]", more="designs: {human: {repetitions: 100000, blocks: 1000}, many: {repetitions: 100000}}"),
    "a huge practice": text(more="practice: {trials: 1000000000}"),
    "a huge seed of digits": text(more="set_size: " + "9" * 5000),
    "long digits in a layout": text("- {phase: p, show: {blank: {}}, ask: {choice: {options: 2, layout: " + "9" * 6000 + "x1}, answer: 0}}"),
    "extends /dev/zero": "extends: /dev/zero\n",
    "extends a long name": "extends: " + "a" * 5_000 + ".yaml\n",
    "extends a folder": "extends: /\n",
    "extends itself": "extends: broken.yaml\n",
    "extends with many keys": "extends: vsr\ndraw: {" + many(9_000, "d#: {one_of: 5}, ") + "}\n",
    "NUL": text().encode() + b"\x00",
    "invalid UTF-8": text().encode() + b"# \xff\xfe",
    "UTF-16": text().encode("utf-16"),
    "UTF-32": text().encode("utf-32"),
    "Latin-1": text().replace("Do it", "Größe").encode("latin-1"),
    "surrogates": b'title: "\xed\xa0\x80"',
    "escaped surrogates": 'title: "\\ud800"\n',
}  # fmt: skip


@contextmanager
def little_memory(megabytes: int) -> Iterator[None]:
    """Let this process grow by so much at most."""
    if not sys.platform.startswith("linux"):
        yield
        return
    import resource

    used = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + megabytes * 2**20, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_neither_hang_nor_fill_the_memory(tmp_path: Path, name: str) -> None:
    with little_memory(700):
        survives(tmp_path, HOSTILE[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["loops that do nothing", "crossed factors", "huge trial counts", "doubling draws"])
def test_checking_hostile_files_ends(tmp_path: Path, name: str) -> None:
    (path := tmp_path / "broken.yaml").write_text(str(HOSTILE[name]), encoding="utf-8")
    with at_most(4 * MUCH), suppress(SpanLabError):
        assert "small is fine" in check_paradigm(path)


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_line_ends_and_byte_order_marks_are_all_the_same(tmp_path: Path, ending: str, mark: bytes) -> None:
    plain = load(tmp_path, text())
    content = mark + text().replace("\n", ending).encode()
    assert fingerprint(compile_trial(load(tmp_path, content), {}, 1)) == fingerprint(compile_trial(plain, {}, 1))
    with pytest.raises(ParadigmError, match=r"small\.yaml:7 colour: unknown key"):
        load(tmp_path, content + b"colour: 1")


@pytest.mark.parametrize(
    "source",
    [
        "/",
        "/dev",
        ".",
        "..",
        "",
        " ",
        "nowhere",
        "nowhere.yaml",
        "/nowhere/x.yaml",
        "a" * 300,
        "a" * 5000 + ".yaml",
        "x\x00y.yaml",
        "vsr.yaml/x",
        "~",
        "*",
    ],
)
def test_what_is_no_file_is_told(source: str) -> None:
    for one in (source, Path(source)):
        with pytest.raises(SpanLabError, match=r"."):
            load_paradigm(one)


def test_keys_may_have_units_and_quotes() -> None:
    assert parse("RT [ms]: 1\nleft 'button': 2\nset {a}: 3", "f").data == {
        "RT [ms]": 1,
        "left 'button'": 2,
        "set {a}": 3,
    }


@pytest.mark.parametrize("name", ["vsr", "smu", "continuous_colour", "axcpt", "study"])
def test_a_colon_that_is_missing_is_told_at_its_line(tmp_path: Path, name: str) -> None:
    """Of each key in turn; a line that the one before it goes on with is an odd value there."""
    source = library_path(name) or Path(__file__).parents[3] / "api" / "templates" / "study.yaml"
    broken, lines = tmp_path / "broken.yaml", source.read_text("utf-8").splitlines()
    for at, key in ((at, key) for at, line in enumerate(lines) if (key := re.match(r" *(- )?\w+(?=:( |$))", line))):
        broken.write_text("\n".join([*lines[:at], key[0] + key.string[key.end() + 1 :], *lines[at + 1 :]]), "utf-8")
        inside = rf"broken.yaml:{at + 1} .*(without a colon; write KEY: VALUE|expected .*; found )"
        with pytest.raises(ParadigmError, match=inside):
            (load_study if name == "study" else load_paradigm)(broken)
