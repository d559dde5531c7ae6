"""Agents compared on the same paradigm by a mixed-effects logistic model, with random effects of
participants and items.

Every answered item is right or wrong. Its log odds are those of its cell (agent and condition),
plus what is the participant's, the item's and the trial's:

    logit P(correct) = cell[agent, condition] + participant + participant x condition + session +
    session x condition + wording + wording x condition + item + item x agent + trial as taken

Terms after the cell are random effects; each is there only where the data can separate it
(:data:`COMPONENTS` says when), and terms left out are reported. Sessions of a machine are what was
trained or sampled anew, such as seeds of a network. An agent of one session, and one person, has no
such effect: results hold for this one, not for others like it. Cells stand for
effects and interactions alike, so nothing depends on how factors are coded. Cells have a weak
prior, normal around even odds (0) with standard deviation 3, so that those at 0 % or 100 % have an
end; see :mod:`.laplace` for the fit, :mod:`.mixed_contrasts` for tests and contrasts. Simulated
observers and guessing are yardsticks and no competitors: they are in no model.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ...core.errors import SpanLabError, in_number
from ..data.coding import Declared, columns_there, lacking
from ..data.scoring import WORDING, Scored, over_repeats, plural, unit_session
from ..data.style import listed, of_kinds, same_trials
from ..data.unread import UNREAD_COLUMNS, testable, with_replies, withheld_notes
from ..means.bootstrap import FEW
from ..means.cell_means import unit_means
from .laplace import Fit, FitError, Laplace, Normal, fit

#: Standard deviation of the normal prior of a cell's log odds.
PRIOR_SD = 3.0
#: More rows than these that differ in what the model knows are a sample of trials.
MOST_ITEMS = 20_000
#: Of this sample.
SEED = 1
MOST_CELLS = 100
#: So many levels beyond the number of cells they lie in must have been met again before a random
#: effect is estimated, ...
_AGAIN = 10
#: ... and they must hold this share of the answers.
_SHARE = 0.25
#: Random effects, and when each is in the model.
COMPONENTS: Mapping[str, str] = {
    "participant": "some agent is a group of several people",
    "participant x condition": "several people answered several times in several conditions",
    "session": "some machine took the paradigm in several sessions, such as seeds of a network",
    "session x condition": "several sessions of machines have several answers in several conditions",
    "wording": "some chat model took its trials in several wordings; repeats are averaged first",
    "wording x condition": "several wordings have several answers in several conditions",
    "item": "enough items (the same question of the same trial) were answered more than once",
    "item x agent": "several agents answered the same items, and enough of them more than once",
    "trial as taken": "enough trials had several scored items",
}


@dataclass(frozen=True)
class Cells:
    """Answers of one paradigm, sorted for a model.

    Parameters
    ----------
    paradigm, by : the paradigm, and the column of conditions (empty for none)
    table : a row for each cell: ``agent``, ``condition``, ``n`` (answers), ``right`` (how many of
        them were), ``correct`` (the share, as the mean of units: see :func:`.unit_means`),
        ``chance``, ``persons``; where replies could not be read, :data:`.UNREAD_COLUMNS`
    items : a row for each answer: ``cell`` (row of ``table``), ``correct``, and for each random
        effect in the model its level (-1 for none)
    components : the random effects in the model
    numeric : whether conditions are numbers
    notes : what was decided and left out
    """

    paradigm: str
    by: str
    table: pd.DataFrame
    items: pd.DataFrame
    components: tuple[str, ...]
    numeric: bool
    notes: tuple[str, ...]

    @cached_property
    def answers(self) -> np.ndarray:
        """The number of answers in each cell."""
        return self.table["n"].to_numpy(float)

    @cached_property
    def right(self) -> np.ndarray:
        """The number of right answers in each cell."""
        return self.table["right"].to_numpy(float)

    @cached_property
    def shares(self) -> np.ndarray:
        """The share of right answers in each cell, as the mean of people, sessions or trials."""
        return self.table["correct"].to_numpy(float)

    @cached_property
    def agents(self) -> np.ndarray:
        """Whose cell each is."""
        return self.table["agent"].to_numpy(object)

    @property
    def formula(self) -> str:
        """The model in the notation of R."""
        fixed = "agent * " + self.by if self.by else "agent"
        names = {
            "participant": "participant",
            "participant x condition": f"participant:{self.by}",
            "session": "session:agent",
            "session x condition": f"session:agent:{self.by}",
            "wording": "wording:agent",
            "wording x condition": f"wording:agent:{self.by}",
            "item": "item",
            "item x agent": "item:agent",
            "trial as taken": "trial",
        }
        return " + ".join([f"correct ~ {fixed}", *(f"(1 | {names[component]})" for component in self.components)])


@dataclass(frozen=True)
class Mixed:
    """A model of one paradigm.

    Parameters
    ----------
    cells : the answers
    fit : None where the model could not be fitted
    problem : why, and what to do; empty otherwise
    notes : everything that was decided, in plain sentences
    laplace : the model that was fitted
    """

    cells: Cells
    fit: Fit | None
    problem: str
    notes: tuple[str, ...] = field(default=())
    laplace: Laplace | None = None

    def random(self) -> pd.DataFrame:
        """The random effects: ``effect``, ``levels`` and ``sd`` (in log odds), with rough limits
        (one standard error of its logarithm each way)."""
        rows = []
        for number, name in enumerate(self.cells.components if self.fit is not None else ()):
            assert self.fit is not None
            sd, spread = float(self.fit.sd[number]), float(np.sqrt(self.fit.uncertainty[number, number]))
            levels = int(self.cells.items[name].max()) + 1
            rows.append(
                {"effect": name, "levels": levels, "sd": sd, "low": sd * np.exp(-spread), "high": sd * np.exp(spread)}
            )
        return pd.DataFrame(rows, columns=["effect", "levels", "sd", "low", "high"])


def mixed_model(scored: Scored, paradigm: str, by: str | None = None) -> Mixed:
    """Fit the model to one paradigm.

    Parameters
    ----------
    scored : as from :func:`.scoring.score_table`; ``agent`` as figures call it (see
        :func:`.style.name_agents`)
    by : the column of conditions, such as ``list_length`` or ``factor_lures`` (also without
        ``factor_`` or ``record_``); empty for none; chosen when not given

    Raises
    ------
    SpanLabError
        for a column that is not there, and for more cells than can be compared.
    """
    cells = sort_cells(scored, paradigm, by)
    if not len(cells.table):
        there = bool((scored.items["paradigm"] == paradigm).any())
        why = f"Only yardsticks answered {paradigm}" if there else f"There are no scored answers to {paradigm}"
        return Mixed(cells, None, f"{why}: nothing can be compared.", cells.notes)
    return _fitted(cells, Laplace(*_design(cells, _counted(cells)), prior_sd=PRIOR_SD))


def mixed_time_model(scored: Scored, paradigm: str, by: str | None = None) -> Mixed:
    """The same of the logarithm of the times of right answers (``correct`` in its cells), which is normal,
    without priors."""
    items = scored.items[(scored.items["correct"] == 1) & (scored.items["rt_ms"] > 0)]
    cells = sort_cells(replace(scored, items=items.assign(correct=np.log(items["rt_ms"].astype(float)))), paradigm, by)
    if not cells.components:
        return Mixed(cells, None, "No model: too few people have times.", cells.notes)
    rows = _counted(cells)
    return _fitted(cells, Normal(*_design(cells, rows), squares=rows["squares"].to_numpy(float)), penalised=False)


def _counted(cells: Cells) -> pd.DataFrame:
    """Rows that differ in what the model knows, with the number of their answers and their sum."""
    groups = cells.items.assign(_square=cells.items["correct"] ** 2).groupby(["cell", *cells.components], sort=True)
    return groups.agg(sum=("correct", "sum"), size=("correct", "size"), squares=("_square", "sum")).reset_index()


def _design(cells: Cells, rows: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[np.ndarray]]:
    fixed = np.eye(len(cells.table))[rows["cell"].to_numpy()]
    return (
        rows["sum"].to_numpy(float),
        rows["size"].to_numpy(float),
        fixed,
        [rows[name].to_numpy() for name in cells.components],
    )


def _fitted(cells: Cells, model: Laplace, penalised: bool = True) -> Mixed:
    try:
        fitted = fit(model, penalised=penalised)
    except FitError as error:
        return Mixed(cells, None, f"No model: {error}.", cells.notes)
    notes = _notes_on_fit(cells, fitted) if penalised else []
    return Mixed(cells, fitted, "", (*cells.notes, *notes), model)


def _notes_on_fit(cells: Cells, fitted: Fit) -> list[str]:
    flat = [name for name, sd in zip(cells.components, fitted.sd, strict=True) if sd < 0.1]
    return (
        [f"Almost no variation was found between levels of {listed(flat)} (standard deviation below 0.1)."]
        if flat
        else []
    )


def sort_cells(scored: Scored, paradigm: str, by: str | None = None, *, beside: Sequence[str] = ()) -> Cells:
    """Sort the answers of one paradigm into cells of agent and condition, with the random effects
    that the data can separate, and columns ``beside``."""
    part = scored.parts.get(paradigm, replace(scored, items=scored.items.iloc[:0]))
    notes: list[str] = []
    whole, part = part, part.about((by, f"factor_{by}", f"record_{by}") if by else ())
    if part is not whole:
        notes.append(f"Of questions in several phases, only those of the last one: {part.items['phase'].iloc[0]}.")
    column = _conditions(_competitors(part.items, []).reset_index(drop=True), by, part.of_file, notes)
    columns = [*filter(None, [column])]
    items = _competitors(testable(part, columns).items, notes).reset_index(drop=True)
    notes += withheld_notes(part, columns)
    items = items.assign(condition=plain_values(items[column]) if column else "")
    known = items["condition"].notna()
    if not known.all():
        notes.append(f"{plural(int((~known).sum()), 'answer')} without {column} left out.")
        items = items[known].reset_index(drop=True)
    if items["agent"].nunique() * items["condition"].nunique() > MOST_CELLS:
        raise SpanLabError(
            f"{paradigm}: {items['agent'].nunique()} agents times {items['condition'].nunique()} levels of {column} are"
            f" more than {MOST_CELLS} cells; name fewer sessions, or give --by with another column"
        )
    if len(items):
        notes.append(same_trials(items)[1])
    items = _with_units(over_repeats(items))
    levels, told = _levels(items) if len(items) else ({}, [])
    if len(items) > MOST_ITEMS and _rows(items, levels) > MOST_ITEMS:
        items = _sampled(items, notes)
        levels, told = _levels(items)
    notes += told
    groups = items.groupby(["agent", "condition"], sort=True)
    table = groups.agg(
        n=("correct", "size"), right=("correct", "sum"), chance=("chance", "mean"), persons=("person", "nunique")
    ).reset_index()
    table = table.assign(correct=_over_units(items, table, "correct"))
    replies = with_replies(items)
    if replies["unread"].any():
        table = table.assign(**{name: _over_units(replies, table, name) for name in UNREAD_COLUMNS})
    _tell(items, table, column, notes)
    kept = pd.DataFrame(
        {
            "cell": groups.ngroup().to_numpy(int),
            "correct": items["correct"].to_numpy(float),
            **levels,
            **{name: items[name].to_numpy() for name in beside},
        }
    )
    numeric = bool(column) and all(
        isinstance(value, int | float | np.number) and not isinstance(value, bool) for value in table["condition"]
    )
    return Cells(paradigm, column, table, kept, tuple(levels), numeric, tuple(notes))


def _over_units(items: pd.DataFrame, table: pd.DataFrame, value: str) -> list[float]:
    """The mean of a column in each cell of a table, over people, sessions or trials, as in figures:
    whoever answered more often counts no more. It is unknown where one value is."""
    cells = unit_means(Scored(items, items.iloc[:0], ()), ("condition",), who=("agent",), value=value)
    means = {
        place: cells.mean(number)
        for number, place in enumerate(zip(cells.keys["agent"], cells.keys["condition"], strict=True))
    }
    unknown = items[items[value].isna()]
    means |= dict.fromkeys(zip(unknown["agent"], unknown["condition"], strict=True), math.nan)
    return [means[place] for place in zip(table["agent"], table["condition"], strict=True)]


def _competitors(items: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Answers of everybody but yardsticks, which a note names."""
    aside = of_kinds(items["agent_kind"], lambda kind: kind.yardstick) | items["oracle"]
    if not aside.any():
        return items
    names = sorted(set(items.loc[aside, "agent"].astype(str)))
    notes.append(
        f"{listed(names)} {in_number(len(names), 'is a yardstick', 'are yardsticks')} for comparison only: in no model,"
        " test or family of tests."
    )
    return items[~aside]


