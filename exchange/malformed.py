"""What is malformed in what is to be imported: all of it is told, and nothing is imported unless it is left out on request."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.errors import MAX_PROBLEMS, Problem, SpanLabError


def format_problems(problems: Sequence[Problem]) -> list[str]:
    """One line a problem; of very many the first ones, and how many more there are."""
    more = [f"... and {len(problems) - MAX_PROBLEMS} more"] if len(problems) > MAX_PROBLEMS else []
    return [*map(str, problems[:MAX_PROBLEMS]), *more]


def refused(problems: Sequence[Problem]) -> SpanLabError:
    """Why nothing was imported."""
    return SpanLabError("\n".join([*format_problems(problems), "nothing was imported; correct this, or use --skip-malformed to leave it out"]))
