"""Answers behind the points of a picture of fits, as marks of a report state them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .trials import cells_of

if TYPE_CHECKING:
    import pandas as pd

    from .reading import Answerer


def with_answers(spec: Mapping[str, Any], everybody: Sequence[Answerer], items: pd.DataFrame) -> dict[str, Any]:
    """A picture of fits whose points state their answers: a parameter those that it was fitted to,
    a point of a curve those that it is the mean of.

    Parameters
    ----------
    everybody : the answerers of its paradigm
    items : their scored answers
    """
    trials = items.drop_duplicates("unit_trial").set_index("unit_trial")[["session", "trial"]]
    rows = [_stated(row, everybody, trials) for row in spec["data"]["values"]]
    return {**spec, "data": {**spec["data"], "values": rows}}


def _stated(row: Mapping[str, Any], everybody: Sequence[Answerer], trials: pd.DataFrame) -> dict[str, Any]:
    if "answerer" in row:
        members = [one for one in everybody if (one.name, one.person) == (row["answerer"], row["kind"] == "person")]
        units = [one.trials.trial for one in members]
    elif "line" in row and "people" in row:
        members = [one for one in everybody if one.person == row["people"] and row["group"] in ("", one.name)]
        cells = [(one.trials.trial, cells_of(one.trials)) for one in members]
        units = [trial[rows[row["line"], row["x"]]] for trial, rows in cells if (row["line"], row["x"]) in rows]
    else:
        return dict(row)
    wanted = set(np.concatenate([*units, np.array([], int)]).tolist())
    if not wanted or not wanted <= set(trials.index) or -1 in wanted:
        return dict(row)  # of tables, whose trials cannot be told apart
    places = {"serial_position": row["x"]} if members[0].trials.kind == "order" and "line" in row else {}
    where = [{**condition, **places} for condition in _where(trials, wanted)]
    return {**row, "answers": {"paradigm": members[0].paradigm, "where": where}}


def _where(trials: pd.DataFrame, wanted: set[int]) -> Iterable[dict[str, Any]]:
    """Some trials as conditions: whole sessions together, then the trials of the others."""
    whole: list[str] = []
    some: list[dict[str, Any]] = []
    for session, of_session in trials.groupby("session", observed=True):
        chosen = of_session["trial"][of_session.index.isin(wanted)].tolist()
        if len(chosen) == len(of_session):
            whole.append(str(session))
        elif chosen:
            some.append({"session": str(session), "trial": chosen})
    return [*([{"session": whole}] if whole else []), *some]
