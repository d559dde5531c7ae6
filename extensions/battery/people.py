"""One row for each participant, a column for each score: a score is a sentence, a unit, and a function
of the rows that it rests on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from spanlab.analysis.data import Rule, decisions_of, decoded, mean_or_nan, of_sessions, plural, score_table
from spanlab.analysis.data.coding import analysed, yes_in
from spanlab.analysis.effects import (
    cowan_k,
    first_recalls,
    in_order,
    lag_rows,
    list_ends,
    pashler_k,
    question_of,
    written,
)
from spanlab.analysis.stats import detection, fit_mixture, spearman_brown
from spanlab.core import SpanLabError, grouped

from .score_table import ScoreTable, alpha, correlation, spread

if TYPE_CHECKING:
    import pandas as pd

    from spanlab.analysis.data import Scored, SessionFacts

#: The rows of a participant in a paradigm: columns as arrays of the same length, among them
#: ``trial`` (a number for each trial).
Rows = Mapping[str, np.ndarray]
#: A mixture is fitted to at least so many answers.
FEWEST_REPORTS = 30


@dataclass(frozen=True)
class Measure:
    """A score of a participant.

    Parameters
    ----------
    name : of its column, after that of the paradigm
    says : what it is, in a sentence
    unit : of its values
    value : the score of some rows, NaN where they do not tell it
    resampled : whether halves of the trials and trials left out tell reliability and standard error
    smooth : whether trials left out tell the standard error: not of medians, quantiles and spans
    """

    name: str
    says: str
    unit: str
    value: Callable[[Rows], float]
    resampled: bool = True
    smooth: bool = True


def _lists(rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each list its length, the items at their right places, and whether the whole list was
    given without anything else."""
    _, first, trial = np.unique(rows["trial"], return_index=True, return_inverse=True)
    length = np.bincount(trial)
    right = np.bincount(trial, weights=rows["correct"])
    return length, right, (right == length) & (rows["edit_distance"][first] == 0)


def _unit(rows: Rows) -> float:
    length, right, _ = _lists(rows)
    return mean_or_nan(right / length)


def _absolute(rows: Rows) -> float:
    length, _, whole = _lists(rows)
    return float(length[whole].sum())


def _longest(rows: Rows) -> float:
    """The longest length of which at least half of the lists were recalled whole; 0 where there is
    none."""
    length, _, whole = _lists(rows)
    return float(max((one for one in np.unique(length) if whole[length == one].mean() >= 0.5), default=0))


def _share(rows: Rows) -> float:
    return mean_or_nan(rows["correct"])


def _share_of_trials(rows: Rows) -> float:
    """The mean over trials of the share of right answers in each, as on pages."""
    _, trial = np.unique(rows["trial"], return_inverse=True)
    return mean_or_nan(np.bincount(trial, rows["correct"]) / np.bincount(trial)) if len(trial) else np.nan


def _ratio(rows: Rows) -> float:
    """How often something was taken, of how often it was possible."""
    possible = float(rows["possible"].sum())
    return float(rows["taken"].sum()) / possible if possible else np.nan


def _time(share: float) -> Callable[[Rows], float]:
    def of(rows: Rows) -> float:
        times = rows["rt_ms"][(rows["correct"] == 1) & np.isfinite(rows["rt_ms"])]
        return float(np.quantile(times, share)) if len(times) else np.nan

    return of


def _counts(rows: Rows) -> tuple[int, int, int, int]:
    """Hits, misses, false alarms and correct rejections; who does not answer misses a signal, and
    is in no count where there was none."""
    signal, right, answered = rows["signal"] == 1, rows["correct"] == 1, rows["omitted"] == 0
    other = ~signal & answered
    return (
        int((signal & right).sum()),
        int((signal & ~right).sum()),
        int((other & ~right).sum()),
        int((other & right).sum()),
    )


def _detected(rows: Rows, name: str) -> float:
    hits, misses, alarms, rejections = _counts(rows)
    if not hits + misses or not alarms + rejections:
        return np.nan
    return float(getattr(detection(hits, misses, alarms, rejections), name))


