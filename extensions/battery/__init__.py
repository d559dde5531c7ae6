"""Scores of each participant of a battery, as the wide table that individual-differences papers
analyse."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from .score_table import ScoreTable

__all__ = ["scores_by_person"]


def scores_by_person(
    data: Sequence[str | Path] | str | Path, *, exclude: str | Path | None = None, errors: bool = True
) -> ScoreTable:
    """Return the scores of everybody in folders of sessions: ``.table()`` is the wide table,
    ``.codes()`` its codebook.

    Parameters
    ----------
    data : sessions, or folders full of sessions
    exclude : a file with rules of exclusion, or a preset of that name
    errors : compute the standard error of every score, which takes most of the time

    Raises
    ------
    SpanLabError
        when nothing can be read, or a rule cannot be applied.
    """
    from pathlib import Path

    from spanlab.api import read_rules

    from .files import gathered

    paths = [Path(data)] if isinstance(data, str | Path) else [Path(path) for path in data]
    return gathered(paths, read_rules(exclude), errors=errors)[0]
