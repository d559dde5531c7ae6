"""The golden sessions, and the tables that the code of then has written of them."""

from __future__ import annotations

import io
from pathlib import Path

import pandas as pd

FOLDER = Path(__file__).resolve().parents[1] / "golden" / "sessions"


def read_table(text: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)


def stored(kind: str, name: str) -> pd.DataFrame:
    """A table that the code of then has written."""
    return read_table((FOLDER / kind / f"{name.replace('/', '+')}.csv").read_text(encoding="utf-8"))


def assert_same(found: pd.DataFrame, wanted: pd.DataFrame) -> None:
    """Every column that there was has the values that it had."""
    assert set(wanted.columns) <= set(found.columns)
    pd.testing.assert_frame_equal(found[list(wanted.columns)], wanted)
