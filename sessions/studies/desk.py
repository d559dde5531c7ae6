"""Decisions of an assistant about a session of a study that is not running: a paradigm is skipped,
or taken again. The reason is on record."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ...core.atomic_files import append_line, only_writer
from ...core.errors import SpanLabError
from ...core.registry import nearest
from ..record.reader import read_session
from ..session import utc_now, write_info
from .visit_files import JOURNAL, read_head, states


def skip(visit: Path, paradigm: str, reason: str, now: Callable[[], str] = utc_now) -> None:
    """Skip a paradigm of a session: what is finished of it stays, and the session goes on with the
    next one.

    Parameters
    ----------
    visit : folder of the session of the study
    paradigm : its name in the study
    reason : in words, for the record

    Raises
    ------
    SpanLabError
        for an unknown paradigm, one that is finished, or an empty reason, and while the session is
        running.
    """
    _check(visit, paradigm, reason, "--skip")
    with only_writer(visit):
        state = states(visit).get(paradigm)
        if state is not None and state.finished:
            raise SpanLabError(f"--skip: {paradigm} is finished, so nothing of it can be skipped")
        append_line(visit / JOURNAL, {"event": "skipped", "paradigm": paradigm, "reason": reason.strip(), "at": now()})


def repeat(visit: Path, paradigm: str, reason: str, now: Callable[[], str] = utc_now) -> None:
    """Have a paradigm of a session taken again, from its beginning and with other trials: its
    session is set aside, and kept.

    Parameters
    ----------
    visit, paradigm, reason : as of :func:`skip`

    Raises
    ------
    SpanLabError
        as :func:`skip`, but for a paradigm that has not begun instead of one that is finished.
    """
    _check(visit, paradigm, reason, "--repeat")
    with only_writer(visit):
        state = states(visit).get(paradigm)
        if state is None:
            raise SpanLabError(f"--repeat: {paradigm} has not begun, so it cannot be repeated")
        with only_writer(state.folder):
            at = now()
            append_line(
                visit / JOURNAL,
                {
                    "event": "repeated",
                    "paradigm": paradigm,
                    "session": state.folder.name,
                    "reason": reason.strip(),
                    "at": at,
                },
            )
            write_info(state.folder, {**read_session(state.folder), "set_aside": {"reason": reason.strip(), "at": at}})


def _check(visit: Path, paradigm: str, reason: str, option: str) -> None:
    order = read_head(visit)["order"]
    if paradigm not in order:
        raise SpanLabError(
            f"{option}: the session has no paradigm '{paradigm}'{nearest(paradigm, order)}; it has {', '.join(order)}"
        )
    if not reason.strip():
        raise SpanLabError(f"{option} needs --reason TEXT, which is recorded")
