"""The example package: each of its parts is as short as promised, works where it is installed, and is shown in the documents."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from spanlab.core.errors import SpanLabError
from spanlab.paradigms import compile_trial, load_paradigm
from spanlab.paradigms.responses import RESPONSES
from spanlab.stimuli import STIMULI

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "examples" / "plugin"
#: the most lines of code that each may have
MOST = {"gap_ring": 30, "count": 40, "stubborn": 20, "leaky": 10, "session_course": 15, "lab_json": 40, "slowest": 20}


def lines_of_code(path: Path) -> int:
    """Lines that are neither blank nor comments nor parts of docstrings."""
    text = path.read_text(encoding="utf-8")
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    strings = [node.body[0] for node in ast.walk(ast.parse(text)) if isinstance(node, documented) and ast.get_docstring(node) is not None]
    inside = {number for string in strings for number in range(string.lineno, (string.end_lineno or 0) + 1)}
    return sum(bool(line.strip()) and not line.strip().startswith("#") and number not in inside for number, line in enumerate(text.splitlines(), 1))


def test_every_part_is_as_short_as_the_documents_say() -> None:
    counted = {path.stem: lines_of_code(path) for path in (PLUGIN / "spanlab_example").glob("*.py") if path.stem != "__init__"}
    assert counted.keys() == MOST.keys()
    assert {name: lines for name, lines in counted.items() if lines > MOST[name]} == {}
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    assert {name: int(lines) for name, lines in re.findall(r"\| `(\w+)\.py` \| (\d+) \|", page)} == counted


@pytest.fixture
def rings(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The paradigm of the package, with its parts known while a test runs."""
    monkeypatch.syspath_prepend(PLUGIN)
    from spanlab_example.count import Count  # type: ignore[import-not-found]
    from spanlab_example.gap_ring import GapRing  # type: ignore[import-not-found]

    for registry, part in ((STIMULI, GapRing), (RESPONSES, Count)):
        monkeypatch.setattr(registry, "_known", {**registry._known})
        registry.register(part)
    return PLUGIN / "rings.yaml"


def test_the_stimulus_is_seen_and_the_response_kind_read(rings: Path) -> None:
    trial = compile_trial(load_paradigm(rings), {"list_length": 6}, seed=2)
    words = [step.percept.for_machine.stimulus.words() for step in trial.steps if step.percept.ask is None]
    ask = trial.steps[-1].percept.ask
    assert ask is not None
    kind = ask.kind
    truth = trial.steps[-1].truth.answer
    assert truth == sum(word == "A ring with a gap: up." for word in words)
    for answer in range(7):
        assert kind.parse(kind.write(answer)) == answer
        assert kind.from_logits(np.eye(7)[kind.target(answer)]) == answer
    assert [kind.parse(text) for text in ("7", "2 or 3", "-", "There were 3.")] == [None, None, None, 3]
    guesses = [kind.guess(np.random.RandomState(seed)) for seed in range(700)]
    assert np.mean([bool(kind.score(guess, 3)[0].correct) for guess in guesses]) == pytest.approx(kind.chance(), abs=0.04)


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
    done = subprocess.run([sys.executable, "-m", "spanlab", *arguments], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_package_is_installed_and_does_what_the_page_says(tmp_path: Path) -> None:
    copied = tmp_path / "copied"  # building leaves files beside the source
    for path in PLUGIN.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            (copied / path.relative_to(PLUGIN)).parent.mkdir(parents=True, exist_ok=True)
            (copied / path.relative_to(PLUGIN)).write_bytes(path.read_bytes())
    install = ["install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", str(tmp_path / "site"), str(copied)]
    subprocess.run([sys.executable, "-m", "pip", *install], check=True)
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    block = re.search(r"```console\n(.*?)```", page, re.S)
    assert block is not None
    typed = [line.removeprefix("$ ") for line in block[1].splitlines()]
    assert typed[0] == "pip install -e examples/plugin"
    said = [spanlab(tmp_path, *line.replace("examples/plugin", str(copied)).split()[1:]) for line in typed[1:]]
    assert "rings is fine" in said[0]
    assert said[2].split() == ["data/rings-ideal-s1", "data/rings-stubborn-s1"]
    assert spanlab(tmp_path, "import", "lab-json", "trials.json", "-o", "imported") == "imported/vsr.jsonl: 3 trials\n"
    assert "lab-json" in spanlab(tmp_path, "formats")
    code = "from spanlab.agents.network.models import ARCHITECTURES; print(ARCHITECTURES.get('leaky').__doc__ or ARCHITECTURES.get('leaky').name)"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    assert subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True).stdout.startswith("leaky")


def test_the_package_names_all_its_parts(rings: Path) -> None:
    points = tomllib.loads((PLUGIN / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    assert {target.split(":")[0].split(".")[1] for group in points.values() for target in group.values()} == set(MOST)
    with pytest.raises(SpanLabError, match="unknown"):
        STIMULI.get("gap_rings")
