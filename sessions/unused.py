"""Sessions that could not start: a folder in which nothing has happened is removed again."""

from __future__ import annotations

import shutil
from pathlib import Path

from ..core.agent_kinds import kind_named
from ..core.errors import SpanLabError
from .record.reader import finished_trials, is_practice, read_events, read_session

#: what is recorded although nobody has seen, been asked or paid for anything
_OF_THE_START = frozenset({"session_start", "interrupted"})
_FILES = frozenset({"session.json", "events.jsonl", ".lock"})


def remove_unused(folder: Path) -> bool:
    """Remove the folder of a session in which nothing has happened: nobody saw a trial, and no machine has answered or been paid.

    Returns
    -------
    whether it was removed; false where there is anything to keep
    """
    try:
        person = kind_named(read_session(folder)["agent_kind"]).at_window
        nothing = _OF_THE_START if person else _OF_THE_START | {"trial_start"}
        if any(event["event"] not in nothing for event in read_events(folder)) or any(path.name not in _FILES for path in folder.iterdir()):
            return False
        shutil.rmtree(folder)
    except (SpanLabError, OSError):
        return False  # what cannot be read is not ours to remove
    return True


def has_finished(folder: Path) -> bool:
    """Whether a trial of a session is finished, practice apart; not where nothing can be read."""
    try:
        return any(not is_practice(key) for key in finished_trials(read_events(folder)))
    except (SpanLabError, OSError):
        return False
