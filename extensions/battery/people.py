"""One row for each participant, a column for each score, and a codebook that says what each column
is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from spanlab.analysis.data import decisions_of, of_sessions, score_table
from spanlab.analysis.effects import in_order, in_words, question_of
from spanlab.analysis.stats import spearman_brown
from spanlab.core import SpanLabError, grouped

from . import measures
from .measures import Measure, Rows

if TYPE_CHECKING:
    import pandas as pd

    from spanlab.analysis.data import Rule, SessionFacts

CODEBOOK = (
    "column",
    "says",
    "unit",
    "source",
    "people",
    "mean",
    "sd",
    "reliability",
    "reliability_sessions",
    "alpha",
    "omega",
    "sem",
)
#: A correlation over people needs so many of them.
_FEWEST = 4


@dataclass
class ScoreTable:
    """The scores of participants.

    Parameters
    ----------
    rows : of each participant the values of the columns
    codebook : of each column its sentence, unit and source, and its mean, spread and reliability
        over people
    simulated : what is said of simulated participants, who are left out, or have these scores;
        empty where none took part
    """

    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    codebook: dict[str, dict[str, Any]] = field(default_factory=dict)
    simulated: str = ""

    def add(
        self, column: str, says: str, unit: str, source: str, values: Mapping[str, Any], **qualities: float
    ) -> None:
        """Add a column; one in which nobody has a value is left out."""
        known = {person: value for person, value in values.items() if value is not None and value == value}
        if not known:
            return
        self.codebook[column] = (
            {"column": column, "says": says, "unit": unit, "source": source, "people": len(known)}
            | spread(known.values())
            | qualities
        )
        for person, value in known.items():
            self.rows.setdefault(person, {})[column] = value

    def table(self) -> pd.DataFrame:
        """The wide table: a row for each participant, in the order of their names."""
        import pandas as pd

        people = sorted(self.rows)
        return pd.DataFrame(
            {"participant": people}
            | {column: [self.rows[person].get(column) for person in people] for column in self.codebook}
        )

    def codes(self) -> pd.DataFrame:
        """The codebook: a row for each column but ``participant``."""
        import pandas as pd

        return pd.DataFrame(list(self.codebook.values()), columns=[*CODEBOOK])


def spread(values: Any) -> dict[str, float]:
    """Mean and standard deviation of numbers; nothing of words."""
    numbers = [
        float(value) for value in values if isinstance(value, int | float | np.number) and not isinstance(value, bool)
    ]
    return (
        {"mean": float(np.mean(numbers)), "sd": float(np.std(numbers, ddof=1)) if len(numbers) > 1 else np.nan}
        if numbers
        else {}
    )


def correlation(first: Mapping[str, float], second: Mapping[str, float]) -> float:
    """Pearson's r over those who have both values; NaN of fewer than four people, or where they do
    not differ."""
    both = np.array(
        [
            (first[one], second[one])
            for one in first
            if one in second and first[one] == first[one] and second[one] == second[one]
        ],
        float,
    )
    if len(both) < _FEWEST or np.ptp(both[:, 0]) == 0 or np.ptp(both[:, 1]) == 0:
        return np.nan
    return float(np.corrcoef(both.T)[0, 1])


def scores_by_person(
    responses: pd.DataFrame,
    sessions: Sequence[SessionFacts] = (),
    fields: Mapping[str, Mapping[tuple[str, int], Any]] | None = None,
    *,
    errors: bool = True,
) -> ScoreTable:
    """Return the scores of everybody who has a participant's name.

    Parameters
    ----------
    responses : response table of one or many sessions, with all of its columns
    sessions : what is known of the sessions beside their answers
    fields : what each participant said of themselves, by the name of the field and the session in
        which it was asked, 0 for what is asked once
    errors : compute the standard error of every score, which takes most of the time
    """
    table = ScoreTable()
    asked = dict.fromkeys(field for said in (fields or {}).values() for field in said)
    for name, session in asked:
        values = {person: said.get((name, session)) for person, said in (fields or {}).items()}
        table.add(
            f"{name}_{session}" if session else name,
            "What the participant said, or the assistant entered, in this field of the study"
            + (f" in session {session}." if session else "."),
            "as the study declares",
            "participant",
            values,
        )
    items = score_table(responses).items
    known = {facts.paradigm: facts for facts in sessions}
    real = responses[
        ~_true(responses, "practice") & ~_true(responses, "pilot") & responses["participant"].fillna("").ne("")
    ]
    for paradigm, rows in real.groupby("paradigm", sort=True, observed=True):
        answered = items[(items["paradigm"] == paradigm) & items["participant"].astype(str).ne("")]
        effects = _effects(answered, known[str(paradigm)]) if str(paradigm) in known else ()
        for chosen, which, source in (*_kinds(answered, rows, str(paradigm)), *effects):
            _add_measures(table, str(paradigm), chosen, which, source, errors)
        _add_scales(table, str(paradigm), rows, alone=not len(answered))
    _add_conduct(table, sessions)
    return table


def _true(rows: pd.DataFrame, name: str) -> pd.Series:
    import pandas as pd

    return (
        rows[name].eq(True).fillna(False).astype(bool) if name in rows.columns else pd.Series(False, index=rows.index)
    )


def _kinds(
    items: pd.DataFrame, rows: pd.DataFrame, paradigm: str
) -> Iterator[tuple[pd.DataFrame, tuple[Measure, ...], str]]:
    """The rows that measures rest on, the measures, and the rows in words."""
    if len(items):
        yield items, (*measures.ACCURACY, *measures.TIMES), "scored answers"
        ordered = items[in_order(items)] if {"edit_distance", "output_position"} <= {*items.columns} else items.iloc[:0]
        if len(ordered):
            yield ordered, measures.LISTS, "answers in order"
        if "error" in items.columns and items["error"].notna().any():
            yield items, measures.REPORT, "continuous reports"
        elif not len(ordered):
            yield from _detections(items, paradigm)
    idle = rows[decisions_of(rows)]
    if len(idle):
        yield idle, measures.PROCESSING, "decisions that need no memory (set size 0)"


def _detections(items: pd.DataFrame, paradigm: str) -> Iterator[tuple[pd.DataFrame, tuple[Measure, ...], str]]:
    """Yes-no questions, with what was true in ``signal``."""
    try:
        (signal, other), sensitivity = question_of(items, (), paradigm, "score")
    except SpanLabError:
        return
    if sensitivity.kind == "detection":
        asked = items.assign(signal=[float(json.loads(str(text)) == signal) for text in items["correct_answer"]])
        sized = (signal, other) == ("different", "same") and bool(items["set_size"].gt(0).all())
        yield (
            asked,
            (*measures.DETECTION, *(measures.CAPACITY if sized else ())),
            f"questions whose signal is '{signal}'",
        )


def _effects(items: pd.DataFrame, facts: SessionFacts) -> Iterator[tuple[pd.DataFrame, tuple[Measure, ...], str]]:
    """The effects that the paradigm's file declares: rows of two levels, with the first of them as ``signal``."""
    for effect in facts.declared.effects.values():
        unit, value = measures.EFFECTS[effect.value]
        if effect.of not in items.columns:
            continue
        words = in_words(items[effect.of])
        for one, other in effect.pairs:
            name = effect.name if len(effect.pairs) == 1 else f"{effect.name}_{one}"
            says = f"{effect.caption} {one} minus {other}, over all other conditions.".strip()
            compared = items.assign(signal=words.eq(one).to_numpy(float))[words.isin([one, other]).to_numpy(bool)]
            yield compared, (Measure(name, says, unit, value),), f"scored answers of {one} and {other}"


