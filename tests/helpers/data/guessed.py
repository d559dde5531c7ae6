"""The table of who is above guessing, of one paradigm alone."""

from __future__ import annotations

import pandas as pd

from spanlab.analysis.data.scoring import Scored
from spanlab.analysis.guessing import against_guessing, among_all, guessing_table


def guessed(scored: Scored) -> pd.DataFrame:
    """Everybody beside guessing, each among all who are in these answers."""
    return guessing_table(among_all(against_guessing(scored)), scored)
