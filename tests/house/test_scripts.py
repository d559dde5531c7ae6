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
