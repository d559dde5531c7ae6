"""Who meets what: the one runner, and the record of what happened."""

from .record import COLUMNS, find_sessions, read_responses, read_session
from .runner import Runner, judge
from .session import Request, Session, begin, complete, reopen, same_trials

__all__ = ["COLUMNS", "Request", "Runner", "Session", "begin", "complete", "find_sessions", "judge", "read_responses", "read_session", "reopen", "same_trials"]