def _conditions(items: pd.DataFrame, by: str | None, of_file: Declared, notes: list[str]) -> str:
    """The column of conditions: as named, or the first that has several levels, of those that the
    file of the paradigm declares before all others; recorded values for factors that stand for them."""

    def several(name: str) -> bool:
        return name in items.columns and plain_values(items[name]).nunique() > 1

    if by == "":
        return ""
    if by is not None:
        for name in (by, f"factor_{by}", f"record_{by}"):
            if name in items.columns and (items.empty or items[name].notna().any()):
                return name
        raise SpanLabError(f"the table of responses {lacking(by, columns_there(items))}")
    for name in (
        *of_file.conditions,
        "list_length",
        "set_size",
        "factor_n",
        *sorted(of_file.stand_ins.get(one, one) for one in items.columns if one.startswith("factor_")),
    ):
        if several(name) and items["agent"].nunique() * plain_values(items[name]).nunique() <= MOST_CELLS:
            notes.append(f"Conditions are those of {name}; --by takes another column.")
            return name
    return ""


def plain_values(column: pd.Series) -> pd.Series:
    """A column of scalars, or of scalars as JSON text, as plain values; whole numbers as such."""

    def plain(value: Any) -> Any:
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except ValueError:
                return value
        if value is None or value != value:
            return None
        if isinstance(value, bool | np.bool_):
            return str(bool(value)).lower()
        if isinstance(value, int | float | np.number):
            number = float(value)
            if not math.isfinite(number):
                return None
            return int(number) if number.is_integer() else number
        return str(value)

    codes, distinct = pd.factorize(column)
    values = np.array([*map(plain, distinct), None], dtype=object)
    kinds = {isinstance(value, str) for value in values[:-1] if value is not None}
    if len(kinds) > 1:  # words and numbers have no order
        values = np.array([None if value is None else str(value) for value in values], dtype=object)
    return pd.Series(values[codes], index=column.index).infer_objects()


