"""Rules that exclude answers, trials, sessions or participants. The report shows what each rule
judged, whom it excluded, and because of which value.

A rule is data: what to leave out, the measure and the bounds that it must lie below or above, whose
answers are judged, and why. Rules are applied one after another, each to what those before it left.
They are judged by scored answers (practice, warm-up and answers that need no memory do not count;
omitted and invalid ones are wrong), within a paradigm; a participant, session or trial that is left
out goes with all of its rows, practice included. Where a measure is not known, such as the reaction
time of a machine, a rule leaves nobody out, and the report counts it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from ...core.agent_kinds import PARTICIPANT
from ...core.errors import SpanLabError, in_number
from ...core.registry import StrictModel
from .coding import analysed, yes_in
from .people_table import column_of, strangers
from .scoring import TRIAL, and_more, decisions, plural, score_table
from .style import listed
from .timing import session_timing, verdict

if TYPE_CHECKING:
    from .sessions import SessionFacts

Level = Literal["answers", "trials", "sessions", "participants"]
Whose = Literal["everybody", "people", "machines"]
MeasureName = Literal[
    "accuracy",
    "above_chance",
    "above_blind",
    "failed",
    "omitted",
    "invalid",
    "rt_ms",
    "rt_deviation",
    "late_frames",
    "frames_off",
    "trial_off_ms",
    "trial_dropped_frames",
    "trial_paused_ms",
    "trial_unfocused_ms",
    "trial_implausible",
    "trial_cuts",
    "timing",
    "attention_checks",
    "processing_accuracy",
    "score",
    "trials",
    "answers",
    "attempts",
]
LEVELS: tuple[Level, ...] = get_args(Level)
_MORE: tuple[Level, ...] = ("trials", "sessions", "participants")
_SHOWN: tuple[Level, ...] = ("trials", "sessions")

#: For each measure at which levels it can be taken, and what it is.
MEASURES: Mapping[MeasureName, tuple[tuple[Level, ...], str]] = {
    "accuracy": (_MORE, "proportion correct, 0 to 1"),
    "above_chance": (
        _MORE,
        "proportion correct minus chance level; somebody who always gives the more frequent answer may be above it",
    ),
    "above_blind": (
        _MORE,
        "proportion correct minus that of the best blind guess (the column blind, which some tables lack)",
    ),
    "failed": (("sessions",), "share of the planned trials that failed (chat models), 0 to 1"),
    "omitted": (_MORE, "share of questions without an answer in time, 0 to 1"),
    "invalid": (_MORE, "share of answers that were not allowed, 0 to 1"),
    "rt_ms": (LEVELS, "reaction time in ms; the median of several answers"),
    "rt_deviation": (
        ("answers",),
        (
            "reaction time minus the median of the same participant in the paradigm, in robust standard deviations"
            " (1.4826 MAD)"
        ),
    ),
    "late_frames": (
        ("trials", "sessions"),
        "late frames in steps with a question; for a session, the number per trial",
    ),
    "frames_off": (
        ("trials", "sessions"),
        (
            "frames by which a display with a question missed its planned duration: the largest of a trial; for a"
            " session, their mean"
        ),
    ),
    "trial_off_ms": (
        _SHOWN,
        (
            "ms by which a display of the trial, with a question or without, missed its planned duration: the largest;"
            " for a session, their mean"
        ),
    ),
    "trial_dropped_frames": (
        _SHOWN,
        "late frames in all displays of the trial that have a planned duration; for a session, the number per trial",
    ),
    "trial_paused_ms": (_SHOWN, "ms for which the trial was paused; for a session, the number per trial"),
    "trial_unfocused_ms": (
        _SHOWN,
        "ms for which another window had the focus in the trial; for a session, the number per trial",
    ),
    "trial_implausible": (
        _SHOWN,
        (
            "1 for a trial whose times cannot be true by the clock of the server, otherwise 0 (pages in a browser); for"
            " a session, the share of its trials"
        ),
    ),
    "trial_cuts": (
        _SHOWN,
        "how many times the trial was begun before, cut off and replaced; for a session, the number per trial",
    ),
    "timing": (
        ("sessions",),
        "number of problems in the timing verdict of the session (see spanlab timing); 0 is a pass",
    ),
    "attention_checks": (("sessions", "participants"), "share of attention checks answered correctly, 0 to 1"),
    "processing_accuracy": (
        ("sessions", "participants"),
        (
            "share of right decisions that need no memory (set size 0), as between the items of complex spans; omitted"
            " ones are wrong"
        ),
    ),
    "score": (
        ("participants",),
        "a column of numbers of a table of participants (`table`), as spanlab scores-by-person writes it",
    ),
    "trials": (("sessions", "participants"), "number of trials with scored answers"),
    "answers": (_MORE, "number of scored answers"),
    "attempts": (("answers",), "number of replies to the question until one was used (chat models)"),
}
_KEYS: Mapping[Level, tuple[str, ...]] = {
    "answers": (*TRIAL, "step", "ask", "serial_position", "output_position"),
    "trials": TRIAL,
    "sessions": ("agent_kind", "agent", "agent_settings_hash", "participant", "session", "paradigm"),
    "participants": ("agent_kind", "agent", "agent_settings_hash", "participant", "paradigm"),
}
#: Measures that lie between 0 and 1, and those that are differences of two such.
_SHARES: tuple[MeasureName, ...] = (
    "accuracy",
    "failed",
    "omitted",
    "invalid",
    "trial_implausible",
    "attention_checks",
    "processing_accuracy",
)
#: Measures of how right the answers are that are tested against guessing.
OF_RIGHT_ANSWERS: tuple[MeasureName, ...] = ("accuracy", "above_chance", "above_blind")
#: The column of those answers of somebody from whom a rule on such a measure left something out.
SELECTED = "_selected_by_right_answers"
#: Measures that differ by less are the same: .6 - .5 is .1.
_SAME = 1e-9
#: Columns of the table of what was left out.
UNIT_COLUMNS = (
    "rule",
    "leave_out",
    "participant",
    "agent_kind",
    "agent",
    "session",
    "paradigm",
    "trial",
    "trial_id",
    "ask",
    "where",
    "value",
    "answers",
    "reason",
)
RULE_COLUMNS = ("rule", "says", "judged", "unknown", "left_out", "answers_before", "answers_left_out", "rows_left_out")


class Rule(StrictModel):
    """One rule."""

    leave_out: Level = Field(
        description="answers, trials, sessions or participants (a machine counts as one participant)"
    )
    where: MeasureName = Field(description="the measure")
    below: Annotated[float, Field(allow_inf_nan=False)] | None = Field(
        default=None, description="leave out where the measure is below this"
    )
    above: Annotated[float, Field(allow_inf_nan=False)] | None = Field(
        default=None, description="leave out where the measure is above this"
    )
    table: Annotated[Path, Field(strict=False)] | None = Field(
        default=None,
        description="of `score`: a CSV file with a row for each participant, relative to the file of the rules",
    )
    column: str = Field(default="", description="of `score`: the column of that table")
    whose: Whose = Field(default="everybody", description="everybody, people or machines")
    paradigms: Annotated[tuple[str, ...], Field(strict=False)] = Field(
        default=(), description="only in these paradigms; all when not given"
    )
    everywhere: bool = Field(
        default=False, description="whether a participant who is left out in one paradigm is left out in all"
    )
    reason: str = Field(default="", description="why, for the report")

    @model_validator(mode="after")
    def _sensible(self) -> Rule:
        levels, _ = MEASURES[self.where]
        if self.leave_out not in levels:
            raise ValueError(f"{self.where} is a measure of {listed(list(levels))}, not of {self.leave_out}")
        if self.below is None and self.above is None:
            raise ValueError("'below' or 'above' is missing: the limit of the rule")
        if self.below is not None and self.above is not None and self.below > self.above:
            raise ValueError("'below' is above 'above': everybody would be left out")
        span = {**dict.fromkeys(OF_RIGHT_ANSWERS, (-1, 1)), **dict.fromkeys(_SHARES, (0, 1))}.get(self.where)
        for limit in filter(None, (self.below, self.above)):
            if span and not span[0] <= limit <= span[1]:
                percent = f"; {limit:g}% is {limit / 100:g}" if 1 < limit <= 100 else ""
                raise ValueError(f"{self.where} lies between {span[0]} and 1, and {limit:g} does not{percent}")
        if (self.where == "score") != (self.table is not None and bool(self.column)) or (
            self.where != "score" and (self.table or self.column)
        ):
            raise ValueError("'score' needs 'table' and 'column', and other measures have neither")
        if self.everywhere and self.leave_out != "participants":
            raise ValueError("'everywhere' is for participants only")
        return self

    def __str__(self) -> str:
        ends = [
            f"{word} {value:g}" for word, value in (("below", self.below), ("above", self.above)) if value is not None
        ]
        whose = "" if self.whose == "everybody" else f" ({self.whose} only)"
        where = f" in {listed(list(self.paradigms))}" if self.paradigms else ""
        return f"{self.leave_out}{whose} whose {self.column or self.where} is {' or '.join(ends)}{where}" + (
            " (then in all paradigms)" if self.everywhere else ""
        )


#: Measures that only the folder of a session tells, not its table.
OF_FOLDERS: tuple[MeasureName, ...] = ("timing", "failed", "attention_checks")


@dataclass(frozen=True)
class OfSessions:
    """Facts from the folders of sessions besides answers, by the name of the session.

    Parameters
    ----------
    timing : how many things the timing verdict finds to look at, of those that were shown in a
        window
    failed : share of the planned trials that failed
    checks : share of attention checks that were answered correctly, where there were any
    """

    timing: Mapping[str, int]
    failed: Mapping[str, float]
    checks: Mapping[str, float] = field(default_factory=dict)


#: Rules that papers often have, by the names that ``--exclude`` takes in the place of a file.
PRESETS: Mapping[str, tuple[Rule, ...]] = {
    "complex_span_85": (
        Rule(
            leave_out="participants",
            where="processing_accuracy",
            below=0.85,
            reason="fewer than 85 percent of the decisions of a complex span were right",
        ),
    ),
    "attention": (
        Rule(
            leave_out="participants",
            where="attention_checks",
            below=1,
            everywhere=True,
            reason="an attention check was answered wrongly",
        ),
    ),
    "implausible": (
        Rule(leave_out="sessions", where="trial_implausible", above=0, reason="times of a page cannot be true"),
    ),
    "timing": (Rule(leave_out="sessions", where="timing", above=0, reason="the timing verdict names a problem"),),
}


class RulesFile(StrictModel):
    """The keys of a file of rules."""

    exclude: Annotated[list[Rule], Field(min_length=1)] = Field(
        description="rules, in the order in which they are applied"
    )


@dataclass(frozen=True)
class Exclusions:
    """Account of what rules left out.

    Parameters
    ----------
    rules : a row for each rule (:data:`RULE_COLUMNS`): what it says, units judged, units whose
        measure is unknown, units, answers and rows left out; participants are counted once, in
        however many paradigms they took part
    units : a row for everything that was left out (:data:`UNIT_COLUMNS`), with the value that
        decided
    notes : the same in sentences, one a rule
    cautions : tables of participants that most participants are not in
    """

    rules: pd.DataFrame
    units: pd.DataFrame
    notes: tuple[str, ...]
    cautions: tuple[str, ...] = ()


def apply_exclusions(
    responses: pd.DataFrame,
    rules: Sequence[Rule],
    sessions: OfSessions | None = None,
    *,
    include_practice: bool = False,
    include_pilot: bool = False,
) -> tuple[pd.DataFrame, Exclusions]:
    """Apply rules: the response table without the rows that they exclude, and a report. The
    original table is not changed.

    Parameters
    ----------
    responses : the response table of one or many sessions
    rules : in the order in which they are applied
    sessions : what is known of the sessions beside their answers (:func:`of_sessions`); needed by
        rules on ``timing`` and ``failed``
    include_practice, include_pilot : whether these rows are analysed, and so judged, too

    Raises
    ------
    SpanLabError
        for a rule on what only the folder of a session tells, where nothing of it was given.
    """
    if sessions is None:
        for rule in rules:
            if rule.where in OF_FOLDERS:
                raise SpanLabError(
                    f"a rule leaves sessions out by '{rule.where}', which is not known here: it is in a session's"
                    " folder, not in a table"
                )
        sessions = OfSessions({}, {})
    table = responses.reset_index(drop=True)
    codes = {level: _codes(_one_each(table), key) for level, key in _KEYS.items()}
    persons, groups = _codes(_one_each(table), _KEYS["participants"][:-1]), _groups(table)
    selected = np.zeros(len(table), bool)
    counted = {"include_practice": include_practice, "include_pilot": include_pilot}
    items = score_table(table.assign(_row=np.arange(len(table))), **counted).items
    alive, people = np.ones(len(table), bool), _people(table)
    considered = analysed(table, **counted).to_numpy(bool)
    others: Mapping[MeasureName, Callable[[], pd.DataFrame]] = {
        "attention_checks": lambda: table.assign(_row=np.arange(len(table))),
        "processing_accuracy": lambda: _decisions(table),
    }
    summary, units, notes = [], [], []
    for number, rule in enumerate(rules, start=1):
        counted = items["_row"].to_numpy()[alive[items["_row"].to_numpy()]]
        left = others[rule.where]() if rule.where in others else items
        left = left[(alive & considered)[left["_row"].to_numpy()]]
        rows = left["_row"].to_numpy()
        asked = np.ones(len(left), bool) if rule.whose == "everybody" else people[rows] == (rule.whose == "people")
        if rule.paradigms:
            asked &= left["paradigm"].isin(rule.paradigms).to_numpy()
        judged = left[asked]
        unit = codes[rule.leave_out][judged["_row"].to_numpy()]
        values = _measure(judged, unit, rule, sessions, codes["trials"])
        out = values[_outside(values, rule)]
        gone = alive & np.isin(codes[rule.leave_out], out.index.to_numpy())
        if rule.where in (*OF_RIGHT_ANSWERS, "score"):  # what a table calls a score may be right answers
            selected |= np.isin(groups, groups[gone])
        if rule.everywhere:
            gone = alive & np.isin(persons, np.unique(persons[gone]))
        if not rule.everywhere:  # those of other paradigms are not asked about
            counted = counted[np.isin(counted, items.loc[items["paradigm"].isin(judged["paradigm"].unique()), "_row"])]
        scored = int(gone[counted].sum())
        units.append(_rows_left_out(judged, unit, out, rule, number))
        whose = persons[judged["_row"].to_numpy()] if rule.leave_out == "participants" else unit
        numbers = (_distinct(whose, unit, chosen) for chosen in (values.index, values.index[values.isna()], out.index))
        summary.append((number, str(rule), *numbers, len(counted), scored, int(gone.sum())))
        by_paradigm = judged["paradigm"].to_numpy()
        counts = {
            str(name): tuple(_distinct(whose[part], unit[part], chosen) for chosen in (out.index, values.index))
            for name in judged["paradigm"].unique()
            for part in [by_paradigm == name]
        }
        notes.append(_sentence(rule, number, units[-1], summary[-1], counts))
        alive &= ~gone
    if rules and not alive.any() and len(table):
        notes.append("Nothing is left: the rules leave out everything.")
    if selected.any():
        table = table.assign(**{SELECTED: selected})
    left_out_tables = [left_out for left_out in units if len(left_out)]
    return table[alive].reset_index(drop=True), Exclusions(
        pd.DataFrame(summary, columns=[*RULE_COLUMNS]),
        pd.concat(left_out_tables, ignore_index=True) if left_out_tables else pd.DataFrame(columns=[*UNIT_COLUMNS]),
        tuple(notes),
        tuple(filter(None, (_strangers(rule, table[people]) for rule in rules if rule.table is not None))),
    )


def of_sessions(sessions: Sequence[SessionFacts], rules: Sequence[Rule]) -> OfSessions:
    """Return what the rules need to know from the folders of sessions."""
    asked = {rule.where for rule in rules}
    timings = {
        facts.name: session_timing(facts.folder) for facts in sessions if "timing" in asked and facts.timing is not None
    }
    faults = {name: len(verdict(timing).look) for name, timing in timings.items() if timing is not None}
    failed = {facts.name: sum(facts.failed.values()) / facts.planned for facts in sessions if facts.planned}
    checks = {facts.name: facts.conduct.checks / facts.conduct.checked for facts in sessions if facts.conduct.checked}
    return OfSessions(faults, failed, checks)


def decisions_of(table: pd.DataFrame) -> pd.Series:
    """Mark the rows of a response table that are decisions which need no memory."""
    if "set_size" not in table.columns:
        return pd.Series(False, index=table.index)
    sizes = pd.to_numeric(table["set_size"], errors="coerce")
    idle = pd.Series(
        decisions(table.assign(set_size=sizes, unit_trial=_codes(table, _KEYS["trials"]))), index=table.index
    )
    return idle & table.get("correct_answer", idle).notna()


def _decisions(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of decisions that need no memory."""
    right = yes_in(table, "correct").astype(float)
    return table.assign(_row=np.arange(len(table)), correct=right)[decisions_of(table)]


