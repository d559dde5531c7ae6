"""Scores of models that took the same trials in several wordings, read from the sessions of set
files."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spanlab.core import SpanLabError, as_object

from .model import FEWEST, Components, Pooled, components, pooled

if TYPE_CHECKING:
    import pandas as pd

    from spanlab.analysis.data import Data

#: A model or a session of which a larger share of replies could not be read is compared with
#: nobody.
WITHHELD = 0.20
_LEVEL = 0.05


@dataclass(frozen=True)
class WordedModel:
    """A model in one paradigm: the agent of an inference over wordings.

    Parameters
    ----------
    name : the agent, with the name of its settings where the set file has several
    scores : wordings x repeats x trials, the share of right answers of each trial
    wordings, trials : their names
    strata : the condition of each trial
    unread : share of replies that could not be read, in all and in the session with the most
    if_guessed : the mean if each unread reply were a guess; NaN where chance is unknown
    left_out : trials that some session lacks
    sessions : of each wording, those that ``scores`` are of
    """

    paradigm: str
    name: str
    scores: np.ndarray
    wordings: tuple[str, ...]
    trials: tuple[str, ...]
    strata: tuple[int, ...]
    unread: tuple[float, float]
    if_guessed: float
    left_out: int
    sessions: tuple[tuple[str, ...], ...]

    @property
    def pooled(self) -> Pooled | None:
        return pooled(self.scores, self.strata)

    def answers(self, wordings: Sequence[str]) -> dict[str, Any]:
        """Answers behind the scores in some wordings, as marks of a figure state them."""
        sessions = [
            name
            for wording, names in zip(self.wordings, self.sessions, strict=True)
            for name in names
            if wording in wordings
        ]
        trials = {"trial_id": list(self.trials)} if self.left_out else {}
        return {"paradigm": self.paradigm, "where": [{"session": sessions, **trials}]}

    @property
    def components(self) -> Components:
        return components(self.scores, self.strata)


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of two models over wordings and trials; ``p_holm`` is corrected over the pairs
    of its paradigm, ``verdict`` says which way it is."""

    paradigm: str
    first: str
    second: str
    wordings: int
    pooled: Pooled | None
    p_holm: float
    verdict: str
    note: str


def worded_models(data: Data) -> list[WordedModel]:
    """Return the models that took the same trials in several wordings, by paradigm and name."""
    from spanlab.sessions import read_session

    links: dict[str, tuple[str, str, int]] = {}
    for facts in data.sessions:
        info: Mapping[str, Any] = read_session(facts.folder)
        link = as_object(info.get("evaluation"))
        if link.get("wording"):
            name = str(info["agent"]) + (f" ({link['settings']})" if link.get("settings") else "")
            links[facts.name] = (name, str(link["wording"]), int(link["repeat"]))
    items = data.scored.items
    items = items[items["session"].astype(str).isin(links)]
    if not len(items):
        return []
    which = [links[str(name)] for name in items["session"]]
    table = items.assign(
        **{
            "_model": [link[0] for link in which],
            "_wording": [link[1] for link in which],
            "_repeat": [link[2] for link in which],
        },
        _unread=items["outcome"].eq("invalid").to_numpy(float),
        _condition=_conditions(items),
    )
    return [
        _model(str(paradigm), str(name), part)
        for (paradigm, name), part in table.groupby([table["paradigm"].astype(str), "_model"], sort=True)
    ]


def _conditions(items: pd.DataFrame) -> list[str]:
    """The condition of each row's trial: what its level of set size, list length and other factors
    is."""
    names = [
        *(name for name in ("set_size", "list_length", "retention_steps") if name in items.columns),
        *(str(name) for name in items.columns if str(name).startswith("factor_")),
    ]
    shown = (
        items[[name for name in names if items.groupby("trial_id")[name].nunique().max() == 1]] if names else items[[]]
    )
    return (
        ["|".join(map(str, row)) for row in shown.itertuples(index=False, name=None)]
        if len(shown.columns)
        else [""] * len(items)
    )


def _model(paradigm: str, name: str, part: pd.DataFrame) -> WordedModel:
    cells = part.pivot_table(
        index="trial_id", columns=["_wording", "_repeat"], values="correct", aggfunc="mean", observed=True
    )
    repeats = {wording: sum(1 for other, _ in cells.columns if other == wording) for wording, _ in cells.columns}
    most = min(repeats.values())
    wordings = tuple(sorted(repeats))
    whole = cells.dropna()
    scores = (
        np.stack([whole[wording].to_numpy(float).T[:most] for wording in wordings])
        if len(whole)
        else np.empty((len(wordings), most, 0))
    )
    conditions = part.drop_duplicates("trial_id").set_index("trial_id")["_condition"]
    _, strata = np.unique([str(conditions[trial]) for trial in whole.index], return_inverse=True)
    unread = float(part["_unread"].mean()), float(part.groupby(part["session"].astype(str))["_unread"].mean().max())
    names = part.groupby(["_wording", "_repeat"], observed=True)["session"].unique()
    sessions = tuple(tuple(map(str, itertools.chain(*names[wording][:most]))) for wording in wordings)
    chance = part["chance"].to_numpy(float) if "chance" in part.columns else np.full(len(part), np.nan)
    guessed = np.where(part["_unread"].to_numpy() > 0, chance, part["correct"].to_numpy(float))
    return WordedModel(
        paradigm,
        name,
        scores,
        wordings,
        tuple(map(str, whole.index)),
        tuple(int(number) for number in strata),
        unread,
        float(guessed.mean()),
        len(cells) - len(whole),
        sessions,
    )


