"""Files of trials that come from elsewhere: read as they were written, strictly, and taken like any
other trials."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from command_line import Run, complaint, output_of
from hypothesis import given, settings
from hypothesis import strategies as st
from paradigm_texts import text

from spanlab.core.errors import SpanLabError
from spanlab.paradigms import (
    Generator,
    Paradigm,
    compile_trial,
    fingerprint,
    list_paradigms,
    load_paradigm,
    plan_session,
)
from spanlab.paradigms.compile import drawn_values
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.paradigms.paradigm import GENERATORS
from spanlab.paradigms.trials_file import GivenTrial, TrialsFile, plan_given, write_trials

SMALL = text(
    "- {phase: probe, show: {blank: {}}, ask: {choice: {options: 9}, answer: =a}, record: {delay: =delay}}",
    factors="n: [1, 2, 3]\ndelay: {random: [4, 5]}",
    draw="a: {one_of: 9}",
)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A paradigm's file, and beside it ``trials.jsonl`` with twelve trials of it: nine of n = 1,
    two of n = 2, one of n = 3."""
    (path := tmp_path / "small.yaml").write_text(SMALL, encoding="utf-8")
    trials = [
        GivenTrial(f"t{i}", {"n": n, "delay": 4 + i % 2}, {"a": i % 9}) for i, n in enumerate([1] * 9 + [2, 2, 3])
    ]
    assert write_trials(tmp_path / "trials.jsonl", load_paradigm(path), "published", "made up", trials) == 12
    return path


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@cache
def loaded(name: str) -> Paradigm:
    return load_paradigm(name)


