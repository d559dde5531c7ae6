"""Sweeps: a grid gives its runs, each run is done once whatever happens to who does it, and
networks are compared with their equals."""

from __future__ import annotations

import csv
import json
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pandas as pd
import pytest
import yaml
from command_line import Run, complaint

pytest.importorskip("torch")

from spanlab.agents.network.training.presets import config_named
from spanlab.core.errors import SpanLabError
from spanlab.core.worker_pool import open_pool
from spanlab.extensions.sweeps import sweep
from spanlab.extensions.sweeps.sweep import (
    by_capacity,
    read_folder,
    read_sweep,
    run_sweep,
    status,
    sweep_presets,
    write_sweep,
    write_tables,
)

pytestmark = pytest.mark.slow

TOY: dict[str, Any] = {
    "name": "toy",
    "steps": 4,
    "threads": 1,
    "model": {
        "architecture": "lstm",
        "hidden": 64,
        "start": "orthogonal",
        "components": 48,
        "summary": 32,
        "filters": 16,
        "code": 8,
        "embedding": 4,
    },
    "tasks": [{"paradigm": "vsr", "batch": 2, "train_trials": 8, "factors": {"list_length": [2]}}],
    "check": {"every": 2, "trials": 2, "test_trials": 4},
    "save_every": 1,
}
GRID: dict[str, Any] = {"model.architecture": ["rnn", "gru"], "model.hidden": [64], "rate.peak": [0.001, 0.01]}


def write(folder: Path, grid: dict[str, Any] = GRID, **changes: Any) -> Path:
    (folder / "toy.yaml").write_text(yaml.safe_dump(TOY), encoding="utf-8")
    (path := folder / "sweep.yaml").write_text(
        yaml.safe_dump({"name": "small", "base": "toy.yaml", "grid": grid, **changes}), encoding="utf-8"
    )
    return path


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("swept")
    write_sweep(folder / "out", read_sweep(write(folder)))
    run_sweep(folder / "out")
    return folder / "out"


def made(folder: Path) -> dict[str, bytes]:
    """The weights of every run."""
    return {path.parent.name: path.read_bytes() for path in folder.glob("runs/*/small-?.pt")}


def test_a_grid_gives_its_runs(tmp_path: Path) -> None:
    sweep = read_sweep(write(tmp_path, {**GRID, "tasks.batch": [2, 3], "steps": [7], "rate.warmup": [2]}))
    assert [run.id for run in sweep.runs][:3] == ["1-rnn-0.001-2", "2-rnn-0.001-3", "3-rnn-0.01-2"]
    assert len({run.config.hash for run in sweep.runs}) == len(sweep.runs) == 8
    last = sweep.runs[-1].config
    assert (last.model.architecture, last.rate.peak, last.tasks[0].batch, last.steps, last.rate.warmup) == (
        "gru",
        0.01,
        3,
        7,
        2,
    )


