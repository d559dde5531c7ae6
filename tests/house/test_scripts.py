"""What the scripts count is what is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import statements
from way import Way


@pytest.mark.slow
def test_statements_are_counted_without_docstrings() -> None:
    source = (
        '"""A module."""\n\nimport os\n\n\ndef one(x):\n    """Says one."""\n    if x:\n        return 1; pass\n   '
        ' return "no docstring"\n'
    )
    assert statements.statements(source) == 6  # import, def, if, return, pass, return
    rooms = statements.by_room(statements.ROOT)
    assert rooms["core"] > 100
    assert not {room.split("/")[0] for room in rooms} & statements.NOT_COUNTED


def test_a_way_is_told_by_files_whose_functions_are_called() -> None:
    import sys

    from spanlab.paradigms.identity import trial_seed

    way = Way()
    sys.setprofile(way)
    try:
        trial_seed("session", 1, 0)
    finally:
        sys.setprofile(None)
    assert list(way.files) == ["paradigms/identity.py"]
    assert way.changes == 1


def test_the_study_of_sizes_says_what_it_did() -> None:
    """Every network of the study has a config that can be trained, and the document names its
    number of steps."""
    pytest.importorskip("torch")
    import capacity

    configs = [capacity.config(diet, units) for diet in capacity.DIETS for units in capacity.SIZES]
    assert len({one.name for one in configs}) == 16
    assert {one.model.hidden for one in configs} == set(capacity.SIZES)
    text = capacity.DOCUMENT.read_text(encoding="utf-8")
    assert f"**{capacity.STEPS} steps**" in text
    assert f"{capacity.TRIALS:,} new trials" in text
    scores = {
        24: {"value": 0.5, "low": 0.4, "high": 0.6},
        48: {"value": 0.2, "low": 0.1, "high": 0.3},
        96: {"value": 0.25, "low": 0.2, "high": 0.3},
    }
    assert (
        capacity.said([("smu", "alone", "B_setsize", scores)])
        == "* `smu`, learned alone, B_setsize: 48 units; its interval overlaps with that of 96 units."
    )
    del scores[96]
    assert capacity.said([("smu", "alone", "B_setsize", scores)]) == "* `smu`, learned alone, B_setsize: 48 units."


@pytest.mark.slow
def test_the_study_of_sizes_is_made_by_its_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    import capacity

    monkeypatch.setattr(capacity, "SIZES", (24, 48))
    monkeypatch.setattr(capacity, "STEPS", 1)
    monkeypatch.setattr(capacity, "TRIALS", 20)
    monkeypatch.setattr(capacity, "DIETS", {"smu": ("smu",)})
    monkeypatch.setattr(
        capacity, "PARADIGMS", {"smu": {"batch": 2, "train_trials": 40, "factors": {"set_size": [1, 2, 3, 4]}}}
    )
    monkeypatch.setattr(capacity, "ROOT", tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "capacity.md").write_text(capacity.DOCUMENT.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(capacity, "DOCUMENT", tmp_path / "docs" / "capacity.md")
    capacity.train_all(tmp_path / "runs")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").rglob("*.pt")}
    capacity.train_all(tmp_path / "runs")
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").rglob("*.pt")} == before, (
        "nothing is trained twice"
    )
    capacity.write(tmp_path / "runs")
    text = (tmp_path / "docs" / "capacity.md").read_text(encoding="utf-8")
    assert re.search(r"\| `smu` \| alone \| B_setsize \| \d\.\d\d \[", text)
    assert "24 units" in (tmp_path / "docs" / "images" / "capacity" / "smu-alone.svg").read_text(encoding="utf-8")