def _k(formula: Callable[..., float]) -> Callable[[Rows], float]:
    def of(rows: Rows) -> float:
        """The mean of K over set sizes with both kinds of trials."""
        values = []
        for size in np.unique(rows["set_size"]):
            hits, misses, alarms, rejections = _counts(
                {name: column[rows["set_size"] == size] for name, column in rows.items()}
            )
            if hits + misses and alarms + rejections:
                others = alarms + rejections
                values.append(float(formula(size, hits / (hits + misses), alarms / others, others)))
        return mean_or_nan(np.array(values))

    return of


def _errors(rows: Rows) -> np.ndarray:
    """Errors of answers in radians of the whole circle."""
    known = np.isfinite(rows["error"])
    return rows["error"][known] * 2 * np.pi / rows["period"][known]


def _mixed(of: Callable[[Rows], float]) -> Callable[[Rows], float]:
    return lambda rows: of(rows) if len(_errors(rows)) >= FEWEST_REPORTS else np.nan


def _precision(rows: Rows) -> float:
    return float(np.degrees(fit_mixture(_errors(rows)).sd))


def _difference(of: Callable[[Rows], float]) -> Callable[[Rows], float]:
    """A score of the rows of one level (``signal`` 1) minus that of the other's (0)."""

    def value(rows: Rows) -> float:
        one, other = ({name: column[rows["signal"] == level] for name, column in rows.items()} for level in (1, 0))
        return of(one) - of(other)

    return value


