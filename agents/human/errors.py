"""How a participant's session may end before its time."""

from __future__ import annotations

from ...core.errors import SpanLabError


class Abandoned(SpanLabError):  # noqa: N818 - named as what happened, like KeyboardInterrupt
    """The person pressed Escape and chose to leave. The runner saves everything and ends the session."""

    def __init__(self) -> None:
        super().__init__("the participant left the session; every finished trial is saved, and the session can be resumed")
