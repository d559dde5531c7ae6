"""The trigger codes of a session: which ones it sends, and their entry in the record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import SpanLabError
from ..paradigms import Paradigm
from ..paradigms.triggers import overridden, read_triggers, suggestion
from .record.reader import find_sessions, is_practice, read_events, read_session, trial_number

if TYPE_CHECKING:
    import pandas


def trigger_request(paradigm: Paradigm, port: str, changes: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The entry on trigger codes for the record of a session (``Request.extra["triggers"]``): the
    port, and every code.

    Parameters
    ----------
    port : as it was named, such as ``serial:COM3@115200``
    changes : codes that differ from those in the paradigm's file, laid out as there

    Raises
    ------
    SpanLabError
        when the paradigm declares no codes, or the changes do not fit it.
    """
    declared = paradigm.data.get("triggers")
    if declared is None and not changes:
        raise SpanLabError(
            f"{paradigm.name} declares no trigger codes; add some to its file (or to one that extends it), such as\n "
            f" {suggestion(paradigm.timeline)}"
        )
    codes = overridden(declared, changes or {})
    read_triggers(codes, paradigm.timeline, "trigger codes")
    return {"port": port, "codes": codes}


#: columns of :func:`sent_triggers`
COLUMNS = (
    "session",
    "participant",
    "trial",
    "attempt",
    "practice",
    "step",
    "code",
    "for",
    "what",
    "flip_ms",
    "sent_ms",
    "delay_ms",
    "lsl_s",
)


def sent_triggers(paths: str | Path | Iterable[str | Path]) -> pandas.DataFrame:
    """Every trigger code that was sent in sessions, one row per code in the order of sending, for
    comparison with the markers of a recording.

    Attempts that were cut short are in it, too: their codes did go out. ``sent_ms`` is empty where
    the port did not take the code.
    """
    import pandas

    rows: list[list[Any]] = []
    for folder in find_sessions([paths] if isinstance(paths, (str, Path)) else paths):
        session = read_session(folder)
        for event in read_events(folder):
            if event["event"] == "trigger":
                of_session = {
                    "session": session["session"],
                    "participant": session["participant"],
                    "practice": is_practice(event["trial"]),
                }
                values = {**event, **of_session, "trial": trial_number(event["trial"])}
                rows.append([values.get(column) for column in COLUMNS])
    return pandas.DataFrame(rows, columns=pandas.Index(COLUMNS))