@settings(max_examples=25)
@given(st.data())
def test_what_was_written_is_read(data: st.DataObject) -> None:
    """Trials of any paradigm; they compile to what they were."""
    paradigm = loaded(data.draw(st.sampled_from(list_paradigms())))
    generator: Generator = data.draw(st.sampled_from(GENERATORS))
    source = data.draw(
        st.one_of(st.text(max_size=9), st.dictionaries(st.text(max_size=3), st.integers(0, 9), max_size=3))
    )
    trials = []
    for seed in data.draw(st.lists(st.integers(0, 2**53), min_size=1, max_size=4, unique=True)):
        levels = data.draw(st.sampled_from(paradigm.combinations()))
        levels = compile_trial(paradigm, levels, seed, generator).levels
        trials.append(GivenTrial(f"trial {seed}", levels, drawn_values(paradigm, levels, seed, generator)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.jsonl"
        assert write_trials(path, paradigm, generator, source, trials) == len(trials)
        file = TrialsFile(path)
        assert file.paradigm.hash == paradigm.hash
        assert list(file) == trials
        assert (file.header.generator, file.header.source, file.header.trials) == (generator, source, len(trials))
        planned = plan_given(file, seed=3)
        assert [one.name for one in planned] == [one.name for one in trials]
        for one, given_trial in zip(planned, trials, strict=True):
            expected = compile_trial(paradigm, given_trial.levels, one.seed, generator, given_trial.draws)
            assert fingerprint(one.compile(paradigm, generator)) == fingerprint(expected)
        assert [path.name for path in Path(folder).iterdir()] == ["x.jsonl"]


def test_seeds_and_numbers_are_those_of_any_session(small: Path) -> None:
    planned = plan_given(TrialsFile(small.with_name("trials.jsonl"), small), 5)
    ordinary = plan_session(load_paradigm(small), 5, SessionDesign(), trials=12)
    assert [(one.block, one.trial, one.seed, one.practice, one.interval_ms) for one in planned] == [
        (one.block, one.trial, one.seed, one.practice, one.interval_ms) for one in ordinary
    ]


HEADER: list[tuple[dict[str, Any], str]] = [
    ({"format": "trials"}, ":1 this is not a trials file: its first line must say"),
    ({"version": 2}, ":1 written by a newer spanlab (format 2, this one reads up to 1): update spanlab"),
    ({"version": "1"}, ":1 version: expected 1; found '1'"),
    ({"paradigm": 3}, ":1 paradigm: expected text; found 3"),
    (
        {"paradigm_version": 2},
        "was written for version 2 of small; this is version 1, whose trials may be others: import them again",
    ),
    ({"paradigm": "vsr"}, "holds trials of vsr, not of small"),
    ({"generator": "best"}, ":1 generator: expected 'corrected' or 'published'; found 'best'"),
    ({"trials": 0}, ":1 trials: expected a number from 1; found 0"),
    ({"trials": 13}, ":13 the file ends after 12 of 13 trials; is it cut off? Write it again"),
    ({"trials": 11}, ":13 the file ends after 12 of 11 trials"),
    ({"sourc": "x"}, ":1 sourc: unknown key 'sourc'; did you mean 'source'?"),
    ({"source": 3}, ":1 source: expected text or keys with values; found 3"),
]


@pytest.mark.parametrize(("change", "message"), HEADER, ids=[message for _, message in HEADER])
def test_first_lines_are_checked(small: Path, change: dict[str, Any], message: str) -> None:
    path = small.with_name("trials.jsonl")
    head, *rest = lines(path)
    path.write_text("".join(json.dumps(line) + "\n" for line in [head | change, *rest]), encoding="utf-8")
    with pytest.raises(SpanLabError) as told:
        plan_given(TrialsFile(path, small), 1)
    assert str(told.value).startswith(str(path))
    assert message in str(told.value)


LINES: list[tuple[str | bytes, str]] = [
    ("", "Expecting value at column 1"),
    ("[]", "expected keys with values; found []"),
    ('{"name": "x", "levels": {"n": 1, "delay": 4}}', ":6 'draws' is missing"),
    ('{"name": "x", "levels": {"n": 1, "delay": 4}, "draws": {"a": 1}, "seed": 1}', "seed: unknown key 'seed'"),
    ('{"name": "", "levels": {"n": 1, "delay": 4}, "draws": {"a": 1}}', "name: expected at least 1 character"),
    ('{"name": "t1", "levels": {"n": 1, "delay": 4}, "draws": {"a": 1}}', "a second trial called 't1'"),
    (
        '{"name": "x", "levels": {"n": 4, "delay": 4}, "draws": {"a": 1}}',
        "'x': small: n cannot be 4; its levels are 1, 2, 3",
    ),
    ('{"name": "x", "levels": {"n": [1], "delay": 4}, "draws": {"a": 1}}', "'x': small: n cannot be [1]"),
    ('{"name": "x", "levels": {"n": true, "delay": 4}, "draws": {"a": 1}}', "'x': small: n cannot be true"),
    (
        '{"name": "x", "levels": {"n": 1, "dely": 4}, "draws": {"a": 1}}',
        "'x': small has no factor 'dely'; did you mean 'delay'?",
    ),
    ('{"name": "x", "levels": {"n": 1}, "draws": {"a": 1}}', "'x': the level of 'delay' is missing"),
    ('{"name": "x", "levels": {"n": 1, "delay": 4}, "draws": {"b": 1}}', "'x': small has no draw 'b'"),
    ('{"name": "x", "levels": {"n": 1, "delay": 4}, "draws": {}}', "'x': small: the draw 'a' is missing"),
    (
        '{"name": "x", "levels": {"n": 1, "delay": 4}, "draws": {"a": 9}}',
        "'x': small: the draw 'a' that was given: 9 is not among those",
    ),
    (
        '{"name": "x", "levels": {"n": 1, "delay": 4}, "draws": {"a": 1e999}}',
        "'x': small: the draw 'a' that was given: a number that is too large",
    ),
    ('{"name": "x", "levels": {"n": 1, "n": 2, "delay": 4}, "draws": {"a": 1}}', "the key 'n' occurs twice"),
    ('{"name": "x", "levels": {"n": NaN, "delay": 4}, "draws": {"a": 1}}', "NaN is not a number"),
    (
        '{"name": "x\\ud800", "levels": {"n": 1, "delay": 4}, "draws": {"a": 1}}',
        "this line is not JSON (half a letter)",
    ),
    (
        '{"name": "x", "levels": {"n": 1, "delay": 4}, "draws": {"a": 1}',
        "this line is not JSON (Expecting ',' delimiter at column",
    ),
    ("[" * 100_000, "nested too deep"),
    (b'{"name": "\xff"}', "this is not UTF-8 text"),
    (b"x" * 4_000_001, "a line of more than 4000000 bytes"),
]


@pytest.mark.parametrize(("line", "message"), LINES, ids=[message for _, message in LINES])
def test_lines_are_checked(small: Path, line: str | bytes, message: str) -> None:
    """The sixth line of the file is another one; nothing before it is taken for granted, and
    neither is it when only some trials are wanted."""
    path = small.with_name("trials.jsonl")
    content = path.read_bytes().split(b"\n")
    content[5] = line if isinstance(line, bytes) else line.encode("utf-8")
    path.write_bytes(b"\n".join(content))
    with pytest.raises(SpanLabError) as told:
        plan_given(TrialsFile(path, small), 1)
    assert str(told.value).startswith(f"{path}:6 ")
    assert message in str(told.value)
    if "given: 9" not in message:
        with pytest.raises(SpanLabError) as told:
            plan_given(TrialsFile(path, small), 1, 3)
        assert message in str(told.value)


def test_files_that_are_no_trials_files(tmp_path: Path) -> None:
    for name, content in (("empty", b""), ("text", b"hello\n"), ("list", b"[1]\n"), ("picture", b"\x89PNG\r\n")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(
            SpanLabError, match=f"{name}:1 this (is not a trials file|line is not JSON|is not UTF-8 text)"
        ):
            TrialsFile(tmp_path / name)
    for name, told in (("missing", "No such file"), (".", "directory")):
        with pytest.raises(SpanLabError, match=f"cannot be read: .*{told}"):
            TrialsFile(tmp_path / name)


def test_a_file_is_written_whole_or_not_at_all(small: Path) -> None:
    path, paradigm = small.with_name("trials.jsonl"), load_paradigm(small)
    before = path.read_bytes()

    def broken() -> Iterator[GivenTrial]:
        yield GivenTrial("x", {"n": 1, "delay": 4}, {"a": 1})
        raise SpanLabError("no more")

    with pytest.raises(SpanLabError, match="no more"):
        write_trials(path, paradigm, "published", "", broken())
    with pytest.raises(SpanLabError, match="there are no trials"):
        write_trials(path, paradigm, "published", "", [])
    with pytest.raises(SpanLabError, match="cannot write"):
        write_trials(small / "x.jsonl", paradigm, "published", "", [])
    assert path.read_bytes() == before
    assert sorted(one.name for one in small.parent.iterdir()) == ["small.yaml", "trials.jsonl"]


def test_replay_at_the_command_line(small: Path, run: Run) -> None:
    out = output_of(
        *run(
            "replay", "small.yaml", "--trials-from", "trials.jsonl", "--agent", "ideal", "--seed", "4", "--trials", "6"
        )
    )
    session = json.loads((small.parent / out.strip() / "session.json").read_text(encoding="utf-8"))
    assert (session["generator"], session["seed"], session["design"], len(session["plan"])) == ("published", 4, "", 6)
    assert session["trials_from"]["file"] == "trials.jsonl"
    assert session["trials_from"]["source"] == "made up"
    assert len(session["trials_from"]["sha256"]) == 64
    for arguments, told in (
        (("--set", "n=1"), "--trials-from takes the trials of that file as they are: leave out --set and --design"),
        (("--design", "human"), "leave out --set and --design"),
        (
            ("--like", out.strip()),
            "--like takes exactly the trials of that session: leave out --set, --trials, --trials-from, --design,"
            " --seed and --generator",
        ),
        (("--trials", "13"), "holds 12 trials; 13 are too many"),
    ):
        assert told in complaint(
            *run("replay", "small.yaml", "--trials-from", "trials.jsonl", "--agent", "ideal", *arguments)
        )
    assert "there is no paradigm" in complaint(*run("replay", "--trials-from", "trials.jsonl", "--agent", "ideal"))
    assert "holds trials of small, not of vsr" in complaint(
        *run("replay", "vsr", "--trials-from", "trials.jsonl", "--agent", "ideal")
    )
    assert "cannot be read" in complaint(*run("replay", "--trials-from", "nowhere.jsonl", "--agent", "ideal"))


def test_another_generator_is_refused(tmp_path: Path, run: Run) -> None:
    vsr = load_paradigm("vsr")
    write_trials(
        tmp_path / "x.jsonl",
        vsr,
        "corrected",
        "",
        [GivenTrial("x", {"list_length": 2}, drawn_values(vsr, {"list_length": 2}))],
    )
    asked = run("replay", "--trials-from", "x.jsonl", "--agent", "ideal", "--generator", "published")
    assert "the trials of x.jsonl come from the corrected generator: leave out --generator" in complaint(*asked)
