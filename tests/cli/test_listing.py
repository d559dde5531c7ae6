"""``spanlab list``: every paradigm with what it is, filters that find what they should, and how far
guessing gets."""

from __future__ import annotations

import re
import sys
import time
from itertools import count
from pathlib import Path

import pytest
from command_line import Run, complaint, output_of
from hypothesis import given
from hypothesis import strategies as st

from spanlab.api.listing import catalogue, compact, factors
from spanlab.api.options import progress_bar, table_lines
from spanlab.paradigms import Paradigm, list_paradigms, load_paradigm
from spanlab.paradigms.language.yaml_source import card

PARADIGMS = {name: load_paradigm(name) for name in list_paradigms()}


def listed(out: str) -> dict[str, str]:
    """The rows of the printed table, or of the list, by their first column."""
    lines = [line for line in out.splitlines() if line]
    return {line.split()[0]: line for line in [line for line in lines if line.startswith("  ")] or lines[1:]}


def test_the_list_fits_a_terminal(run: Run) -> None:
    status, out, err = run("list")
    assert (status, err) == (0, "")
    assert set(listed(out)) == set(PARADIGMS)
    assert max(map(len, out.splitlines())) <= 80
    assert listed(out)["vsr"].split(maxsplit=1)[1] == "Visual Serial Recall"


def test_every_paradigm_has_its_row() -> None:
    rows = {row["name"]: row for row in catalogue().to_dict()["paradigms"]}
    assert set(rows) == set(PARADIGMS)
    for name, paradigm in PARADIGMS.items():
        cells = [rows[name][column] for column in ("family", "title", "domains", "functions")]
        expected = [paradigm.family, paradigm.title, ", ".join(paradigm.domains), ", ".join(paradigm.functions)]
        assert cells == expected, "also what a variant inherits"
        assert all(factor in rows[name]["factors"] for factor in paradigm.factors)


@pytest.mark.parametrize("name", PARADIGMS)
def test_the_quick_card_is_what_the_validators_read(name: str) -> None:
    assert card(name) == PARADIGMS[name].data


def having(*values: str) -> set[str]:
    """Names of the paradigms with any of these values, from the loaded paradigms."""

    def of(paradigm: Paradigm) -> tuple[str, ...]:
        return (paradigm.family or "", *paradigm.domains, *paradigm.functions, *paradigm.characteristics)

    return {name for name, paradigm in PARADIGMS.items() if set(values) & set(of(paradigm))}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--about", "WorM"], having("WorM")),
        (["--about", "n-BACK"], having("N-back")),
        (["--about", "verbal"], having("verbal")),
        (["--about", "Visual", "--about", "supervision"], having("visual") & having("supervision")),
        (["--about", "primacy and recency"], having("primacy and recency")),
        (["vsr", "nback_verbal", "--about", "VERBAL"], {"nback_verbal"}),
        (["vsr", "smu"], {"vsr", "smu"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(len(value)),  # sets have no order
)
def test_filters_find_what_they_should(run: Run, arguments: list[str], expected: set[str]) -> None:
    assert expected, "there is something to find"
    status, out, err = run("list", *arguments)
    assert (status, err) == (0, "")
    assert set(listed(out)) == expected


MISTAKES: list[tuple[list[str], str]] = [
    (["--about", "Wrom"], "no paradigm here is about 'Wrom'; did you mean 'worm'? There are: "),
    (["vsr", "--about", "verbal"], "no paradigm here is about 'verbal'"),
    (["--about", "verbal", "--about", "integration"], "no paradigm here is about 'integration'"),
    (["vrs"], "there is no paradigm 'vrs'; did you mean 'vsr'?"),
    (["nowhere.yaml"], "nowhere.yaml: there is no such paradigm file"),
    (["broken.yaml", "--chance"], "broken.yaml:"),
    (["impossible.yaml", "--chance"], "impossible.yaml"),
]


@pytest.mark.parametrize(("arguments", "said"), MISTAKES, ids=[" ".join(arguments) for arguments, _ in MISTAKES])
def test_mistakes_are_told_with_what_there_is(run: Run, things: None, arguments: list[str], said: str) -> None:
    assert said in complaint(*run("list", *arguments))


def test_files_of_ones_own_are_listed_too(run: Run, things: None, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(
        "extends: vsr\nparadigm: mine\nfactors: {list_length: [2, 3, 4, 8, true, 2.5]}\nfamily: Ours\npractice: null\n"
    )
    status, out, _ = run("list", "good.yaml", "vsr")
    assert (status, set(listed(out))) == (0, {"small", "vsr"})
    assert run("list", "mine.yaml")[0] == 1, "a level of list_length is a whole number"
    (tmp_path / "mine.yaml").write_text(
        "extends: vsr\nparadigm: mine\nfactors: {list_length: [2, 3, 4, 8]}\nfamily: Ours\npractice: null\n"
    )
    (mine,) = catalogue("mine.yaml", about="ours").to_dict()["paradigms"]
    assert mine["factors"] == "list_length 2-4, 8"


def test_chance_of_some(run: Run) -> None:
    status, out, err = run("list", "--chance", "sfr", "vsr", "cs")
    assert (status, err) == (0, "")
    table, legend = out.split("\n\n")
    lines = [re.split(r"\s{2,}", line) for line in table.splitlines()]
    assert lines[0] == [
        "paradigm",
        "phase",
        "condition",
        "generator",
        "items",
        "chance",
        "best blind guess",
        "all right",
    ]
    assert lines[1] == ["sfr", "probe", "list_length 1", "both", "1", "0.01", "0.01", "0.01"]
    assert lines[12] == ["sfr", "probe", "list_length 18", "both", "18", "0.18", "0.18", "3.3e-20"]
    assert lines[13] == ["vsr", "probe", "all", "both", "2 to 9", "0.1111", "0.1111", "2.6e-09 to 0.012"]
    assert lines[14:] == [
        ["cs", "probe", "all", "both", "2", "0.125", "0.125", "0.016"],
        ["cs", "distractor", "load 1, 3, 5", "both", "2 to 10", "0.5", "0.5", "0.00098 to 0.25"],
    ]
    assert {line.partition(":")[0] for line in legend.strip().splitlines()} == set(lines[0][4:])


@pytest.mark.parametrize("terminal", [True, False])
def test_a_bar_of_work_that_takes_long_is_for_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], terminal: bool
) -> None:
    monkeypatch.setattr(time, "monotonic", count(0, 3).__next__)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    with progress_bar("guessing") as tell:
        tell(1, 2)
    assert bool(capsys.readouterr().err) == terminal


