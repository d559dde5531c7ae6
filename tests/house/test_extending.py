"""Eleven changes that a stranger makes: eight from a package of their own, three in a copy of
SpanLab.

A stimulus, a response kind, an agent, an event with its column, a network cell, an effect, a format
and a command come from ``examples/plugin``: each is as short as promised, works where the package
is installed, and is shown in the documents. A column of the record is added by
``tests/sessions/test_column.py``, as the documents say. A provider and a language are added here to
a copy of SpanLab, in which the tests that apply then run.
"""

from __future__ import annotations

import ast
import csv
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from session_tools import ended_well
from suite import copy_of_checkout

from spanlab.core.errors import SpanLabError
from spanlab.paradigms import compile_trial, load_paradigm
from spanlab.paradigms.compile import drawn_values
from spanlab.paradigms.responses import RESPONSES
from spanlab.stimuli import STIMULI

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "examples" / "plugin"
#: the part of the example package that makes a change, by its group of entry points
FROM_A_PACKAGE = {
    "stimulus": "spanlab.stimuli",
    "response kind": "spanlab.responses",
    "agent": "spanlab.agents",
    "event": "spanlab.events",
    "network cell": "spanlab.architectures",
    "effect": "spanlab.effects",
    "format": "spanlab.formats",
    "command": "spanlab.commands",
}
#: the most lines of code that each may have
MOST = {
    "gap_ring": 30,
    "count": 40,
    "stubborn": 20,
    "guess": 10,
    "leaky": 10,
    "session_course": 15,
    "lab_json": 40,
    "slowest": 20,
}


def lines_of_code(path: Path) -> int:
    """Lines that are neither blank nor comments nor parts of docstrings."""
    text = path.read_text(encoding="utf-8")
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    strings = [
        node.body[0]
        for node in ast.walk(ast.parse(text))
        if isinstance(node, documented) and ast.get_docstring(node) is not None
    ]
    inside = {number for string in strings for number in range(string.lineno, (string.end_lineno or 0) + 1)}
    return sum(
        bool(line.strip()) and not line.strip().startswith("#") and number not in inside
        for number, line in enumerate(text.splitlines(), 1)
    )


def test_every_part_is_as_short_as_the_documents_say() -> None:
    counted = {
        path.stem: lines_of_code(path) for path in (PLUGIN / "spanlab_example").glob("*.py") if path.stem != "__init__"
    }
    assert counted.keys() == MOST.keys()
    assert {name: lines for name, lines in counted.items() if lines > MOST[name]} == {}
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    assert {name: int(lines) for name, lines in re.findall(r"\| `(\w+)\.py` \| (\d+) \|", page)} == counted


