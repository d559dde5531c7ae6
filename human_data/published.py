"""Read the published human curves, and the numbers of each person of studies whose raw data exist.

The files of curves hold group means that the authors of WorM (NeurIPS 2023) read off printed figures: no
spread, no number of people, and a third decimal that means nothing.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.abc import Traversable

    import pandas as pd

#: Columns that every answer of :func:`published` has; ``factor_<name>`` and ``record_<name>``
#: columns, named as in the response table, follow where a study varied more.
PUBLISHED_COLUMNS = (
    "study",
    "paradigm",
    "list_length",
    "set_size",
    "serial_position",
    "retention_steps",
    "accuracy",
    "measure",
    "source",
)
#: Of more levels the first and the last are named.
_MOST_LEVELS = 6
#: Columns that are no levels of an experimenter: positions vary within a trial.
_NO_LEVELS = ("study", "paradigm", "serial_position", "accuracy", "measure", "source")
_WHOLE = ("list_length", "set_size", "serial_position", "retention_steps")


def studies() -> list[str]:
    """Names of the files that hold one study each, such as ``avons1998``."""
    return sorted(
        file.name.removesuffix(".csv")
        for file in files(__name__.rpartition(".")[0]).iterdir()
        if file.name.endswith(".csv")
    )


def published(paradigm: str | None = None) -> pd.DataFrame:
    """Published human accuracies, one row per point of a printed figure.

    Parameters
    ----------
    paradigm : short name such as ``vsr``; None for all of them

    Returns
    -------
    pandas.DataFrame
        :data:`PUBLISHED_COLUMNS` and the ``factor_<name>`` and ``record_<name>`` columns in use;
        ``accuracy`` is a proportion in 0..1, whole numbers are nullable integers. Empty when no
        digitised numbers exist for the paradigm.
    """
    return _points(paradigm).copy()


def conditions(paradigm: str) -> list[tuple[str, str, str, str]]:
    """The levels at which a paradigm has published people: ``(paradigm, study, of what kind, levels)``
    for each study, empty when there is none. The kind is ``digitised`` (from a printed figure), or says how
    many people there are, and whether their numbers are from raw answers or were given for each person. How
    the task of these differs from the paradigm stands after the levels."""
    table = _points(paradigm)
    rows = []
    for study, points in table.groupby("study", sort=False):
        factors = {
            name.removeprefix("factor_").removeprefix("record_"): points[name].dropna().unique()
            for name in points.columns
            if name not in _NO_LEVELS
        }
        repeated = "list_length" in factors and len(factors["list_length"]) > 0
        shown = {
            name: levels for name, levels in factors.items() if len(levels) and not (name == "set_size" and repeated)
        }
        rows.append(
            (
                paradigm,
                str(study),
                "digitised",
                "; ".join(f"{name} {_levels(sorted(levels))}" for name, levels in shown.items()),
            )
        )
    for name, facts in persons().items():
        if facts["paradigm"] == paradigm:
            table = of_persons(name)
            shown = {one: sorted(table[one].unique()) for one in table.columns[1 : table.columns.get_loc("n_trials")]}
            levels = "; ".join(f"{one} {_levels(values)}" for one, values in shown.items())
            source = "raw" if "recipe" in facts else "per person"
            kind = f"{table['participant'].nunique()} people, {source}"
            rows.append((paradigm, facts["study"], kind, f"{levels}. It differs: {facts['differs']}"))
    return rows


@cache
def persons() -> dict[str, dict[str, Any]]:
    """The studies whose people have numbers of their own here, by name: paradigm, study, source, and
    how the task differs from the paradigm."""
    import yaml

    known: dict[str, dict[str, Any]] = yaml.safe_load(_file("benchmarks_wm.yaml").read_text(encoding="utf-8"))
    return {name: facts for name, facts in known.items() if _file(f"people/{name}.csv").is_file()}


def of_persons(name: str) -> pd.DataFrame:
    """The numbers of each person of a study: ``participant``, its conditions, ``n_trials``,
    ``accuracy`` (mean over trials), ``rt_ms`` (median of right answers), and of continuous reports
    the mean absolute error and the mixture."""
    import pandas as pd

    with _file(f"people/{name}.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file)


def _file(name: str) -> Traversable:
    return files(__name__.rpartition(".")[0]).joinpath(name)


def _levels(values: list[object]) -> str:
    words = [value if isinstance(value, str) else f"{float(str(value)):g}" for value in values]
    return ", ".join(words) if len(words) <= _MOST_LEVELS else f"{words[0]} to {words[-1]}"


@cache
def _points(paradigm: str | None) -> pd.DataFrame:
    """The points of a paradigm, read and sorted out once."""
    table = _read()
    if paradigm is not None:
        table = table[table["paradigm"] == paradigm].reset_index(drop=True)
    table = table.astype(dict.fromkeys(_WHOLE, "Int64"))
    extra = [name for name in table.columns if name.startswith(("factor_", "record_")) and table[name].notna().any()]
    return table[[*PUBLISHED_COLUMNS, *extra]]


@cache
def _read() -> pd.DataFrame:
    import pandas as pd

    parts = []
    for study in studies():
        with files(__name__.rpartition(".")[0]).joinpath(f"{study}.csv").open(encoding="utf-8") as file:
            parts.append(pd.read_csv(file))
    return pd.concat(parts, ignore_index=True)
