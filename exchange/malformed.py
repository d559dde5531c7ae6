"""Malformed data in an import: all faults are reported, and nothing is imported unless the user
asks to leave the malformed part out."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.errors import MAX_PROBLEMS, Problem, SpanLabError


def format_problems(problems: Sequence[Problem]) -> list[str]:
    """One line per problem; of very many the first ones, and how many more there are."""
    more = [f"... and {len(problems) - MAX_PROBLEMS} more"] if len(problems) > MAX_PROBLEMS else []
    return [*map(str, problems[:MAX_PROBLEMS]), *more]


def refused(problems: Sequence[Problem]) -> SpanLabError:
    """Return the error that says why nothing was imported."""
    return SpanLabError(
        "\n".join(
            [*format_problems(problems), "nothing was imported; correct this, or use --skip-malformed to leave it out"]
        )
    )
