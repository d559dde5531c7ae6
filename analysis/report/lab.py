"""What a report says of the laboratory: spans of adaptive sessions, what spoils the rest, timing
verdicts of sessions at a window, and exclusions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ...core.agent_kinds import PARTICIPANT, SIMULATED, kind_named
from ...core.errors import SpanLabError
from ..data.coding import records
from ..data.exclusions import Exclusions
from ..data.numbers import limits, number, whole
from ..data.scoring import and_more, plural
from ..data.sessions import SessionFacts, SpanFacts
from ..data.style import listed
from ..data.timing import IN_BROWSERS, session_timing, verdict
from ..data.unread import unread_shares
from ..guessing import at_guessing
from ..means.contrasts import estimate
from .commands import ReportCommands
from .folder import Folder
from .html_tables import PageColumn, PageTable, page_table, words_of

#: From this share of answers that could not be read, a page says so at its top.
UNREAD = 0.05
_NAMED = 6
#: What a damaged record may raise; one session must not hide the others.
_DAMAGE = (SpanLabError, KeyError, ValueError, TypeError, IndexError, AttributeError, ZeroDivisionError)


@dataclass(frozen=True)
class Timed:
    """The timing of a session: ``pass``, ``look`` or ``unknown``, the sentence with its numbers,
    what to look at, and whether nobody saw its displays."""

    session: str
    who: str
    verdict: str
    line: str
    look: tuple[str, ...]
    simulated: bool = False


@dataclass(frozen=True)
class TimingPart:
    """The timing of all sessions at a window, or at a page in a browser."""

    title: str
    summary: str
    sessions: tuple[Timed, ...]
    notes: tuple[str, ...]
    command: str


def timing_part(sessions: Sequence[SessionFacts], commands: ReportCommands) -> TimingPart | None:
    """The verdicts on all sessions at a window, or at a page in a browser; None where there are
    none."""
    shown = [facts for facts in sessions if facts.timing is not None]
    if not shown:
        return None
    timed, pages = [_timed(facts) for facts in shown], sum(bool(facts.browser) for facts in shown)
    held = sum(timing.verdict == "pass" for timing in timed)
    notes = ["The record shows what the program did; only a photodiode shows when light leaves the screen."]
    if pages:
        notes.append(f"In a browser, {IN_BROWSERS}.")
    if any(facts.kind == SIMULATED.name for facts in shown):
        notes.append(
            "Simulated participants usually run on an invisible screen without a graphics card; its timing says nothing"
            " about a screen in a laboratory."
        )
    where = [
        f"{plural(count, 'session')} {what}"
        for count, what in ((len(shown) - pages, "at a window"), (pages, "in a browser"))
        if count
    ]
    title = "Timing " + listed(
        [what for count, what in ((len(shown) - pages, "at the window"), (pages, "in browsers")) if count]
    )
    return TimingPart(
        title,
        f"{listed(where)}: {held} pass, {len(timed) - held} to look at.",
        tuple(timed),
        tuple(notes),
        commands.timing([str(facts.folder) for facts in shown]),
    )


def _timed(facts: SessionFacts) -> Timed:
    who, simulated = facts.participant or facts.agent, facts.kind == SIMULATED.name
    try:
        timing = session_timing(facts.folder)
        if timing is None:
            return Timed(facts.name, who, "unknown", "nothing was shown for a given time", (), simulated)
        judged = verdict(timing)
    except _DAMAGE as error:
        return Timed(facts.name, who, "unknown", f"its timing is unknown ({error})", (), simulated)
    return Timed(facts.name, who, "pass" if judged.holds else "look", judged.numbers, judged.look, simulated)


def spoilers(sessions: Sequence[SessionFacts], items: pd.DataFrame, timing: TimingPart | None) -> list[str]:
    """Return what spoils the rest of a page, a sentence for each kind of fault; nothing where
    nothing does.

    Parameters
    ----------
    sessions : all that the page rests on
    items : scored items, with everybody called as in figures
    timing : the verdicts on their timing
    """
    people = [facts for facts in sessions if facts.kind == PARTICIPANT.name]
    return [
        *_unheld(timing),
        *_of_people(
            "Practice, a quiz or attention checks were not passed",
            {facts.name: (facts.participant, facts.conduct.missed) for facts in people},
        ),
        *_of_people(
            "Trials were cut off, or the session was interrupted,",
            {facts.name: (facts.participant, facts.conduct.upsets) for facts in people},
        ),
        *_alone(items),
        *_guessers(items),
        *_simulated(items),
        *_unread(items),
    ]


def _unheld(timing: TimingPart | None) -> list[str]:
    """That displays were not shown to people as planned, or that nobody knows."""
    seen = [session for session in timing.sessions if not session.simulated] if timing is not None else []
    off = [session for session in seen if session.verdict != "pass"]
    if not off:
        return []
    unknown = sum(session.verdict == "unknown" for session in off)
    of = f"{len(off)} of {plural(len(seen), 'session')}"
    tail = f" (of {unknown} it is unknown)" if unknown else ""
    return [
        f"The timing of {of} did not pass{tail}: {_some(session.who for session in off)}. The section on timing gives"
        " the details."
    ]


def _of_people(what: str, faults: Mapping[str, tuple[str, Sequence[str]]]) -> list[str]:
    """Return what went wrong in sessions of people, by session."""
    wrong = [f"{who} ({', '.join(words)})" for who, words in faults.values() if words]
    return [f"{what} in {len(wrong)} of {plural(len(faults), 'session')} of people: {_some(wrong)}."] if wrong else []


def _alone(items: pd.DataFrame) -> list[str]:
    """That only one person took a paradigm."""
    people = (
        items.loc[items["agent_kind"] == PARTICIPANT.name].groupby("paradigm", observed=True)["participant"].nunique()
    )
    single = sorted(map(str, people.index[people == 1]))
    where = "" if len(single) == len(people) else f" in {listed(single)}"
    return (
        [f"A single person took part{where}: nothing here says how people differ, or what others would do."]
        if single
        else []
    )


def _guessers(items: pd.DataFrame) -> list[str]:
    """Who may have guessed among people (or sessions of a machine) who are nearly always right."""
    work = items.assign(
        _right=items["correct"].astype(float), _guess=items["blind"].fillna(items["chance"]).astype(float)
    )
    people = items["participant"].astype(str)
    work["_unit"] = people.where(people != "", items["session"].astype(str))
    named = []
    for (paradigm, _), group in work.groupby(["paradigm", "agent"], observed=True, sort=True):
        of = group.groupby("_unit", observed=True).agg(right=("_right", "sum"), asked=("_right", "size"))
        found = at_guessing(of["right"].to_numpy(float), of["asked"].to_numpy(float), float(group["_guess"].mean()))
        named += [f"{unit} in {paradigm}" for unit in of.index[found]]
    if not named:
        return []
    return [
        f"{_some(named)}: answers that may be guesses, far below everybody else's. Means, intervals and tests that"
        " include them do not hold: leave them out by a rule that was fixed before (--exclude), or look at medians,"
        " and report both."
    ]


def _simulated(items: pd.DataFrame) -> list[str]:
    """That simulated participants are among the data."""
    kinds = items[["agent", "agent_kind"]].drop_duplicates()
    names = sorted(
        str(name) for name, kind in kinds.itertuples(index=False, name=None) if kind_named(str(kind)).role == "stand-in"
    )
    return [f"{listed(names)}: no person answered there, or pressed a key."] if names else []


def _unread(items: pd.DataFrame) -> list[str]:
    """Return who gave answers that could not be read, or that were not allowed, more often than now
    and then."""
    share = items["outcome"].eq("invalid").groupby(items["agent"].astype(str)).mean()
    bounds = {row["agent"]: row for row in _bounds(items)}
    many = [
        f"{name} {100 * value:.0f}%"
        + (f" ({bounds[name]['all_wrong']:.0%} to {bounds[name]['if_guessed']:.0%} right)" if name in bounds else "")
        for name, value in share[share >= UNREAD].sort_values(ascending=False).items()
    ]
    return (
        [f"Answers that could not be read, or were not allowed, count as wrong: {_some(many)} of all answers."]
        if many
        else []
    )


def _bounds(items: pd.DataFrame) -> list[dict[Any, Any]]:
    """Of everybody whose replies could not be read, the shares of right answers if all unread ones
    are wrong, or guesses; over all paradigms."""
    rows = records(unread_shares(items.assign(paradigm=""))) if len(items) else []
    return [row for row in rows if row["if_guessed"] == row["if_guessed"]]


def _some(words: Iterable[str]) -> str:
    """The first few of some words, and how many more there are."""
    words = list(dict.fromkeys(words))
    return ", ".join(words[:_NAMED]) + and_more(words, _NAMED)


@dataclass(frozen=True)
class ExclusionPart:
    """Account of what rules left out: a sentence for each rule, the rules and the units as tables."""

    sentences: tuple[str, ...]
    tables: tuple[PageTable, ...]


def exclusion_part(exclusions: Exclusions | None, folder: Folder) -> ExclusionPart | None:
    """Return what rules left out; None where there are no rules."""
    if exclusions is None:
        return None
    folder.table("exclusion_rules", exclusions.rules)
    file = folder.table("exclusions", exclusions.units)

    def who(row: Mapping[Any, Any]) -> str:
        return str(row["participant"] or row["agent"])

    columns: list[PageColumn] = [
        ("who", who),
        words_of("session"),
        words_of("paradigm"),
        ("trial", lambda row: str(row["trial"]) if row["leave_out"] in ("trials", "answers") else ""),
        ("rule", lambda row: str(row["rule"])),
        ("where", lambda row: str(row["where"])),
        ("value", lambda row: number(row["value"], 3)),
        ("answers", lambda row: whole(row["answers"])),
        words_of("reason"),
    ]
    units = page_table(
        exclusions.units, columns, "What was left out", words=("session", "paradigm", "where", "reason"), file=file
    )
    return ExclusionPart(exclusions.notes, (units,) if units.rows else ())


# Spans of adaptive sessions

#: What a table of spans is about: sessions with the same values here can be compared.
_ALIKE = ["title", "conditions", "factor", "rule"]


@dataclass(frozen=True)
class SpansPart:
    """All spans: for each paradigm and condition the means where somebody has several, and a row
    for each session; and how they were found."""

    tables: tuple[PageTable, ...]
    notes: tuple[str, ...]


def spans_part(spans: Sequence[SpanFacts], folder: Folder, with_rules: bool = False) -> SpansPart | None:
    """The spans of adaptive sessions; None where there are none.

    Parameters
    ----------
    with_rules : whether exclusion rules were given, which spans do not follow
    """
    if not spans:
        return None
    frame = span_table(spans)
    file = folder.table("spans", frame.drop(columns=["span", "title", "what"]).rename(columns={"value": "span"}))
    means = mean_spans(frame)
    means_file = folder.table("mean_spans", means)
    tables: list[PageTable] = []
    for alike, sessions in frame.groupby(_ALIKE, sort=False):
        heading = _heading(*map(str, alike))
        together = means[(means[_ALIKE] == list(alike)).all(axis=1)] if len(means) else means
        if len(together):
            tables.append(
                page_table(
                    together,
                    _MEANS,
                    f"{heading}: means",
                    "Student's t intervals over people, or over the sessions of a machine.",
                    file=means_file,
                )
            )
        tables.append(page_table(sessions, _SESSIONS, f"{heading}: each session", words=("what", "session"), file=file))
    notes = [
        (
            "The levels of these sessions depended on the answers. Proportions correct would not mean the same as in"
            " other sessions, so these sessions are left out of all figures and other tables."
        ),
        *sorted(
            {
                f"{one.rule.capitalize()}: the span is the {one.result['formula']}."
                for one in spans
                if one.result is not None
            }
        ),
    ]
    if with_rules:
        notes.append("Exclusion rules are not applied to spans.")
    return SpansPart(tuple(tables), tuple(notes))


def _heading(title: str, conditions: str, factor: str, rule: str) -> str:
    return f"{', '.join(filter(None, (title, conditions)))} ({factor}, by a {rule})"


def span_table(spans: Sequence[SpanFacts]) -> pd.DataFrame:
    """One row for each adaptive session: who, in which paradigm and conditions, and its span
    (``value``; missing where there is none)."""
    ordered = sorted(
        spans,
        key=lambda one: (
            one.facts.title,
            one.conditions,
            kind_named(one.facts.kind).order,
            _who(one.facts),
            one.facts.name,
        ),
    )
    return pd.DataFrame([_row(one) for one in ordered])


def _row(one: SpanFacts) -> dict[str, Any]:
    facts, result = one.facts, one.result or {}
    over = bool(result) and one.over
    value = result["span"] if over else None
    below = value is None and over and one.rule == "span test"
    span = "–" if value is None else f"{value:g}"
    if below:
        span = f"below {one.start:g}"
    return {
        "who": _who(facts),
        "what": "people" if facts.kind == PARTICIPANT.name else kind_named(facts.kind).described,
        "agent_kind": facts.kind,
        "paradigm": facts.paradigm,
        "title": facts.title or facts.paradigm,
        "conditions": one.conditions,
        "span": span,
        "value": math.nan if value is None else float(value),
        "below_start": below,
        "factor": one.factor,
        "rule": one.rule,
        "trials": result.get("trials", 0),
        "correct_trials": result.get("correct_trials", 0),
        "session": facts.name,
        "note": "; ".join(filter(None, (_note(one, over), "pilot" if facts.pilot else ""))),
    }


def _note(one: SpanFacts, over: bool) -> str:
    if one.problem or one.result is None:
        return one.sentence
    if not over:
        return f"unfinished, {plural(one.result['trials'], 'trial')} so far"
    at_highest = one.result["at_limit"]["highest"]
    if one.rule == "span test":
        passed = one.result["span"] is not None and one.result["span"] == one.result["highest_reached"] and at_highest
        return "the longest list was passed: the span may be higher" if passed else ""
    turns = plural(len(one.result["reversals"]), "reversal")
    if one.result["span"] is None:
        return f"{turns}, too few for an estimate"
    return turns + (f", {plural(at_highest, 'trial')} at the hardest level" if at_highest else "")


def _who(facts: SessionFacts) -> str:
    if facts.kind == PARTICIPANT.name:
        return facts.participant or "participant"
    return facts.agent + (f" ({facts.label})" if facts.label else "")


def mean_spans(frame: pd.DataFrame) -> pd.DataFrame:
    """Means over people, and over the sessions of a machine, wherever there are two or more; a
    person's sessions are averaged first."""
    people = frame["agent_kind"] == PARTICIPANT.name
    grouped = frame.assign(unit=frame["who"].where(people, frame["session"]), agent=frame["who"].mask(people, "People"))
    rows: list[dict[str, Any]] = []
    for (*alike, agent), of_agent in grouped.groupby([*_ALIKE, "agent"], sort=False):
        spans = of_agent.dropna(subset=["value"]).groupby("unit")["value"].mean()
        below = int(of_agent["below_start"].sum())
        if len(spans) < 2:
            continue
        mean = estimate(spans.to_numpy(float), proportion=False)
        rows.append(
            {
                "who": agent,
                **dict(zip(_ALIKE, alike, strict=True)),
                "n": mean.n,
                "unit": "person" if agent == "People" else "session",
                "mean": mean.mean,
                "sd": float(spans.std()),
                "low": mean.low,
                "high": mean.high,
                "lowest": float(spans.min()),
                "highest": float(spans.max()),
                "note": (
                    f"without {plural(below, 'session')} below the first level, so the mean is too high"
                    if below
                    else ""
                ),
            }
        )
    return pd.DataFrame(rows)


_SESSIONS: list[PageColumn] = [
    words_of("who"),
    words_of("span"),
    ("trials", lambda row: whole(row["trials"])),
    ("correct", lambda row: whole(row["correct_trials"])),
    words_of("note"),
    words_of("what"),
    words_of("session"),
]
_MEANS: list[PageColumn] = [
    words_of("who"),
    ("mean span", lambda row: number(row["mean"])),
    ("95% interval", lambda row: limits(row["low"], row["high"])),
    ("SD", lambda row: number(row["sd"])),
    ("range", lambda row: f"{row['lowest']:g} to {row['highest']:g}"),
    ("n", lambda row: f"{row['n']} people" if row["unit"] == "person" else plural(row["n"], "session")),
    words_of("note"),
]