def test_the_grid_of_the_paper() -> None:
    assert sweep_presets() == ["table-a1"]
    runs = read_sweep("table-a1").runs
    assert len(runs) == 72
    published = config_named("lstm-256")
    (same,) = [
        run
        for run in runs
        if run.values == {"model.architecture": "lstm", "model.hidden": 256, "rate.peak": 1e-4, "tasks.batch": 10}
    ]
    assert same.config.model_copy(update={"name": published.name}).hash == published.hash
    assert {(run.config.model.architecture, run.config.model.hidden) for run in runs} == {
        (name, units) for name in ("rnn", "gru", "lstm", "transformer") for units in (96, 256, 1024)
    }
    assert {task.batch for run in runs for task in run.config.tasks} == {10, 5}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"grid": {}}, r"sweep\.yaml:\d+ grid"),
        ({"grids": {}}, "unknown key 'grids'"),
        ({"grid": {"model.hidden": [64, "many"]}}, r"run 2 \(model\.hidden = many\) of .*sweep\.yaml: model.*hidden"),
        ({"grid": {"rate.peek": [1]}}, r"run 1 \(rate\.peek = 1\) of .*unknown key 'peek'"),
        ({"grid": {"steps.more": [1]}}, r"steps\.more: there is no such key in a training config"),
        ({"grid": {"model.architecture": ["lstn"]}}, "lstn"),
        ({"grid": {"seed": list(range(100)), "steps": list(range(1, 102))}}, "10100 runs; at most 10000 are possible"),
        ({"base": "vsr-only", "grid": {"seed": [1, 2]}}, "seed: stages have their own"),
        ({"base": "lstm-255"}, "there is no training config 'lstm-255'; did you mean"),
    ],
)
def test_what_is_no_sweep(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(SpanLabError, match=message):
        read_sweep(write(tmp_path, **changes))


def test_every_run_is_done_and_compared(swept: Path) -> None:
    assert [(one.state, one.step, one.steps) for one in status(swept)] == [("done", 4, 4)] * 4
    assert sorted(made(swept)) == ["1-rnn-0.001", "2-rnn-0.01", "3-gru-0.001", "4-gru-0.01"]
    tables = {path.name: list(csv.DictReader(path.open(encoding="utf-8"))) for path in write_tables(swept)}
    assert [row["run"] for row in tables["runs.csv"]] == sorted(made(swept))
    assert all(0 <= float(row["test vsr"]) <= 1 and row["test"] == row["test vsr"] for row in tables["runs.csv"])
    (size,) = tables["by_capacity.csv"]
    assert size["hidden"] == "64"
    assert {size["gru run"], size["rnn run"]} < set(made(swept))


def test_what_is_done_is_not_done_again(swept: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in swept.glob("runs/*/*")}
    told: list[str] = []
    run_sweep(swept, tell=lambda run, said: told.append(run))
    assert not told
    assert {path: path.stat().st_mtime_ns for path in swept.glob("runs/*/*")} == before


def test_a_fault_in_one_run_ends_no_other(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_sweep(
        out,
        read_sweep(write(tmp_path, {"model.architecture": ["rnn"], "rate.peak": [1e30, 0.001]})),
    )
    told: dict[str, str] = {}
    run_sweep(out, tell=told.__setitem__)
    first, second = status(out)
    if first.state == "failed":  # whether such steps end in numbers that are none depends on the training
        assert "not finite" in first.note
    assert second.state == "done"


def test_a_folder_is_of_one_sweep(swept: Path, tmp_path: Path) -> None:
    write_sweep(swept, read_sweep(write(tmp_path)))
    with pytest.raises(SpanLabError, match="holds another sweep"):
        write_sweep(swept, read_sweep(write(tmp_path, {"seed": [1, 2]})))
    with pytest.raises(SpanLabError, match="is not empty and holds no sweep"):
        write_sweep(tmp_path, read_sweep(tmp_path / "sweep.yaml"))


def row(architecture: str, hidden: int, parameters: int, validation: float, test: float) -> dict[str, Any]:
    run = f"{architecture}-{hidden}-{validation}"
    return {
        "run": run,
        "architecture": architecture,
        "hidden": hidden,
        "parameters": parameters,
        "validation": validation,
        "test": test,
    }


ROWS = [
    row("rnn", 96, 1_879_465, 0.5, 0.40),
    row("rnn", 96, 1_879_465, 0.6, 0.30),  # chosen by validation, though the test says otherwise
    row("lstm", 96, 2_055_145, 0.7, 0.60),
    row("lstm", 256, 2_632_905, 0.8, 0.70),
    row("transformer", 96, 2_475_401, 0.5, 0.50),
    row("transformer", 256, 4_348_361, 0.6, 0.55),
]


def test_equal_capacity() -> None:
    table = by_capacity(pd.DataFrame(ROWS))
    assert table[["lstm test", "rnn test", "transformer test"]].round(2).astype(object).where(
        table.notna(), None
    ).to_dict("index") == {
        96: {"lstm test": 0.60, "rnn test": 0.30, "transformer test": 0.50},
        256: {"lstm test": 0.70, "rnn test": None, "transformer test": 0.55},
    }
    assert table.loc[96, "rnn run"] == "rnn-96-0.6"


def test_the_command(run: Run, tmp_path: Path, swept: Path) -> None:
    write(tmp_path)
    _, out, _ = run("sweep", "--status", swept)
    assert "4 done" in out
    assert str(swept / "by_capacity.csv") in out
    assert "which sweep, and where?" in complaint(*run("sweep", "sweep.yaml"))
    assert "--status only reports" in complaint(*run("sweep", swept, "--status", "--workers", "2"))
    assert "holds no sweep" in complaint(*run("sweep", "--status", tmp_path))
    assert "there is no sweep 'table-a2'; did you mean" in complaint(*run("sweep", "table-a2", "-o", "out"))
    assert "another sweep" in complaint(*run("sweep", "table-a1", "-o", swept))
    assert (
        json.loads((swept / "sweep.json").read_text(encoding="utf-8"))["sweep"]
        == read_folder(swept)["sweep"]
        == "small"
    )


@pytest.mark.slow
def test_workers_that_die_lose_no_run(swept: Path, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    out = tmp_path / "out"
    write_sweep(out, read_sweep(write(tmp_path)))
    with open_pool(2) as found:
        client = found._client  # type: ignore[attr-defined]
        killer = threading.Thread(target=_kill_when_begun, args=(out, next(iter(client.run(os.getpid).values()))))
        killer.start()
        run_sweep(out, found)
        killer.join()
    assert [one.state for one in status(out)] == ["done"] * 4
    assert sorted(made(out)) == sorted(made(swept))
    assert made(out) == made(swept), "to the bit: the config says how many threads"
    for run_ in made(swept):
        (log,) = (out / "runs" / run_).glob("*.log.jsonl")
        events = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        assert [event["step"] for event in events if event["event"] in ("start", "validation", "end")] == [0, 2, 4, 4]


def _kill_when_begun(out: Path, pid: int) -> None:
    while not any(out.glob("runs/*/*.state.pt")):
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)


def test_a_run_that_was_stopped_in_a_stage_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.yaml").write_text(json.dumps({"name": "s"}), encoding="utf-8")
    (tmp_path / "s-1.state.pt").touch()
    training = MagicMock(side_effect=SpanLabError("that is enough"))
    monkeypatch.setattr(sweep, "read_config", lambda path: None)
    monkeypatch.setattr("spanlab.agents.network.training.train", training)
    sweep._trained(tmp_path)
    assert training.call_args.kwargs["resume"] is True