@pytest.fixture
def rings(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The paradigm of the package, with its parts known while a test runs."""
    monkeypatch.syspath_prepend(PLUGIN)
    from spanlab_example.count import Count  # type: ignore[import-not-found]
    from spanlab_example.gap_ring import GapRing  # type: ignore[import-not-found]

    parts = ((STIMULI, GapRing), (RESPONSES, Count))
    for registry, part in parts:
        registry.register(part)
    yield PLUGIN / "rings.yaml"
    for registry, part in parts:  # others that the test was the first to ask for stay
        del registry._known[part.name]


def test_the_stimulus_is_seen_and_the_response_kind_read(rings: Path) -> None:
    trial = compile_trial(load_paradigm(rings), {"list_length": 6}, seed=2)
    words = [step.percept.for_machine.stimulus.words() for step in trial.steps if step.percept.ask is None]
    ask = trial.steps[-1].percept.ask
    assert ask is not None
    kind = ask.kind
    assert trial.steps[-1].truth.answer == sum(word == "A ring with a gap: up." for word in words)
    for answer in range(7):
        assert kind.parse(kind.write(answer)) == answer
        assert kind.from_logits(np.eye(7)[kind.target(answer)]) == answer
    assert [kind.parse(text) for text in ("7", "2 or 3", "-", "There were 3.")] == [None, None, None, 3]
    guesses = [kind.guess(np.random.RandomState(seed)) for seed in range(700)]
    assert np.mean([bool(kind.score(guess, 3)[0].correct) for guess in guesses]) == pytest.approx(
        kind.chance(), abs=0.04
    )


def test_a_cell_of_one_step_goes_step_by_step_as_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.syspath_prepend(PLUGIN)
    from spanlab_example.leaky import Leaky  # type: ignore[import-not-found]

    cell = Leaky(5, 8, None)
    frames = torch.randn(3, 4, 5)
    at_once, end = cell(frames, cell.initial(3, frames))
    state, outputs = cell.initial(3, frames), []
    for step in range(4):
        output, state = cell(frames[:, step : step + 1], state)
        outputs.append(output)
    assert torch.equal(torch.cat(outputs, 1), at_once)
    assert torch.equal(state[0], end[0])
    assert not torch.equal(at_once[:, 0], at_once[:, 3])


def spanlab(folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(folder / "site")}
    done = ended_well(
        subprocess.run(
            [sys.executable, "-m", "spanlab", *arguments], cwd=folder, env=environment, capture_output=True, text=True
        )
    )
    return done


@pytest.mark.slow
def test_the_package_is_installed_and_does_what_the_page_says(tmp_path: Path) -> None:
    copied = tmp_path / "copied"  # building leaves files beside the source
    for path in PLUGIN.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            (copied / path.relative_to(PLUGIN)).parent.mkdir(parents=True, exist_ok=True)
            (copied / path.relative_to(PLUGIN)).write_bytes(path.read_bytes())
    install = [
        "install",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
        "--target",
        str(tmp_path / "site"),
        str(copied),
    ]
    subprocess.run([sys.executable, "-m", "pip", *install], check=True)
    block = re.search(r"```console\n(.*?)```", (ROOT / "docs" / "extending.md").read_text(encoding="utf-8"), re.S)
    assert block is not None
    typed = [line.removeprefix("$ ") for line in block[1].splitlines()]
    assert typed[0] == "pip install -e examples/plugin"
    said = [spanlab(tmp_path, *line.replace("examples/plugin", str(copied)).split()[1:]) for line in typed[1:]]
    assert "rings is fine" in said[0]
    stubborn, ideal = (
        next(csv.reader((tmp_path / f"data/rings-{name}-s1/responses.csv").open(encoding="utf-8")))
        for name in ("stubborn", "ideal")
    )
    assert (stubborn[-1], stubborn[:-1]) == (
        "event_guess_chance",
        ideal,
    ), "the event of the package is a column where it happened"
    assert said[2].split() == ["data/rings-ideal-s1", "data/rings-stubborn-s1"]
    levels = {"list_length": 3}
    draws = drawn_values(load_paradigm("vsr"), levels, 1, "corrected")
    trials = {"task": "vsr", "generator": "corrected", "trials": [{"name": "1", "levels": levels, "draws": draws}]}
    (tmp_path / "trials.json").write_text(json.dumps(trials), encoding="utf-8")
    assert spanlab(tmp_path, "import", "lab-json", "trials.json", "-o", "imported") == "imported/vsr.jsonl: 1 trial\n"
    assert "lab-json" in spanlab(tmp_path, "list", "--formats")
    code = (
        "from spanlab.agents.network.models import ARCHITECTURES; print(ARCHITECTURES.get('leaky').__doc__ or"
        " ARCHITECTURES.get('leaky').name)"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    assert subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    ).stdout.startswith("leaky")


def test_the_package_names_all_its_parts(rings: Path) -> None:
    points = tomllib.loads((PLUGIN / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    assert {target.split(":")[0].split(".")[1] for group in points.values() for target in group.values()} == set(MOST)
    with pytest.raises(SpanLabError, match="unknown"):
        STIMULI.get("gap_rings")


def test_the_example_package_makes_eight_of_the_changes() -> None:
    project = tomllib.loads((ROOT / "examples" / "plugin" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(project["entry-points"]) == set(FROM_A_PACKAGE.values())
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    assert [name for name in FROM_A_PACKAGE if not re.search(rf"^\| \[{name}\]", page, re.MULTILINE)] == []


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the repository, which is the ``spanlab`` of programs that run in it."""
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "spanlab").symlink_to(tmp_path / "copy", target_is_directory=True)
    return copy_of_checkout(tmp_path / "copy")


def python(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": str(copy.parent / "path"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "NO_COLOR": "1",
    }
    return subprocess.run([sys.executable, *arguments], cwd=copy, env=environment, capture_output=True, text=True)


def passes(copy: Path, *tests: str) -> None:
    """Run tests of the copy, which are of its own SpanLab."""
    done = python(copy, "-c", "import spanlab; print(spanlab.__file__)")
    assert done.stdout.startswith(str(copy.parent)), "the tests would be of another SpanLab"
    done = python(copy, "-m", "pytest", "-q", "-x", *tests)
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout


@pytest.mark.slow
def test_a_provider_is_an_entry_of_one_file(copy: Path) -> None:
    with (copy / "agents" / "chat" / "providers.yaml").open("a", encoding="utf-8") as file:
        file.write("  basement:\n    base_url: http://localhost:9999/v1\n    default_model: tiny\n")
    assert re.search(
        r"^basement .*http://localhost:9999/v1",
        python(copy, "-m", "spanlab", "list", "--providers").stdout,
        re.MULTILINE,
    )
    passes(copy, "tests/agents/chat/test_providers.py", "tests/house/test_layers.py")


@pytest.mark.slow
def test_a_language_is_one_file_in_the_core_and_one_in_each_extension_that_has_sentences(copy: Path) -> None:
    places = re.findall(
        r"there is no file (\S+/xx\.yaml)", python(copy, "-m", "spanlab", "check", "--language", "xx").stderr
    )
    assert places == [
        "core/locale/xx.yaml",
        *(f"{path.parent.relative_to(copy)}/xx.yaml" for path in sorted(copy.glob("extensions/*/locale/en.yaml"))),
    ]
    assert len(places) > 1
    after = ""
    for number, place in enumerate(places, 1):
        (copy / place).write_text((copy / place).with_name("en.yaml").read_text(encoding="utf-8"), encoding="utf-8")
        after = python(copy, "-m", "spanlab", "check", "--language", "xx").stderr
        assert [other for other in places if f"there is no file {other}" in after] == places[number:]
    assert "vsr: there are no instructions" in after, "what is left is the texts of paradigms"
    passes(copy, "tests/core/test_sentences.py", "-k", "gaps or twice or said")