def _with_units(items: pd.DataFrame) -> pd.DataFrame:
    """Answers with ``person``, ``wording`` and ``machine_session``: the units of agents that are several
    people, or had several wordings or sessions; empty for others."""
    persons = items["participant"].astype(str)  # no categories: one person's table knows no empty name
    several = items.assign(_person=persons.where(persons != "")).groupby("agent")["_person"].transform("nunique") > 1
    unit = unit_session(items).astype(str)
    often = (items.assign(_unit=unit).groupby("agent")["_unit"].transform("nunique") > 1) & (persons == "")
    worded = unit.str.startswith(WORDING)
    return items.assign(
        person=persons.where(several, ""),
        wording=unit.where(worded & often, ""),
        machine_session=unit.where(~worded & often, ""),
    )


def _rows(items: pd.DataFrame, levels: Mapping[str, np.ndarray]) -> int:
    """How many rows differ in what the model knows; those that do not are one binomial count."""
    return int((~items[["agent", "condition"]].assign(**levels).duplicated()).sum())


def _sampled(items: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """About :data:`MOST_ITEMS` answers: of everybody and every condition as many trials drawn at
    random as fit, the same ones where trials were the same."""
    trial: Any = items["trial_id"].astype(str).where(items["trial_id"] != "", items["unit_trial"].astype(str))
    number, names = pd.factorize(trial)
    drawn = pd.Series(np.random.RandomState(SEED).permutation(len(names))[number], index=items.index)
    place = drawn.groupby([items["agent"], items["participant"], items["condition"]], dropna=False).rank(method="dense")
    most = max(1, int((place.value_counts().sort_index().cumsum() <= MOST_ITEMS).sum()))
    kept = items[place <= most].reset_index(drop=True)
    notes.insert(
        0,
        f"Only {len(kept):,} of {len(items):,} answers are in the model: of everybody and every condition"
        f" {plural(most, 'trial')}, drawn at random (seed {SEED}).",
    )
    return kept


def _levels(items: pd.DataFrame) -> tuple[dict[str, np.ndarray], list[str]]:
    """For each random effect that can be told the level of each answer; and what is not in the
    model."""
    notes: list[str] = []

    def group(names: Sequence[str]) -> np.ndarray:
        return items.groupby(list(names), dropna=False, sort=True).ngroup().to_numpy()

    levels: dict[str, np.ndarray] = {}
    for name, column in (("participant", "person"), ("session", "machine_session"), ("wording", "wording")):
        rows = (items[column] != "").to_numpy()
        if rows.any():
            levels[name] = _from_0(group(["agent", column]), rows)
            within = items[rows].groupby(["agent", column, "condition"]).size()
            if within.groupby(level=["agent", column]).size().gt(1).sum() > 1 and within.mean() >= 2:
                levels[f"{name} x condition"] = _from_0(group(["agent", column, "condition"]), rows)
    several = (items[["person", "machine_session", "wording"]] != "").any(axis=1).to_numpy()
    named = (items["trial_id"] != "").to_numpy()
    key = group(["trial_id", "step", "ask", "serial_position"])
    conditions, cells = items["condition"].nunique(), len(items[["agent", "condition"]].drop_duplicates())
    if _again(key[named], len(items), conditions):
        levels["item"] = _from_0(key, named)
        shared = items[named].groupby(key[named])["agent"].nunique()
        of_agent = group(["trial_id", "step", "ask", "serial_position", "agent"])
        if (shared > 1).sum() >= _AGAIN and _again(of_agent[named], len(items), cells):
            levels["item x agent"] = _from_0(of_agent, named)
    else:
        notes.append(
            "Too few items were answered more than once for a random effect of items: the results hold for these items."
        )
    trial = items["unit_trial"].to_numpy()
    if _again(trial[trial >= 0], len(items), cells):
        levels["trial as taken"] = _from_0(trial, trial >= 0)
    elif len(items) > len(np.unique(trial[trial >= 0])):
        notes.append(
            "Too few trials, or trials that cannot be distinguished: answers of one trial are taken as independent, and"
            " intervals may be too narrow."
        )
    repeated = items[named & ~several].assign(_item=key[named & ~several]).groupby(["agent", "_item"]).size()
    for name, many in repeated[repeated > 1].groupby(level="agent").size().items():
        notes.append(
            f"{name} answered {plural(int(many), 'item')} more than once. If it answers the same every time, its"
            " intervals are too narrow."
        )
    return levels, notes


def _from_0(codes: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Codes without gaps, -1 elsewhere."""
    numbered = np.full(len(codes), -1)
    numbered[where] = np.unique(codes[where], return_inverse=True)[1]
    return numbered


def _again(codes: np.ndarray, answers: int, cells: int) -> bool:
    """Return whether enough levels were met more than once."""
    counts = np.unique(codes, return_counts=True)[1]
    return bool((counts > 1).sum() >= _AGAIN + cells and counts[counts > 1].sum() >= _SHARE * answers)


def _tell(items: pd.DataFrame, table: pd.DataFrame, column: str, notes: list[str]) -> None:
    """Warn of what limits the comparison."""
    many = table.groupby("agent").size()

    def called(agent: str, part: pd.DataFrame) -> str:
        if not column:
            return agent
        there = listed([*map(str, part["condition"])])
        return f"{agent} (every {column})" if len(part) == many[agent] else f"{agent} ({column} {there})"

    for edge, word in ((0.0, "0 %"), (1.0, "100 %")):
        there = [called(str(agent), part) for agent, part in table[table["correct"] == edge].groupby("agent")]
        if there:
            notes.append(
                f"At {word}: {listed(there)}. The data bound how far these are from others on one side only: odds"
                " ratios are partly the prior's, and their intervals open."
            )
    people = items[items["person"] != ""].groupby("agent")["person"].nunique()
    for name, count in people.items():
        if count < FEW:
            notes.append(f"{name}: only {count} participants, so that intervals are rough.")
    told = [*people.index]
    for drawn, what in (("machine_session", "sessions"), ("wording", "wordings of the task")):
        for name, count in items[items[drawn] != ""].groupby("agent")[drawn].nunique().items():
            rough = ", so that intervals are rough" if count < FEW else ""
            notes.append(f"{name}: {count} {what}, which are a random effect{rough}.")
            told.append(name)
    alone = [str(name) for name in table["agent"].unique() if name not in told]
    if alone:
        notes.append(
            f"{listed(alone)}: no participants to vary, so the results hold for"
            f" {in_number(len(alone), 'this one', 'these ones')} alone."
        )