def arrays(rows: pd.DataFrame) -> Rows:
    """Rows as arrays, with ``trial`` numbered from 0 in the order in which trials came, ``correct``
    as 0 and 1, and ``omitted``."""
    import pandas as pd

    numbers = {
        name: pd.to_numeric(rows[name], errors="coerce").to_numpy(float)
        if name in rows.columns
        else np.full(len(rows), np.nan)
        for name in ("set_size", "edit_distance", "error", "period", "rt_ms", "signal")
    }
    keys = [name for name in ("session", "block", "trial", "trial_id", "row_trial") if name in rows.columns]
    outcome = rows["outcome"].astype(str) if "outcome" in rows.columns else pd.Series("answered", index=rows.index)
    right = _true(rows, "correct").to_numpy(float)
    return {
        **numbers,
        "trial": rows.groupby(keys, sort=False, dropna=False, observed=True).ngroup().to_numpy(),
        "session": pd.factorize(rows["session"].astype(str), sort=True)[0],
        "correct": right,
        "omitted": outcome.isin(["omitted", "invalid"]).to_numpy(float),
    }


def _some(rows: Rows, which: np.ndarray) -> Rows:
    return {name: column[which] for name, column in rows.items()}


def jackknife(measure: Measure, rows: Rows) -> float:
    """Standard error of a score: from the scores without each of the trials in turn; NaN of fewer
    than two trials."""
    trials = int(rows["trial"].max()) + 1
    if trials < 2:
        return np.nan
    without = np.array([measure.value(_some(rows, rows["trial"] != trial)) for trial in range(trials)])
    return float(np.sqrt((trials - 1) / trials * ((without - without.mean()) ** 2).sum()))


