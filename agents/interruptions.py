"""Exceptions that end a trial before its end: the session is stopped, nothing can be had, or what
happened in it."""

# pyright: strict
from __future__ import annotations

from ..core.errors import SpanLabError


class Stopped(SpanLabError):  # noqa: N818 - it is not a fault
    """Something was not begun, since nothing new is to begin: the session is being stopped."""


class Unobtainable(SpanLabError):  # noqa: N818 - it is not a fault of the session
    """A trial failed, and asking again does not help; others may.

    Parameters
    ----------
    message : why, in a sentence
    bearable : of the trials of a session, the share that may be missing before it stops
    """

    def __init__(self, message: str, bearable: float) -> None:
        super().__init__(message)
        self.bearable = bearable


class TrialCut(Exception):  # noqa: N818 - named as what happened
    """A trial cannot count any more, because of what happened in the step under way: it is cut off,
    and replaced.

    Parameters
    ----------
    why : what happened, in a word for the record
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Abandoned(SpanLabError):  # noqa: N818 - named as what happened, like KeyboardInterrupt
    """The person pressed Escape and chose to leave. The runner saves everything and ends the
    session."""

    def __init__(self) -> None:
        super().__init__(
            "the participant left the session; every finished trial is saved, and the session can be resumed"
        )