def test_chance_takes_filters(run: Run, things: None) -> None:
    out = output_of(*run("list", "--chance", "--about", "worm", "smu", "sts", "nback_verbal", "good.yaml"))
    assert {line.split()[0] for line in out.split("\n\n")[0].splitlines()[1:]} == {"smu", "sts"}


LEVELS = st.lists(
    st.one_of(st.integers(-3, 20), st.sampled_from(["red", "-", 0.2, 0.5, True, False])),
    max_size=12,
    unique_by=lambda one: (type(one), one),
)


@given(LEVELS)
@pytest.mark.slow
def test_compact_levels_are_the_levels(levels: list[object]) -> None:
    again: list[str] = []
    for part in compact(levels).split(", ") if levels else []:
        ends = re.fullmatch(r"(-?\d+)-(-?\d+)", part)
        again += [str(n) for n in range(int(ends[1]), int(ends[2]) + 1)] if ends else [part]
    assert again == [str(level).lower() if isinstance(level, bool) else str(level) for level in levels]


def test_factors_in_short() -> None:
    assert (
        factors({"factors": {"n": [1, 2, 3, 5], "side": ["left", "right"], "delay": {"random": [0, 6]}}})
        == "n 1-3, 5; side left, right; delay random 0, 6"
    )
    assert factors({}) == ""


def test_columns_are_as_wide_as_what_is_in_them(capsys: pytest.CaptureFixture[str]) -> None:
    print(*table_lines(("a", "long"), [("wide one", "b"), ("c", "")]), sep="\n")
    assert capsys.readouterr().out == "a         long\nwide one  b\nc\n"


def test_published_people_are_listed_with_their_levels(run: Run) -> None:
    status, out, err = run("list", "--human")
    assert (status, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 100
    rows: dict[str, list[str]] = {}
    for line in out.splitlines()[1:]:
        rows.setdefault(line.split()[0] if line[0] != " " else [*rows][-1], []).append(" ".join(line.split()))
    assert {*rows} == {
        *("cd", "continuous_colour", "cs", "lsr", "operation_span", "sfr", "smu", "sternberg", "vir", "vsr", "vsrec")
    }
    assert " ".join(rows["vsr"]) == "vsr Avons 1998 digitised list_length 3, 4, 5, 6"
    assert "cognitive_load 0.27 to 0.53" in " ".join(rows["cs"])
    assert "cd Adam et al. 2015 40 people, raw set_size 2, 3, 4, 5, 6. It differs: coloured" in " ".join(rows["cd"])
    status, _, err = run("list", "sts", "--human")
    assert status == 1
    assert "no results of people have been published" in err