def _add_measures(
    table: ScoreTable, paradigm: str, rows: pd.DataFrame, which: Sequence[Measure], source: str, errors: bool
) -> None:
    """Add the columns of measures, each with its standard error if it is wanted, and their
    reliability."""
    everybody = {str(person): arrays(own) for person, own in rows.groupby("participant", sort=True, observed=True)}
    halves = [{person: _some(own, own["trial"] % 2 == half) for person, own in everybody.items()} for half in (0, 1)]
    visits = [
        {person: _some(own, own["session"] == visit) for person, own in everybody.items() if own["session"].max() > 0}
        for visit in (0, 1)
    ]
    for measure in which:
        column = f"{paradigm}_{measure.name}"
        values = {person: measure.value(own) for person, own in everybody.items()}
        qualities: dict[str, float] = {}
        if measure.resampled:
            first, second = (
                {person: measure.value(own) for person, own in half.items() if len(own["trial"])} for half in halves
            )
            r = correlation(first, second)
            qualities["reliability"] = stepped = spearman_brown(r) if r == r else np.nan
            early, late = ({person: measure.value(own) for person, own in visit.items()} for visit in visits)
            qualities["reliability_sessions"] = correlation(early, late)
            qualities["sem"] = spread([one for one in values.values() if one == one]).get("sd", np.nan) * float(
                np.sqrt(1 - min(stepped, 1.0))
            )
        table.add(column, measure.says, measure.unit, f"{paradigm}: {source}", values, **qualities)
        if errors and measure.resampled and column in table.codebook:
            spreads = {person: jackknife(measure, own) for person, own in everybody.items()}
            table.add(
                f"{column}_se",
                f"Standard error of {column}, by leaving out each trial in turn.",
                measure.unit,
                f"{paradigm}: {source}",
                spreads,
            )


def _add_scales(table: ScoreTable, paradigm: str, rows: pd.DataFrame, alone: bool) -> None:
    """Add means of ratings: of each scale that the paradigm records (``scale``, ``reverse``), or of
    all ratings; beside answers they are confidence."""
    import pandas as pd

    if "scale_to" not in rows.columns or not (rated := rows["scale_to"].notna() & rows["correct_answer"].isna()).any():
        return
    rows = rows[rated]
    scales = (
        rows["record_scale"].map(_plain)
        if "record_scale" in rows.columns
        else pd.Series("rating" if alone else "confidence", index=rows.index)
    )
    reverse = (
        rows["record_reverse"].map(_plain).eq(True)
        if "record_reverse" in rows.columns
        else pd.Series(False, index=rows.index)
    )
    given = pd.to_numeric(rows["answer"], errors="coerce")
    turned = given.where(~reverse, rows["scale_from"].astype(float) + rows["scale_to"].astype(float) - given)
    for scale, values in turned.groupby(scales, sort=True):
        item = rows.loc[values.index, "record_item" if "record_item" in rows.columns else "phase"].astype(str)
        wide = values.groupby([rows.loc[values.index, "participant"].astype(str), item]).mean().unstack()
        whole = wide.dropna().to_numpy(float)
        qualities = {"alpha": alpha(whole), "omega": omega(whole)} if alone or "record_scale" in rows.columns else {}
        turned_round = int(reverse[values.index].groupby(item).any().sum())
        says = f"Mean rating of {wide.shape[1]} {'item' if wide.shape[1] == 1 else 'items'}" + (
            f", {turned_round} of them reversed." if turned_round else "."
        )
        means = {
            str(person): float(mean) for person, mean in values.groupby(rows["participant"].astype(str)).mean().items()
        }
        table.add(f"{paradigm}_{scale}", says, "steps of the scale", f"{paradigm}: ratings", means, **qualities)


