"""``spanlab neural``: networks that ship and networks of the WorM benchmark's fourteen tasks, one
task, one trial, wrong options; what is written is whole."""

from __future__ import annotations

import contextlib
import html
import io
import re
import shlex
import sys
from pathlib import Path
from typing import NamedTuple
from unittest import mock
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from spanlab.agents.network import torch_agent
from spanlab.agents.network.checkpoints_io.checkpoint import TrainedOn, load, save
from spanlab.agents.network.models import build
from spanlab.agents.network.settings import Task, model_settings, task_seen_in
from spanlab.cli import main
from spanlab.extensions.neural.command import _tasks_of
from spanlab.extensions.neural.lesions import accuracy_without, observe_module
from spanlab.paradigms import compile_trial, load_paradigm

pytestmark = pytest.mark.slow

PARADIGMS = ("sc", "sfr", "si", "smu", "sts", "vir", "vsr", "vsrec", "cd", "cs")


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def spanlab(*arguments: object) -> Done:
    """The command line, in this process."""
    out, wrong, status = io.StringIO(), io.StringIO(), 0
    with (
        mock.patch.object(sys, "argv", ["spanlab", *map(str, arguments)]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(wrong),
    ):
        try:
            main()
        except SystemExit as end:
            status = int(end.code or 0)
    return Done(status, out.getvalue(), wrong.getvalue())


def untrained(path: Path, tasks: tuple[str, ...], hidden: int = 16) -> Path:
    """A network of the benchmark's kind with the weights with which training starts."""
    known: dict[str, Task] = {}
    for name in PARADIGMS:
        paradigm = load_paradigm(name)
        for levels in paradigm.combinations():
            view = paradigm.network_view(levels)
            assert view is not None
            known[view.task] = task_seen_in(view)
    network = build(
        model_settings(encoder="worm", architecture="gru", hidden=hidden), {task: known[task] for task in tasks}, seed=3
    )
    save(path, network, path.stem, TrainedOn(paradigms={}, levels={}, steps=0, trials={}, config=""))
    return path


def whole(folder: Path) -> str:
    """The page, after everything that it names was found and can be read."""
    page = (folder / "index.html").read_text(encoding="utf-8")
    named = set(re.findall(r'href="([^"#]+)"', page))
    there = {str(path.relative_to(folder)) for path in folder.rglob("*.*")} - {"index.html"}
    assert named == there
    for name in sorted(there):
        path = folder / name
        if path.suffix == ".svg":
            words = " ".join(
                node.text or "" for node in ElementTree.parse(path).getroot().iter("{http://www.w3.org/2000/svg}text")
            )
            assert "NaN" not in words
            assert "undefined" not in words
        elif path.suffix == ".csv":
            assert len(pd.read_csv(path))
        else:
            assert path.read_bytes()[:4] in (b"%PDF", b"\x89PNG")
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', page)
    assert "<script" not in page
    return page


@pytest.mark.slow
def test_the_network_that_ships(tmp_path: Path) -> None:
    laptop = tmp_path / "neural"
    done = spanlab("neural", "laptop", "-o", laptop, "--trials", "24", "--most-clusters", "5")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(laptop / "index.html")
    page = whole(laptop)
    tables = {path.stem: pd.read_csv(path) for path in (laptop / "tables").glob("*.csv")}
    assert set(tables["task_variance"].columns) == {"unit", "active", "cluster", "vsr", "sfr", "smu"}
    assert len(tables["task_variance"]) == 480
    active = tables["task_variance"]["active"]
    assert active.mean() > 0.9
    np.testing.assert_allclose(tables["task_variance_normalised"].loc[active, ["vsr", "sfr", "smu"]].max(axis=1), 1)
    assert tables["task_variance_steps"].set_index("task")["steps"]["smu"] == 9
    assert len(tables["fractional_variance"]) == 3 * active.sum()
    lesions = tables["lesions"]
    assert set(lesions["task"]) == {"vsr", "sfr", "smu"}
    assert lesions.drop_duplicates("cluster")["units"].sum() == active.sum()
    assert (lesions["intact"] - lesions["lesioned"]).to_numpy() == pytest.approx(lesions["drop"].to_numpy())
    positions = tables["position_similarity"]
    assert set(positions["task"]) == {"vsr", "sfr"}
    np.testing.assert_allclose(positions[positions["position_a"] == positions["position_b"]]["cosine"], 1, atol=1e-6)
    assert "There are no trials in which tasks switch" in page
    assert set(tables["task_embeddings"]["task_a"]) == {"vsr", "sfr", "smu"}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return untrained(tmp_path_factory.mktemp("small") / "small.pt", ("vsr", "sts"), hidden=6)


@pytest.mark.slow
def test_the_command_on_the_page_makes_the_same_again(small: Path, tmp_path: Path) -> None:
    first = tmp_path / "a folder"
    done = spanlab(
        "neural",
        small,
        "-o",
        first,
        "--trials",
        "8",
        "--most-clusters",
        "3",
        "--generator",
        "published",
        "--seed",
        "4",
        "--inactive",
        "0.01",
    )
    assert done.returncode == 0, done.stderr
    found = re.search(r"<pre><code>(.*?)</code></pre>", html.unescape(whole(first)), re.DOTALL)
    assert found is not None
    command = shlex.split(found[1])
    assert command[:2] == ["spanlab", "neural"]
    again = tmp_path / "again"
    command[command.index("-o") + 1] = str(again)
    assert spanlab(*command[1:]).returncode == 0
    for path in sorted((first / "tables").glob("*.csv")):
        assert (again / "tables" / path.name).read_bytes() == path.read_bytes(), path.name
    for path in sorted((first / "figures").glob("*.png")):
        assert (again / "figures" / path.name).read_bytes() == path.read_bytes(), path.name


def test_one_task_is_told_and_no_crash(small: Path, tmp_path: Path) -> None:
    done = spanlab("neural", small, "-o", tmp_path / "one", "--tasks", "vsr", "--trials", "8")
    assert done.returncode == 0, done.stderr
    page = whole(tmp_path / "one")
    assert "With a single task all units have the same normalised task variance" in page
    assert "needs two tasks" in page
    assert set(pd.read_csv(tmp_path / "one" / "tables" / "lesions.csv")["cluster"]) == {1}


def test_one_trial_is_told_and_no_crash(small: Path, tmp_path: Path) -> None:
    done = spanlab("neural", small, "-o", tmp_path / "one", "--trials", "1")
    assert done.returncode == 0, done.stderr
    page = whole(tmp_path / "one")
    for words in (
        "no step is reached by two trials",
        "No unit varies over trials",
        "There are no clusters to leave out",
    ):
        assert words in page
    assert not (tmp_path / "one" / "tables" / "lesions.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--tasks", "vsrr"], "knows no task 'vsrr'; did you mean 'vsr'"),
        (["--tasks", ","], "names no task"),
        (["--generator", "old"], "the generator is corrected or published"),
        (["--paradigm", "nowhere.yaml"], "nowhere.yaml"),
        (["--trials", "0"], "--trials"),
        (["--inactive", "2"], "--inactive"),
    ],
)
def test_wrong_options_are_one_sentence(small: Path, tmp_path: Path, arguments: list[str], told: str) -> None:
    done = spanlab("neural", small, "-o", tmp_path / "out", *arguments)
    assert done.returncode != 0
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_without_scikit_learn_it_is_told_what_to_install(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    done = spanlab("neural", small, "-o", tmp_path / "out")
    assert done.returncode == 1
    assert "pip install 'spanlab[networks]'" in done.stderr


def test_a_folder_that_cannot_be_written_is_told(small: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = spanlab("neural", small, "-o", tmp_path / "file" / "out", "--tasks", "vsr", "--trials", "2")
    assert done.returncode == 1
    assert "cannot write the analysis" in done.stderr
    assert "Traceback" not in done.stderr


MODULE = """
import torch
from torch import nn


class Queue(nn.Module):
    def forward(self, inputs):
        return inputs


class Sees(nn.Module):
    def __init__(self):
        super().__init__()
        self.held = Queue()

    def forward(self, frames):
        change = (frames - frames[:, :1]).abs().amax((2, 3, 4))
        units = self.held(torch.stack([change, frames.mean((2, 3, 4))], -1))
        return torch.stack([0.05 - units[..., 0], units[..., 0] - 0.05], -1)


def build():
    return Sees()
"""


def test_a_module_of_ones_own_is_looked_at(tmp_path: Path) -> None:
    """Its first unit says whether anything has changed, and its second is read by nobody."""
    (tmp_path / "sees.py").write_text(MODULE, encoding="utf-8")
    named = f"torch:{tmp_path / 'sees.py'}:build"
    out, options = tmp_path / "out", ("--paradigm", "cd", "--tasks", "cd_color", "--trials", "20")
    assert "--paradigm vsr" in spanlab("neural", named, "-o", out).stderr
    assert "?states=NAME" in spanlab("neural", named, "-o", out, *options).stderr
    done = spanlab("neural", f"{named}?states=held", "-o", out, *options)
    assert done.returncode == 0, done.stderr
    assert "The states of the 2 units of its submodule" in whole(out)
    paradigm = load_paradigm("cd")
    levels = paradigm.combinations({"feature": "colour"})[0]
    view = paradigm.network_view(levels)
    assert view is not None
    agent = torch_agent(f"{named}?states=held", [view])
    trials = [compile_trial(paradigm, levels, seed, "corrected") for seed in range(12)]
    observed = observe_module(agent, view, trials)
    assert observed.hidden.shape[2] == 2
    accuracy = [accuracy_without(observed, units).mean() for units in ((), (1,), (0,))]
    assert accuracy[:2] == [1, 1]
    assert accuracy[2] < 0.8


def test_networks_of_nback_have_tasks_of_the_library() -> None:
    assert {*_tasks_of(load("laptop-nback"), load_paradigm("nback_spatial"))} == {
        f"nback_spatial_{n}" for n in (1, 2, 3)
    }