def _codes(table: pd.DataFrame, key: Sequence[str]) -> np.ndarray:
    there = [name for name in key if name in table.columns]
    if not there or not len(table):
        return np.zeros(len(table), int)
    return table.groupby(there, dropna=False, sort=False).ngroup().to_numpy()


def _groups(table: pd.DataFrame) -> np.ndarray:
    """Number those who are tested together: all people of a paradigm, whatever they are called, and
    each machine with its settings."""
    columns = {name: table[name].astype(object) for name in ("agent", "agent_settings_hash") if name in table.columns}
    people = _people(table)
    alike = table.assign(**{name: column.mask(people, "") for name, column in columns.items()})
    return _codes(alike, ("agent_kind", "agent", "agent_settings_hash", "paradigm"))


def _one_each(table: pd.DataFrame) -> pd.DataFrame:
    """The table without the settings of those who have a name: a person at another screen is the
    same one, and a machine with other settings is another."""
    if not {"participant", "agent_settings_hash"} <= {*table.columns}:
        return table
    named = table["participant"].astype(object).fillna("").astype(str).ne("")
    return table.assign(agent_settings_hash=table["agent_settings_hash"].astype(object).mask(named, ""))


def _people(table: pd.DataFrame) -> np.ndarray:
    return table.get("agent_kind", pd.Series("", index=table.index)).eq(PARTICIPANT.name).to_numpy(bool)