#: By the value of an effect that a paradigm's file declares, its unit and its size in one person.
EFFECTS: Mapping[str, tuple[str, Callable[[Rows], float]]] = {
    "correct": ("share, -1 to 1", _difference(_share)),
    "rt_ms": (
        "ms",
        _difference(lambda rows: mean_or_nan(rows["rt_ms"][(rows["correct"] == 1) & np.isfinite(rows["rt_ms"])])),
    ),
    "rt_median": ("ms", _difference(_time(0.5))),
    "d_prime": ("z", lambda rows: _detected(rows, "dprime")),
}
ACCURACY = (
    Measure(
        "accuracy",
        "Share of right answers, the mean over trials; omitted and invalid answers are wrong.",
        "share, 0 to 1",
        _share_of_trials,
    ),
    Measure(
        "omitted",
        "Share of questions without an answer in time, or with an answer that is not allowed.",
        "share, 0 to 1",
        lambda rows: mean_or_nan(rows["omitted"]),
    ),
)
TIMES = (
    Measure("rt_median", "Median reaction time of right answers.", "ms", _time(0.5), smooth=False),
    Measure("rt_p10", "Reaction time below which a tenth of the right answers lies.", "ms", _time(0.1), smooth=False),
    Measure(
        "rt_p90", "Reaction time below which nine tenths of the right answers lie: the slow tail.", "ms", _time(0.9)
    ),
)
LISTS = (
    Measure(
        "pcu",
        "Partial-credit unit score: mean over lists of the share of items at their right places (Conway et al., 2005).",
        "share, 0 to 1",
        _unit,
    ),
    Measure(
        "pcl",
        "Partial-credit load score: share of all items of all lists at their right places, so that long lists count"
        " more.",
        "share, 0 to 1",
        _share,
    ),
    Measure(
        "anu",
        "All-or-nothing unit score: share of lists that were recalled whole, in order.",
        "share, 0 to 1",
        lambda rows: mean_or_nan(_lists(rows)[2].astype(float)),
    ),
    Measure(
        "absolute",
        "Absolute score: sum of the lengths of the lists that were recalled whole, in order.",
        "items",
        _absolute,
    ),
    Measure(
        "span",
        "Span: longest list length of which at least half of the lists were recalled whole; 0 where there is none.",
        "items",
        _longest,
    ),
)
DETECTION = (
    Measure(
        "d_prime",
        "d′ = z(H) − z(F), with half an answer added to each count (log-linear).",
        "z",
        lambda rows: _detected(rows, "dprime"),
    ),
    Measure(
        "criterion",
        "c = −(z(H) + z(F)) / 2; above 0 for somebody who rarely reports a signal.",
        "z",
        lambda rows: _detected(rows, "criterion"),
    ),
)
CAPACITY = (
    Measure("k_cowan", "Cowan's K = N (H − F), for probes of single items; mean over set sizes.", "items", _k(cowan_k)),
    Measure(
        "k_pashler",
        "Pashler's K = N (H − F) / (1 − F), without the bias of few trials, for whole displays; mean over set sizes.",
        "items",
        _k(pashler_k),
    ),
)
REPORT = (
    Measure(
        "error",
        "Mean size of errors of continuous reports, of a whole circle.",
        "degrees",
        lambda rows: mean_or_nan(np.abs(np.degrees(_errors(rows)))),
    ),
    Measure(
        "mixture_sd",
        "Standard deviation of remembered values, by a mixture of von Mises and uniform.",
        "degrees",
        _mixed(_precision),
        resampled=False,
    ),
    Measure(
        "mixture_guesses",
        "Share of guesses, by the same mixture.",
        "share, 0 to 1",
        _mixed(lambda rows: float(fit_mixture(_errors(rows)).p_guess)),
        resampled=False,
    ),
    Measure(
        "mixture_answers",
        f"Answers it rests on; below {FEWEST_REPORTS} it is not fitted.",
        "answers",
        lambda r: len(_errors(r)),
        resampled=False,
    ),
)
_OF_LISTS = "lists of three items or more: right at the"
PRIMACY = Measure("primacy", f"Mean over {_OF_LISTS} first position, minus between the ends.", "share, -1 to 1", _ratio)
RECENCY = Measure("recency", f"Mean over {_OF_LISTS} last position, minus between the ends.", "share, -1 to 1", _ratio)
FIRST, LAST, ON, BACK = (
    Measure(name, says, "share, 0 to 1", _ratio)
    for name, says in (
        ("first_recall_start", "Share of lists of which the first item was recalled first."),
        ("first_recall_end", "Share of lists of which the last item was recalled first."),
        ("lag_crp_forward", "Lag-CRP at lag +1: how often the next item was recalled next, of when it could be."),
        ("lag_crp_backward", "Lag-CRP at lag −1: how often the item before was recalled next, of when it could be."),
    )
)
PROCESSING = (
    Measure(
        "processing_accuracy",
        "Share of right decisions between the items of a complex span; omitted ones are wrong.",
        "share, 0 to 1",
        _share,
    ),
    Measure(
        "processing_rt", "Median reaction time of right decisions between the items.", "ms", _time(0.5), smooth=False
    ),
)


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
    for name, session in dict.fromkeys(field for said in (fields or {}).values() for field in said):
        values = {person: said.get((name, session)) for person, said in (fields or {}).items()}
        table.add(
            f"{name}_{session}" if session else name,
            "What the participant said, or the assistant entered, in this field of the study"
            + (f" in session {session}." if session else "."),
            "as the study declares",
            "participant",
            values,
        )
    scored = score_table(responses)
    items = scored.items
    known = {facts.paradigm: facts for facts in sessions}
    real = responses[analysed(responses) & responses["participant"].fillna("").ne("")]
    for paradigm, rows in real.groupby("paradigm", sort=True, observed=True):
        answered = items[(items["paradigm"] == paradigm) & items["participant"].astype(str).ne("")]
        of_table = str(paradigm) not in known
        effects = () if of_table else _effects(answered, known[str(paradigm)])
        main = replace(scored, items=answered.reset_index(drop=True)).main
        for chosen, which, source in (
            *_kinds(main.items, rows, str(paradigm), of_table),
            *_ends(main),
            *_recalls(main),
            *effects,
        ):
            _add_measures(table, str(paradigm), chosen, which, source, errors)
        _add_scales(table, str(paradigm), rows, alone=not len(answered))
    _add_conduct(table, sessions)
    return table


