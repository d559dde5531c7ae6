"""What the scripts count is what is there."""

from __future__ import annotations

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
