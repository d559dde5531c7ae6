"""``spanlab new``: what it writes works as it is."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from command_line import Run, complaint
from session_tools import ended_well


def install(site: Path, package: Path) -> None:
    """A package as an installer leaves it: its module, and its entry points."""
    project = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))
    (folder := site / f"{project['project']['name'].replace('-', '_')}-0.1.0.dist-info").mkdir(parents=True)
    (folder / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['project']['name']}\nVersion: 0.1.0\n", encoding="utf-8"
    )
    groups = project["project"]["entry-points"].items()
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in points.items()) for group, points in groups
    ]
    (folder / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    for module in project["tool"]["setuptools"]["py-modules"]:
        (site / f"{module}.py").write_bytes((package / f"{module}.py").read_bytes())


def spanlab(folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(folder / "site")}
    done = ended_well(
        subprocess.run(
            [sys.executable, "-m", "spanlab.cli", *arguments],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    )
    return done


@pytest.mark.slow
def test_a_new_paradigm_is_right_and_has_its_figures(tmp_path: Path, run: Run) -> None:
    assert run("new", "paradigm", "my_letters")[1].splitlines()[:2] == [
        "my_letters.yaml",
        "  spanlab check my_letters.yaml",
    ]
    status, out, err = run("check", "my_letters.yaml", "--details")
    assert (status, err) == (0, "")
    assert "figures: serial_position, set_size, sensitivity, reaction_time" in out
    status, out, _ = run("replay", "my_letters.yaml", "--agent", "ideal", "--trials", "6", "--seed", "2")
    assert (status, out) == (0, "data/my_letters-ideal-s2\n")


@pytest.mark.slow
def test_a_new_study_is_right(tmp_path: Path, run: Run) -> None:
    assert run("new", "study", "first_study", "-o", "studies")[0] == 0
    assert run("check", "studies/first_study.yaml")[1] == "first_study is fine (2 paradigms, 1 session)\n"
    assert run("check", "studies/first_study.yaml", "--details")[1].startswith(
        "first_study is fine (2 paradigms, 1 session)\n  session: about "
    )


def test_nothing_is_overwritten_and_no_name_is_taken_twice(tmp_path: Path, run: Run) -> None:
    assert run("new", "paradigm", "mine")[0] == 0
    assert "exists already" in complaint(*run("new", "paradigm", "mine"))
    assert "a paradigm of the library" in complaint(*run("new", "paradigm", "vsr"))
    assert "a kind of agent" in complaint(*run("new", "agent", "ideal"))
    assert "a Python module that is installed here" in complaint(*run("new", "plugin", "numpy"))
    for name in ("My", "a b", "../up", "class", "1st", "ä"):
        assert "cannot be the name" in complaint(*run("new", "agent", name))
    assert "begin with a letter, such as my_lab" in complaint(*run("new", "agent", "My-Lab"))
    assert "a word of Python: choose another one, such as my_class" in complaint(*run("new", "agent", "class"))
    assert [path.name for path in tmp_path.iterdir()] == ["mine.yaml"]


@pytest.mark.slow
def test_a_new_agent_takes_trials(tmp_path: Path, run: Run) -> None:
    assert run("new", "agent", "my_agent")[0] == 0
    install(tmp_path / "site", tmp_path / "my_agent")
    assert (
        spanlab(tmp_path, "replay", "vsr", "--agent", "my-agent", "--trials", "4", "--seed", "3")
        == "data/vsr-my-agent-s3\n"
    )


@pytest.mark.slow
def test_a_new_plugin_has_a_stimulus_an_agent_and_a_figure(tmp_path: Path, run: Run) -> None:
    assert run("new", "plugin", "my_plugin")[0] == 0
    install(tmp_path / "site", tmp_path / "my_plugin")
    assert "where the hand points" in spanlab(tmp_path, "list", "--parts", "my_plugin_clock")
    spanlab(tmp_path, "replay", "cd", "--agent", "my-plugin-first", "--trials", "24", "--seed", "3")
    spanlab(tmp_path, "figure", "my_plugin_course", "data", "-o", "course.csv")
    assert (tmp_path / "course.csv").read_text(encoding="utf-8").count("\n") == 4