def _plain(value: object) -> object:
    """A recorded value, which stands in the table as JSON text."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _add_conduct(table: ScoreTable, sessions: Sequence[SessionFacts]) -> None:
    """Add how sessions went: practice, quiz, attention checks, interruptions, the timing verdict
    and the device."""
    timing = _timing_problems(sessions)
    by_task = grouped((facts.paradigm, facts) for facts in sessions if facts.participant and not facts.pilot)
    for paradigm, listed in by_task.items():

        def add(name: str, says: str, unit: str, values: Mapping[str, Any], paradigm: str = paradigm) -> None:
            table.add(f"{paradigm}_{name}", says, unit, f"{paradigm}: events of the session", values)

        last = {facts.participant: facts for facts in sorted(listed, key=lambda facts: facts.started)}
        add(
            "practice_passed",
            "Whether practice was passed at last.",
            "1 yes, 0 no",
            {person: _bit(facts.conduct.practice) for person, facts in last.items()},
        )
        add(
            "quiz_passed",
            "Whether the quiz was passed at last.",
            "1 yes, 0 no",
            {person: _bit(facts.conduct.quiz) for person, facts in last.items()},
        )
        sums: dict[str, dict[str, list[float]]] = {}
        for facts in listed:
            of = sums.setdefault(facts.participant, {})
            for name, value in {
                "right": facts.conduct.checks,
                "asked": facts.conduct.checked,
                "cut": sum(facts.conduct.cuts.values()),
                "resumed": facts.conduct.resumed,
                "pauses": facts.conduct.pauses,
                "paused_ms": facts.conduct.paused_ms,
            }.items():
                of.setdefault(name, []).append(value)
            if facts.name in timing:
                of.setdefault("timing", []).append(timing[facts.name])
        total = {person: {name: sum(values) for name, values in of.items()} for person, of in sums.items()}
        checks = {person: of["right"] / of["asked"] for person, of in total.items() if of["asked"]}
        add("attention_checks", "Share of attention checks that were answered correctly.", "share, 0 to 1", checks)
        add(
            "cut_trials",
            "Trials that were cut off within a step (a pause, a hidden page) and replaced.",
            "trials",
            {p: of["cut"] for p, of in total.items()},
        )
        add(
            "resumed",
            "How often a session went on after it had ended early.",
            "times",
            {person: of["resumed"] for person, of in total.items()},
        )
        add("pauses", "Pauses between trials.", "pauses", {person: of["pauses"] for person, of in total.items()})
        add(
            "paused_s",
            "Time that these pauses took.",
            "s",
            {person: of["paused_ms"] / 1000 for person, of in total.items()},
        )
        problems = {person: of["timing"] for person, of in total.items() if "timing" in of}
        add("timing", "Problems that the timing verdict of the sessions names; 0 is a pass.", "problems", problems)
        add(
            "device",
            "Where the task was taken: the browser, else a window.",
            "name",
            {person: facts.browser or "window" for person, facts in last.items()},
        )


def _timing_problems(sessions: Sequence[SessionFacts]) -> dict[str, int]:
    """Count the problems that the timing verdict of each session names, without sessions that have
    no verdict, such as those without a trial."""
    problems: dict[str, int] = {}
    for facts in sessions:
        with suppress(SpanLabError):
            problems |= of_sessions((facts,), (_timing_rule(),)).timing
    return problems


def _bit(passed: bool | None) -> int | None:
    return None if passed is None else int(passed)


def _timing_rule() -> Rule:
    from spanlab.analysis.data import Rule

    return Rule(leave_out="sessions", where="timing", above=0)


#: Below this change of communalities the factor is final.
_FINAL = 1e-13


def alpha(answers: np.ndarray) -> float:
    """Cronbach's alpha: k / (k − 1) × (1 − sum of the items' variances / variance of their sum);
    NaN of fewer than two items, or without spread.

    Parameters
    ----------
    answers : a row for each person, a column for each item; reversed items turned round
    """
    people, items = answers.shape
    if items < 2 or people < 3:
        return np.nan
    whole = answers.sum(axis=1).var(ddof=1)
    return float(items / (items - 1) * (1 - answers.var(axis=0, ddof=1).sum() / whole)) if whole > 0 else np.nan


def omega(answers: np.ndarray) -> float:
    """McDonald's omega of one common factor of the covariances, by least squares: (sum of
    loadings)² over that plus the sum of what is unique.

    NaN of fewer than three items, without spread, or where an item has no unique variance left.

    Parameters
    ----------
    answers : a row for each person, a column for each item; reversed items turned round
    """
    people, items = answers.shape
    if items < 3 or people < 4 or (answers.var(axis=0) == 0).any():
        return np.nan
    covariance = np.cov(answers.T)
    common = np.diag(covariance) / 2
    loadings = np.sqrt(common)
    for _ in range(100_000):
        reduced = covariance - np.diag(np.diag(covariance) - common)
        values, vectors = np.linalg.eigh(reduced)
        loadings = vectors[:, -1] * np.sqrt(max(values[-1], 0.0))
        change = float(np.abs(loadings**2 - common).max())
        common = loadings**2
        if change < _FINAL * float(np.diag(covariance).max()):
            break
    unique = np.diag(covariance) - common
    if (unique < 0).any():
        return np.nan
    general = float(loadings.sum() ** 2)
    return general / (general + float(unique.sum()))
