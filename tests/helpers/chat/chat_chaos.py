"""A server that fails in every way, and what is to come of it all the same."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from spanlab.sessions import read_responses
from spanlab.sessions.record.table import COLUMNS

LASTING = [column.name for column in COLUMNS if not column.measured and column.name != "session"]

#: three in ten requests fail, in every way
CHAOS = {
    "429": 0.04,
    "429-after": 0.03,
    "429-ms": 0.03,
    "500": 0.04,
    "503": 0.04,
    "reset": 0.04,
    "silent": 0.01,
    "cut": 0.01,
    "truncated": 0.05,
    "hollow": 0.01,
}

#: one reply in three cannot be read
ANSWERS = ["m", "-", "I cannot say."]


def session_table(folder: Path) -> pd.DataFrame:
    """The lasting columns."""
    return read_responses(folder).sort_values(["trial", "step"], ignore_index=True).reindex(columns=LASTING)
