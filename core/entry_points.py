"""Entry points of installed packages, read once for all groups."""

from __future__ import annotations

import sys
from functools import cache
from importlib.metadata import EntryPoints, entry_points


def entry_points_of(group: str) -> EntryPoints:
    """The entry points of a group. Reading those of a hundred packages takes longer than many
    commands, so all groups are read at once; again when the folders of packages have changed."""
    return _all(tuple(sys.path)).select(group=group)


@cache
def _all(folders: tuple[str, ...]) -> EntryPoints:
    return entry_points()