def differences(models: Sequence[WordedModel], accept_unread: bool = False) -> list[Difference]:
    """Return the difference of every two models of a paradigm."""
    compared: list[Difference] = []
    for _, group in itertools.groupby(models, lambda model: model.paradigm):
        pairs = [_difference(first, second, accept_unread) for first, second in itertools.combinations(group, 2)]
        corrected = iter(_holm([pair.pooled.p for pair in pairs if pair.pooled is not None]))
        compared += [pair if pair.pooled is None else _decided(pair, next(corrected)) for pair in pairs]
    return compared


def _difference(first: WordedModel, second: WordedModel, accept_unread: bool) -> Difference:
    common = [name for name in first.wordings if name in second.wordings]
    trials = [trial for trial in first.trials if trial in second.trials]
    note = ""
    if not accept_unread:
        many = [_unread(model) for model in (first, second) if max(model.unread) > WITHHELD]
        note = f"{' and '.join(many)} could not be read" if many else ""
    if not note and len(common) < FEWEST:
        note = f"{len(common)} common wordings; {FEWEST} are needed"
    if note or not trials:
        return Difference(
            first.paradigm, first.name, second.name, len(common), None, np.nan, "", note or "no common trials"
        )
    away = _cells(first, common, trials) - _cells(second, common, trials)
    strata = [first.strata[first.trials.index(trial)] for trial in trials]
    value = pooled(away[:, None, :], strata)
    return Difference(
        first.paradigm,
        first.name,
        second.name,
        len(common),
        value,
        np.nan,
        "",
        "" if value else "no condition has two trials",
    )


def _unread(model: WordedModel) -> str:
    """The share of replies for which a model is not compared: of all, or of its worst session."""
    share, worst = model.unread
    if share > WITHHELD:
        return f"{share:.0%} of {model.name}'s replies"
    return f"{worst:.0%} of the replies in a session of {model.name}"


def _cells(model: WordedModel, wordings: Sequence[str], trials: Sequence[str]) -> np.ndarray:
    """Scores of a model, averaged over repeats: wordings x trials."""
    rows, columns = [model.wordings.index(name) for name in wordings], [model.trials.index(name) for name in trials]
    return model.scores.mean(axis=1)[np.ix_(rows, columns)]


def _holm(values: Sequence[float]) -> list[float]:
    """P values with the correction of Holm (1979); one that is unknown stays so."""
    order = sorted((value, at) for at, value in enumerate(values) if value == value)
    corrected, largest = list(values), 0.0
    for rank, (value, at) in enumerate(order):
        largest = max(largest, min(1.0, value * (len(order) - rank)))
        corrected[at] = largest
    return corrected


def _decided(pair: Difference, p: float) -> Difference:
    assert pair.pooled is not None
    verdict = ("better" if pair.pooled.mean > 0 else "worse") if p < _LEVEL else "no difference shown"
    return Difference(pair.paradigm, pair.first, pair.second, pair.wordings, pair.pooled, p, verdict, pair.note)


def model_table(models: Sequence[WordedModel]) -> pd.DataFrame:
    """Return a row for each model, the best of each paradigm first: its mean over wordings and
    trials, and its variances."""
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for model in models:
        value, parts = model.pooled, model.components
        rows.append(
            {
                "paradigm": model.paradigm,
                "agent": model.name,
                "wordings": len(model.wordings),
                "repeats": model.scores.shape[1],
                "trials": len(model.trials),
                "mean": float(model.scores.mean()) if model.scores.size else np.nan,
                "low": value.low if value else np.nan,
                "high": value.high if value else np.nan,
                "unread": model.unread[0],
                "if_guessed": model.if_guessed,
                "var_wording": parts.wording,
                "var_repeat": np.nan if parts.repeat is None else parts.repeat,
                "var_trial": parts.trial,
                "var_wording_trial": parts.both,
                "var_sampling": np.nan if parts.sampling is None else parts.sampling,
                "trials_left_out": model.left_out,
            }
        )
    table = pd.DataFrame(rows)
    return table.sort_values(["paradigm", "mean"], ascending=[True, False], kind="stable", ignore_index=True)


def difference_table(pairs: Sequence[Difference]) -> pd.DataFrame:
    """Return a row for each pair of models."""
    import pandas as pd

    nothing = Pooled(np.nan, np.nan, np.nan, np.nan, np.nan)
    rows = []
    for pair in pairs:
        value = pair.pooled or nothing
        of_pair = {"paradigm": pair.paradigm, "agent": pair.first, "than": pair.second, "wordings": pair.wordings}
        of_value = {"difference": value.mean, "low": value.low, "high": value.high, "df": value.df, "p": value.p}
        rows.append({**of_pair, **of_value, "p_holm": pair.p_holm, "verdict": pair.verdict, "note": pair.note})
    columns = [
        "paradigm",
        "agent",
        "than",
        "wordings",
        "difference",
        "low",
        "high",
        "df",
        "p",
        "p_holm",
        "verdict",
        "note",
    ]
    return pd.DataFrame(rows, columns=columns)


def gathered(paths: Sequence[Path], accept_unread: bool = False) -> tuple[list[WordedModel], list[Difference], Data]:
    """Return models, differences and the data that they come from.

    Raises
    ------
    SpanLabError
        when no session belongs to a set file with wordings.
    """
    from spanlab.analysis.data import load

    data = load(paths)
    models = worded_models(data)
    if not models:
        raise SpanLabError(
            "no session here was taken in one of several wordings: give a set file the key 'wordings' (spanlab wordings"
            " --write FOLDER has some)"
        )
    return models, differences(models, accept_unread), data
