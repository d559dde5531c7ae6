"""Rows of a table as dictionaries, which pages ask for many times: they are those of pandas."""

from __future__ import annotations

import numpy as np
import pandas as pd

from spanlab.analysis.data.coding import records


def test_rows_are_those_of_pandas() -> None:
    table = pd.DataFrame(
        {
            "agent": ["a", "b", None],
            "n": pd.array([1, None, 3], dtype="Int64"),
            "mean": [0.5, np.nan, 1.0],
            "right": [True, False, True],
            "level": pd.Series([1, "none", np.float64(2.5)], dtype=object),
            "kind": pd.Categorical(["u", "v", "u"]),
        }
    )
    for row, other in zip(records(table), table.to_dict("records"), strict=True):
        assert {name: (type(value), str(value)) for name, value in row.items()} == {
            name: (type(value), str(value)) for name, value in other.items()
        }
    assert records(table.iloc[:0]) == []
