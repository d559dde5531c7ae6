"""A table with a row for each participant, such as scores: its columns are measures of exclusion
rules and conditions of figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from ...core.errors import SpanLabError
from ...core.registry import nearest

if TYPE_CHECKING:
    import pandas as pd

#: A number with more different values than this is cut at its median, where it is a condition.
MOST_LEVELS = 6


def read_people(file: Path) -> pd.DataFrame:
    """Return a table of participants, indexed by ``participant``.

    Raises
    ------
    SpanLabError
        when the file cannot be read, has no column ``participant``, or names somebody twice.
    """
    import pandas as pd

    try:
        table = pd.read_csv(file, dtype={"participant": str}, keep_default_na=False, na_values=[""])
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error).splitlines()[0]
        raise SpanLabError(f"{file} cannot be read as a table of participants: {reason}") from None
    if "participant" not in table.columns:
        raise SpanLabError(
            f"{file} is no table of participants: it has no column 'participant' (spanlab scores-by-person DATA -o DIR"
            " writes one)"
        )
    if twice := sorted(table.loc[table["participant"].duplicated(), "participant"].astype(str).unique()):
        raise SpanLabError(
            f"{file} has more than one row of {', '.join(twice[:5])}: a table of participants has one for each"
        )
    return table.set_index("participant")


def column_of(file: Path, column: str) -> pd.Series:
    """Return a column of a table of participants, by participant.

    Raises
    ------
    SpanLabError
        when there is none of this name; the message has the nearest one.
    """
    table = read_people(file)
    if column not in table.columns:
        raise SpanLabError(f"{file} has no column '{column}'{nearest(column, [*map(str, table.columns)])}")
    return table[column]


def with_people(responses: pd.DataFrame, people: pd.DataFrame) -> pd.DataFrame:
    """Return a response table in which each column of a table of participants is a condition
    (``record_COLUMN``); whoever is not in it has no value.

    Numbers of more than six different values are cut at the median of the participants, into ``up
    to MEDIAN`` and ``above MEDIAN``.

    Parameters
    ----------
    responses : of one or many sessions
    people : indexed by ``participant``
    """
    if "participant" not in responses.columns:
        return responses
    names = responses["participant"].astype(str)
    columns = {f"record_{name}": names.map(conditions(people[name])) for name in people.columns}
    return responses.assign(**{name: values for name, values in columns.items() if name not in responses.columns})


def conditions(values: pd.Series) -> pd.Series:
    """Return the values of participants as conditions, in the JSON text of the record."""
    import pandas as pd

    if (
        pd.api.types.is_numeric_dtype(values)
        and not pd.api.types.is_bool_dtype(values)
        and values.nunique() > MOST_LEVELS
    ):
        median = float(values.median())
        words = values.gt(median).map({True: f"above {median:.4g}", False: f"up to {median:.4g}"})
        values = words.where(values.notna())
    return values.map(
        lambda value: None if pd.isna(value) else json.dumps(value.item() if hasattr(value, "item") else value)
    )