def _outside(values: pd.Series, rule: Rule) -> np.ndarray:
    numbers = values.to_numpy(float)
    low = numbers < rule.below - _SAME if rule.below is not None else np.zeros(len(numbers), bool)
    return low | (numbers > rule.above + _SAME) if rule.above is not None else low


def _measure(items: pd.DataFrame, unit: np.ndarray, rule: Rule, sessions: OfSessions, trials: np.ndarray) -> pd.Series:
    """The value of each unit, NaN where it is not known."""

    def number(name: str) -> pd.Series:
        return pd.to_numeric(items.get(name, pd.Series(np.nan, index=items.index)), errors="coerce")

    def each(values: pd.Series, how: Any) -> pd.Series:
        return values.groupby(unit).agg(how).astype(float)

    trial = trials[items["_row"].to_numpy()]

    def of_trials(values: pd.Series, how: str) -> pd.Series:
        """Of each trial by ``how`` (a step counts once), then the mean of a session's trials."""
        steps = pd.DataFrame(
            {"unit": unit, "trial": trial, "step": items["step"].to_numpy(), "value": values.to_numpy(float)}
        )
        once = steps.groupby(["unit", "trial", "step"], dropna=False)["value"].max().groupby(level=["unit", "trial"])
        by_trial = once.sum(min_count=1) if how == "sum" else once.max()
        return by_trial.groupby(level="unit").mean()

    def deviation() -> pd.Series:
        person = _codes(_one_each(items), _KEYS["participants"])
        rt = number("rt_ms")
        off = rt - rt.groupby(person).transform("median")
        spread = 1.4826 * off.abs().groupby(person).transform("median")
        return off / spread.where(spread > 0)

    def of_trial(name: str) -> Callable[[], pd.Series]:
        return lambda: of_trials(number(name), "max")

    def implausible() -> pd.Series:
        reasons = items.get("trial_implausible", pd.Series(None, index=items.index, dtype=object)).astype(object)
        return reasons.where(reasons.notna()).map(bool, na_action="ignore").astype(float)

    measures: Mapping[MeasureName, Callable[[], pd.Series]] = {
        "accuracy": lambda: each(items["correct"], "mean"),
        "above_chance": lambda: each(items["correct"], "mean") - each(number("chance"), "mean"),
        "above_blind": lambda: (
            each(items["correct"], "mean") - each(number("blind"), lambda blind: blind.mean(skipna=False))
        ),
        "failed": lambda: each(items["session"].map(sessions.failed).astype(float), "max"),
        "omitted": lambda: each(items["outcome"].eq("omitted"), "mean"),
        "invalid": lambda: each(items["outcome"].eq("invalid"), "mean"),
        "rt_ms": lambda: each(number("rt_ms"), "median"),
        "rt_deviation": lambda: each(deviation(), "median"),
        "late_frames": lambda: of_trials(number("dropped_frames"), "sum"),
        "frames_off": lambda: of_trials((number("shown_frames") - number("planned_frames")).abs(), "max"),
        "trial_off_ms": of_trial("trial_off_ms"),
        "trial_dropped_frames": of_trial("trial_dropped_frames"),
        "trial_paused_ms": of_trial("trial_paused_ms"),
        "trial_unfocused_ms": of_trial("trial_unfocused_ms"),
        "trial_implausible": lambda: of_trials(implausible(), "max"),
        "trial_cuts": of_trial("trial_cuts"),
        "timing": lambda: each(items["session"].map(sessions.timing).astype(float), "max"),
        "attention_checks": lambda: each(
            items["session"].map(sessions.checks).astype(float).mask(items["session"].duplicated()), "mean"
        ),
        "processing_accuracy": lambda: each(items["correct"], "mean"),
        "score": lambda: each(items["participant"].astype(str).map(_scores(rule)), "first"),
        "trials": lambda: each(pd.Series(trial, index=items.index), "nunique"),
        "answers": lambda: each(items["correct"], "size"),
        "attempts": lambda: each(number("attempts"), "max"),
    }
    return measures[rule.where]()