def _kinds(
    items: pd.DataFrame, rows: pd.DataFrame, paradigm: str, of_table: bool
) -> Iterator[tuple[pd.DataFrame, tuple[Measure, ...], str]]:
    """The rows that measures rest on, the measures, and the rows in words; tables that nobody recorded here
    (``of_table``) have no edit distance."""
    if len(items):
        yield items, (*ACCURACY, *TIMES), "scored answers"
        ordered = items[in_order(items)] if {"edit_distance", "output_position"} <= {*items.columns} else items.iloc[:0]
        if not len(ordered) and of_table:
            ordered = _in_series(items)
        if len(ordered):
            yield ordered, LISTS, "answers in order"
        if "error" in items.columns and items["error"].notna().any():
            yield items, REPORT, "continuous reports"
        elif not len(ordered):
            yield from _detections(items, paradigm)
    idle = rows[decisions_of(rows)]
    if len(idle):
        yield idle, PROCESSING, "decisions that need no memory (set size 0)"


def _ends(scored: Scored) -> Iterator[tuple[pd.DataFrame, tuple[Measure, ...], str]]:
    """How far the ends of lists stand out."""
    ends = list_ends(scored.items)
    ends = ends.assign(taken=ends["stands_out"], possible=1.0)
    for measure in (PRIMACY, RECENCY):
        yield ends[ends["index"] == measure.name], (measure,), "lists with every position"


def _recalls(scored: Scored) -> Iterator[tuple[pd.DataFrame, tuple[Measure, ...], str]]:
    """What was recalled first, and next, in free recall."""
    first, then = first_recalls(scored).items, lag_rows(scored).items
    first = first.assign(taken=first["correct"], possible=1.0)
    place = first["serial_position"]
    for measure, rows in (
        (FIRST, first[place == 1]),
        (LAST, first[place == first["list_length"]]),
        (ON, then[then["lag"] == 1]),
        (BACK, then[then["lag"] == -1]),
    ):
        yield rows, (measure,), "free recall"


def _in_series(items: pd.DataFrame) -> pd.DataFrame:
    """Lists of which every item was asked for in its place."""
    listed = items[items["serial_position"].notna() & items["output_position"].isna()]
    whole = listed.groupby("unit_trial")["list_length"].transform("size") == listed["list_length"]
    several = listed.get("correct_answer", listed["unit_trial"].iloc[:0]).nunique() > 2
    return listed[whole & listed["list_length"].gt(1)].assign(edit_distance=0.0) if several else listed.iloc[:0]


def _detections(items: pd.DataFrame, paradigm: str) -> Iterator[tuple[pd.DataFrame, tuple[Measure, ...], str]]:
    """Yes-no questions, with what was true in ``signal``."""
    try:
        (signal, other), sensitivity = question_of(items, (), paradigm, "score")
    except SpanLabError:
        return
    if sensitivity.kind == "detection":
        asked = items.assign(signal=decoded(items["correct_answer"]).eq(signal).to_numpy(float))
        sized = (signal, other) == ("different", "same") and bool(items["set_size"].gt(0).all())
        yield (
            asked,
            (*DETECTION, *(CAPACITY if sized else ())),
            f"questions whose signal is '{signal}'",
        )


def _effects(items: pd.DataFrame, facts: SessionFacts) -> Iterator[tuple[pd.DataFrame, tuple[Measure, ...], str]]:
    """The effects that the paradigm's file declares: rows of two levels, with the first of them as ``signal``."""
    for effect in facts.declared.effects.values():
        unit, value = EFFECTS[effect.value]
        if effect.of not in items.columns:
            continue
        words = written(items[effect.of])
        for one, other in effect.pairs:
            name = effect.name if len(effect.pairs) == 1 else f"{effect.name}_{one}"
            says = f"{effect.caption} {one} minus {other}, over all other conditions.".strip()
            kept = words.isin([one, other]).to_numpy(bool) & effect.concerned(items)
            compared = items.assign(signal=words.eq(one).to_numpy(float))[kept]
            yield (
                compared,
                (Measure(name, says, unit, value, smooth=effect.value != "rt_median"),),
                f"scored answers of {one} and {other}",
            )


