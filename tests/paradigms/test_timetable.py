"""``spanlab list --timetable`` rebuilds the published time-mapping table from the paradigms, and says
which cells are not in it."""

from __future__ import annotations

import csv
import functools
from pathlib import Path

import pytest
from command_line import Run
from paradigm_texts import load, text

from spanlab.paradigms import list_paradigms, load_paradigm
from spanlab.paradigms.duration import TableRow, timetable
from spanlab.paradigms.language.yaml_source import library_file as library_path
from spanlab.paradigms.language.yaml_source import read

PUBLISHED = Path(__file__).resolve().parents[2] / "analysis" / "published" / "worm_table_a2.csv"
TASKS = ["sfr", "cd", "vir", "vsr", "vsrec", "cs", "sc", "si", "smu", "sts"]


def published() -> dict[tuple[str, str], str]:
    lines = (line for line in PUBLISHED.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    return {(row["task"], row["phase"]): row["ms"] for row in csv.DictReader(lines)}


@functools.cache
def rebuilt(name: str) -> dict[str, TableRow]:
    return {row.phase: row for row in timetable(load_paradigm(name))}


def base(name: str) -> str | None:
    """The paradigm of the library that another extends."""
    file = library_path(name)
    assert file is not None
    return read(file).data.get("extends")


def test_the_published_table_has_all_ten_tasks() -> None:
    assert list(dict.fromkeys(task for task, _ in published())) == TASKS
    assert len(published()) == 24


@pytest.mark.parametrize(("task", "phase", "ms"), [(*cell, ms) for cell, ms in published().items()])
def test_every_published_cell_is_rebuilt(task: str, phase: str, ms: str) -> None:
    assert phase in rebuilt(task)
    assert rebuilt(task)[phase].ms == ms
    assert rebuilt(task)[phase].source == "published (WorM, Table A2)"


@pytest.mark.slow
@pytest.mark.parametrize("name", list_paradigms())
def test_what_the_table_does_not_have_is_marked_ours(name: str) -> None:
    """A variant may have the cells of the task that it varies."""
    for row in rebuilt(name).values():
        if row.source.startswith("ours: "):
            assert len(row.source) > len("ours: ") + 10, "with a reason"
            continue
        task: str | None = name
        while task is not None and (task, row.phase) not in published():
            task = base(task)
        assert task is not None, (
            f"{name}, {row.phase}: not in the published table, and the file does not say under source > ours where it"
            " comes from"
        )
        assert row.ms == published()[task, row.phase]


def root(name: str) -> str:
    """The paradigm that others extend, and which extends none."""
    return name if (other := base(name)) is None else root(other)


@pytest.mark.sampled(7)
@pytest.mark.parametrize("name", sorted({root(name) for name in list_paradigms()}))
def test_notes_on_durations_are_about_phases_that_there_are(name: str) -> None:
    """In the paradigm or in one of its variants, which share the notes."""
    family = [other for other in list_paradigms() if root(other) == name]
    noted = {phase for other in family for phase in load_paradigm(other).source.ours}
    assert noted <= {phase for other in family for phase in rebuilt(other)}


def test_random_factors_and_sequences_and_all_durations_are_in_the_table(tmp_path: Path) -> None:
    timeline = """
    - {phase: present, show: [{letter: a, ms: "=100 * n"}, {blank: {}, ms: 50}]}
    - {when: =late, phase: wait, show: {blank: {}, ms: 12.5}}
    - {phase: probe, show: {blank: {}}, ask: {choice: {options: 2}, answer: 0}}
    """
    paradigm = load(
        tmp_path,
        text(
            timeline,
            factors="n: [1, 2]\nlate: {random: [false, true]}",
            more="source: {ours: {wait: as long as it takes}}",
        ),
    )
    assert [(row.phase, row.ms, row.source.partition(" ")[0]) for row in timetable(paradigm)] == [
        ("present", "100 + 50 or 200 + 50", "published"),
        ("probe", "variable", "published"),
        ("wait", "12.5", "ours:"),
    ]


def test_the_command_prints_the_table(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    some = ["sfr", "sts", "vir"]
    for place in (
        "spanlab.paradigms.language.yaml_source.list_paradigms",
        "spanlab.paradigms.list_paradigms",
    ):  # where it is, and the door, which keeps what it gave
        monkeypatch.setattr(place, lambda: some)
    rows = [
        ["task", "phase", "ms", "source"],
        *([row.task, row.phase, row.ms, row.source] for name in some for row in rebuilt(name).values()),
    ]
    printed = run("list", "--timetable")[1].splitlines()
    assert [" ".join(line.split()) for line in printed] == [
        " ".join(" ".join(cell.split()) for cell in row) for row in rows
    ]