def _scores(rule: Rule) -> Mapping[str, float]:
    """The numbers of the rule's column, by participant."""
    assert rule.table is not None
    values = column_of(rule.table, rule.column)
    if not pd.api.types.is_numeric_dtype(values):
        raise SpanLabError(f"{rule.table} has words in its column '{rule.column}': a rule compares numbers")
    return {str(person): float(value) for person, value in values.items()}


def _strangers(rule: Rule, people: pd.DataFrame) -> str:
    assert rule.table is not None
    names = people.get("participant", pd.Series(dtype=object)).dropna().unique()
    return strangers(rule.table, column_of(rule.table, rule.column).index, names)


def _distinct(whose: np.ndarray, unit: np.ndarray, chosen: pd.Index) -> int:
    """Return how many there are among some units: a participant who took several paradigms is one
    participant."""
    return len(np.unique(whose[np.isin(unit, chosen.to_numpy())]))


def _rows_left_out(judged: pd.DataFrame, unit: np.ndarray, out: pd.Series, rule: Rule, number: int) -> pd.DataFrame:
    """A row for each unit that is left out."""
    excluded = judged[np.isin(unit, out.index.to_numpy())]
    code = pd.Series(unit[np.isin(unit, out.index.to_numpy())], index=excluded.index)
    first = excluded[~code.duplicated()]
    who = code[~code.duplicated()]
    key = {
        "trials": ("trial", "trial_id", "session"),
        "answers": ("trial", "trial_id", "ask", "session"),
        "sessions": ("session",),
        "participants": (),
    }
    shown = ("agent_kind", "agent", "participant", "paradigm", *key[rule.leave_out])
    columns = (
        {name: first[name].to_numpy() if name in shown and name in first.columns else "" for name in UNIT_COLUMNS}
        | {
            "rule": number,
            "leave_out": rule.leave_out,
            "where": rule.where,
            "value": out[who].to_numpy(),
            "reason": rule.reason,
        }
        | {"answers": code.value_counts()[who].to_numpy()}
    )
    return pd.DataFrame(columns, columns=[*UNIT_COLUMNS], index=range(len(first)))