def arrays(rows: pd.DataFrame) -> Rows:
    """Rows as arrays, with ``trial`` numbered from 0 in the order in which trials came, ``correct``
    as 0 and 1, and ``omitted``."""
    import pandas as pd

    numbers = {
        name: pd.to_numeric(rows.get(name, pd.Series(np.nan, index=rows.index)), errors="coerce").to_numpy(float)
        for name in ("set_size", "edit_distance", "error", "period", "rt_ms", "signal", "taken", "possible")
    }
    keys = [name for name in ("session", "block", "trial", "trial_id", "row_trial") if name in rows.columns]
    outcome = rows.get("outcome", pd.Series("answered", index=rows.index)).astype(str)
    return {
        **numbers,
        "trial": rows.groupby(keys, sort=False, dropna=False, observed=True).ngroup().to_numpy(),
        "session": pd.factorize(rows["session"].astype(str), sort=True)[0],
        "correct": yes_in(rows, "correct").to_numpy(float),
        "omitted": outcome.isin(["omitted", "invalid"]).to_numpy(float),
    }


def _some(rows: Rows, which: np.ndarray | slice) -> Rows:
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
    # all rows at once, and then each person's: thousands of people would take minutes
    taken = rows.groupby("participant", sort=True, observed=True).indices
    together = dict(_some(arrays(rows), np.concatenate([np.empty(0, int), *taken.values()])))
    cuts = np.cumsum([0, *map(len, taken.values())])
    who = np.arange(len(taken)).repeat(np.diff(cuts))
    for name in ("trial", "session"):  # numbered from 0 for each person
        number = np.unique(who * (int(together[name].max(initial=0)) + 1) + together[name], return_inverse=True)[1]
        together[name] = number - np.minimum.reduceat(number, cuts[:-1])[who]
    everybody = {
        str(person): _some(together, slice(start, end))
        for person, (start, end) in zip(taken, pairwise(cuts.tolist()), strict=True)
    }
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
        if errors and measure.resampled and measure.smooth and column in table.codebook:
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

    nothing = pd.Series(None, index=rows.index)
    rated = rows.get("scale_to", nothing).notna() & rows.get("correct_answer", nothing).isna()
    if not rated.any():
        return
    rows = rows[rated]
    scales = pd.Series("rating" if alone else "confidence", index=rows.index)
    if "record_scale" in rows.columns:
        scales = rows["record_scale"].map(_plain)
    reverse = rows.get("record_reverse", pd.Series(False, index=rows.index)).map(_plain).eq(True)
    given = pd.to_numeric(rows["answer"], errors="coerce")
    turned = given.where(~reverse, rows["scale_from"].astype(float) + rows["scale_to"].astype(float) - given)
    for scale, values in turned.groupby(scales, sort=True):
        item = rows.get("record_item", rows.get("phase", scales))[values.index].astype(str)
        wide = values.groupby([rows.loc[values.index, "participant"].astype(str), item]).mean().unstack()
        whole = wide.dropna().to_numpy(float)
        qualities = {"alpha": alpha(whole)} if alone or "record_scale" in rows.columns else {}
        turned_round = int(reverse[values.index].groupby(item).any().sum())
        says = f"Mean rating of {plural(wide.shape[1], 'item')}" + (
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
    for paradigm, listed in grouped(
        (facts.paradigm, facts) for facts in sessions if facts.participant and not facts.pilot
    ).items():

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
    problems, rule = dict[str, int](), Rule(leave_out="sessions", where="timing", above=0)
    for facts in sessions:
        with suppress(SpanLabError):
            problems |= of_sessions((facts,), (rule,)).timing
    return problems


def _bit(passed: bool | None) -> int | None:
    return None if passed is None else int(passed)
