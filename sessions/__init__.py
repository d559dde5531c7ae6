"""Sessions: the runner that takes an agent through trials, and the record of what happened.

Names are loaded when they are first used: reading a record needs neither agents nor paradigms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core import re_exports

if TYPE_CHECKING:
    from .record.reader import COLUMNS, find_sessions, read_responses, read_session
    from .runner import Runner, judge
    from .session import Request, Session, begin, complete, reopen, same_trials

__getattr__ = re_exports(
    __name__,
    {
        "record.reader": ("COLUMNS", "find_sessions", "read_responses", "read_session"),
        "runner": ("Runner", "judge"),
        "session": ("Request", "Session", "begin", "complete", "reopen", "same_trials"),
    },
)

__all__ = ["COLUMNS", "Request", "Runner", "Session", "begin", "complete", "find_sessions", "judge", "read_responses", "read_session", "reopen", "same_trials"]