def _sentence(
    rule: Rule, number: int, units: pd.DataFrame, row: tuple[Any, ...], counts: Mapping[str, tuple[int, ...]]
) -> str:
    """What a rule did; with how many were left out of how many in each paradigm (``counts``), where
    it judged several."""
    _, says, judged, unknown, left_out, before, answers, _ = row
    why = f" ({rule.reason})" if rule.reason else ""
    text = (
        f"Rule {number}, {says}{why}: {left_out:,} of {plural(judged, rule.leave_out[:-1])} left out, {answers:,} of"
        f" {plural(before, 'answer')}"
    )
    if len(counts) > 1 and rule.leave_out in ("participants", "sessions"):
        text += f" ({', '.join(f'{name}: {out} of {of}' for name, (out, of) in sorted(counts.items()))})"
    if len(units) and rule.leave_out in ("participants", "sessions"):
        name = "session" if rule.leave_out == "sessions" else "participant"
        several = name == "participant" and units["paradigm"].nunique() > 1
        names = [
            str(row[name] or row["agent"]) + (f" in {row['paradigm']}" if several else "")
            for row in units.to_dict("records")
        ]
        shown = [f"{name} ({value:.3g})" for name, value in zip(names, units["value"], strict=True)]
        text += f": {listed(shown[:12])}{and_more(shown, 12)}"
    if unknown:
        text += (
            f"; of {plural(unknown, rule.leave_out[:-1])} the measure is not known, so"
            f" {in_number(unknown, 'it stays', 'they stay')}"
        )
    return text + "."
