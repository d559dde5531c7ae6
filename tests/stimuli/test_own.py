"""A stimulus of another package: the documentation's example is drawn, told and asked about like
those that ship."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from session_tools import command

import spanlab
from spanlab.core.errors import ParadigmError
from spanlab.stimuli import STIMULI


def documented(repository: Path) -> dict[str, str]:
    """The files of the worked example."""
    text = (repository / "docs" / "paradigms.md").read_text(encoding="utf-8").partition("## Your own displays")[2]
    blocks = dict(re.findall(r"```(python|toml|yaml)\n(.*?)```", text, flags=re.DOTALL))
    return {"clock.py": blocks["python"], "pyproject.toml": blocks["toml"], "hours.yaml": blocks["yaml"]}


@pytest.fixture
def hours(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The paradigm of the example, with its stimulus registered while a test runs."""
    monkeypatch.setattr(STIMULI, "_known", {**STIMULI._known})
    declared: dict[str, Any] = {}
    exec(compile(documented(repository)["clock.py"], "clock.py", "exec", dont_inherit=True), declared)
    STIMULI.register(declared["Clock"])
    file = tmp_path / "hours.yaml"
    file.write_text(documented(repository)["hours.yaml"], encoding="utf-8")
    return file


def test_it_is_seen_and_told(hours: Path) -> None:
    trial = spanlab.compile_trial(spanlab.load_paradigm(hours), seed=1)
    shown: list[Any] = [step.percept.for_machine.stimulus for step in trial.steps]
    assert [one.words() for one in shown] == [f"A clock whose hand points to {one.hour}." for one in shown]
    pixels = spanlab.render(trial)
    drawn = {one.hour: picture for one, picture in zip(shown, pixels, strict=True)}
    assert len({picture.tobytes() for picture in drawn.values()}) == len(drawn) >= 3
    assert spanlab.render(trial, 32).shape == (4, 32, 32, 3)
    three = spanlab.render(spanlab.compile_trial(spanlab.load_paradigm(hours), seed=next(_seeds_with(hours, 3))))[0]
    assert np.array_equal(np.nonzero((three[:, :, 0] == 0).sum(axis=0) > 0)[0][[0, -1]], [16, 80]), (
        "the face is where it is said to be"
    )
    assert (three[47:50, 60] == 0).any(), "at three the hand points to the right"
    assert not (three[60, 47:50] == 0).any()


def _seeds_with(hours: Path, hour: int) -> Any:
    """Seeds of trials whose first clock shows an hour."""
    paradigm = spanlab.load_paradigm(hours)
    return (
        seed
        for seed in range(200)
        if spanlab.compile_trial(paradigm, seed=seed)
        .steps[0]
        .percept.for_machine.stimulus.words()
        .endswith(f" {hour}.")
    )


def test_agents_take_it_and_its_parameters_are_checked(hours: Path, tmp_path: Path) -> None:
    result = spanlab.replay(str(hours), agent="ideal", trials=8, data=tmp_path / "data")
    assert result.accuracy == 1.0
    assert set(result.responses["answer"]) == {"yes", "no"}
    hours.write_text(hours.read_text(encoding="utf-8").replace('clock: "=hours[n]"', "clock: 13"), encoding="utf-8")
    with pytest.raises(ParadigmError, match=r"hours.yaml:\d+ .*clock.*expected a number up to 12; found 13"):
        spanlab.load_paradigm(hours)


@pytest.mark.slow
def test_a_package_brings_it_along(repository: Path, tmp_path: Path) -> None:
    files = documented(repository)
    folder = tmp_path / "site" / "spanlab_clock-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: spanlab-clock\nVersion: 1.0\n", encoding="utf-8")
    entry = re.search(r'\[project.entry-points."(spanlab.stimuli)"\]\n(\w+) = "(.*)"', files["pyproject.toml"])
    assert entry is not None
    (folder / "entry_points.txt").write_text(f"[{entry[1]}]\n{entry[2]} = {entry[3]}\n", encoding="utf-8")
    (tmp_path / "site" / "clock.py").write_text(files["clock.py"], encoding="utf-8")
    (tmp_path / "hours.yaml").write_text(files["hours.yaml"], encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    for arguments, told in (
        (("check", "hours.yaml"), "hours is fine"),
        (("list", "--parts", "clock"), "where the hand points"),
    ):
        done = subprocess.run(command(*arguments), env=environment, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert told in done.stdout
