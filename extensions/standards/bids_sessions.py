"""Sessions from a BIDS data set: its rows, with the trials made again from their seeds and levels,
and the answers scored again.

What comes out must be what the rows say, cell by cell; anything else is reported, and nothing is
imported. A table of somebody else's can be read where its columns say the same under other names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import Field

from spanlab.agents import Response
from spanlab.core import (
    PARTICIPANT,
    SpanLabError,
    as_object,
    as_tuple,
    grouped,
    json_line,
    kind_named,
    write_whole,
)
from spanlab.exchange import Flag, Options, Report, SkipMalformed, all_or_none, counted, refused
from spanlab.paradigms import (
    DEFAULT_INTERVAL_MS,
    Paradigm,
    Step,
    Trial,
    compile_trial,
    load_paradigm,
    paradigm_from_data,
    resolve_levels,
)
from spanlab.sessions import judge, session_stem, write_info
from spanlab.sessions.record import (
    FORMAT_VERSION,
    OWN_COLUMNS,
    Browser,
    Event,
    Notes,
    Score,
    fields_of,
    read_session,
    response_rows,
    trial_key,
    write_responses,
)

from .bids_tables import (
    OF_DISPLAYS,
    TYPES,
    MalformedError,
    Row,
    Sitting,
    TablesOfSession,
    integer_in,
    number_in,
    parsed_cell,
    read_json,
    read_participants,
    read_tables,
    renamed_columns,
)
from .sharing import cell

#: what is made again from displays: a pause, or a wait for an answer, is in the table only as its
#: sum
REMADE = ("trial_off_ms", "trial_dropped_frames", "planned_ms")
#: of the response table, what no row of a data set has, or what stands under another name
_NOT_COMPARED = {
    "participant_id",
    "session",
    "participant",
    "agent_kind",
    "agent",
    "onset_ms",
    "rt_ms",
    "phase",
    *OF_DISPLAYS,
    *REMADE,
    "blind",
    "keys",
}
#: nobody has begun a trial more often
_MOST_CUTS = 100_000
#: why a trial was cut off, as `trial_reloads` counts it
_RELOADED = "reloaded"
_NOTES = tuple(one.name for one in fields_of(Notes))
#: and whether every score has it
_SCORED = {one.name: one.required for one in fields_of(Score)}


class BidsReading(Options):
    """Options for reading BIDS data sets."""

    skip_malformed: SkipMalformed = False
    paradigm: Annotated[
        str | None,
        Field(description="the paradigm, if the data set does not have it: a name in the library, or a YAML file"),
        Flag("--as", "PARADIGM"),
    ] = None
    columns: Annotated[
        str | None,
        Field(description="columns with other names than SpanLab's, such as seed=trial_seed,answer=response"),
        Flag(metavar="NAME=THEIRS,..."),
    ] = None


def import_sessions(data_set: Path, output: Path, options: BidsReading, report: Report) -> None:
    """Make a session of the tables of each session of a data set; all of them appear in the folder
    ``output``, or none.

    Raises
    ------
    SpanLabError
        when it is no data set, columns are missing, or (unless it is left out) for everything that
        is malformed.
    """
    renamed = renamed_columns(options.columns)
    participants = read_participants(data_set)
    sources, problems = read_tables(data_set, renamed)
    with all_or_none(output) as making:
        made: list[tuple[Path, bool, TablesOfSession]] = []
        for source in sources:
            try:
                info, events = _session(data_set, source, participants.get(f"sub-{source.label}", {}), options)
            except MalformedError as error:
                problems.append(error.problem)
                continue
            earlier = _earlier(output, info)
            made.append((earlier or _write(making, output, info, events), earlier is None, source))
        if problems and not options.skip_malformed:
            raise refused(problems)
        if not made:
            raise SpanLabError("\n".join([*map(str, problems), f"{data_set}: no session is left to import"]))
    report.left_out(problems)
    if seedless := sum(source.sittings[0].seedless for _, _, source in made):
        report.note(
            f"NOTE {counted(seedless, 'session')} without seeds: the answers can be analysed, but the trials cannot be"
            " made again"
        )
    for folder, new, source in made:
        rows = sum(row.get("event_type", "answer") == "answer" for sitting in source.sittings for row in sitting.rows)
        report.done(
            f"{output / folder.name}: {counted(rows, 'answered item')}" if new else f"{folder}: it was imported before"
        )


def _paradigm(
    data_set: Path, source: TablesOfSession, options: BidsReading, streams: int
) -> tuple[Paradigm, Mapping[str, Any]]:
    """The paradigm of a session, and its content."""
    first = source.sittings[0]
    digest, name = str(first.about.get("ParadigmHash", "")), str(first.about.get("Paradigm", ""))
    path = data_set / "code" / "spanlab" / f"{source.task}-{digest}.json"
    try:
        if options.paradigm is None and digest.isalnum() and path.exists():
            stored = read_json(path)
            paradigm = paradigm_from_data(as_object(stored.get("data")), str(stored.get("paradigm")), streams)
        elif options.paradigm or name:
            paradigm = load_paradigm(options.paradigm or name)
            paradigm = paradigm_from_data(paradigm.data, paradigm.name, streams)
        else:
            raise MalformedError(first.path, "", "nothing says of which paradigm it is; name it with --as PARADIGM")
    except SpanLabError as error:
        raise MalformedError(first.path, "", f"its paradigm cannot be read ({str(error).splitlines()[0]})") from None
    return paradigm, paradigm.data


def _session(
    data_set: Path, source: TablesOfSession, who: Mapping[str, str], options: BidsReading
) -> tuple[dict[str, Any], list[Event]]:
    """``session.json`` and the events of a session, checked against its rows."""
    first = source.sittings[0]
    row = next(
        (one for sitting in source.sittings for one in sitting.rows if one.get("event_type", "answer") == "answer"),
        None,
    )
    if row is None:
        raise MalformedError(first.path, "", "it has no answered item")
    streams = integer_in(row.get("streams") or 1, first.path, f"line {row['line']}")
    paradigm, data = _paradigm(data_set, source, options, streams)
    if lacking := [name for name in paradigm.factors if _column(name) not in row]:
        raise MalformedError(
            first.path, "line 1", f"the level of {lacking[0]} is missing: there is no column {_column(lacking[0])}"
        )
    about = first.about
    person = (who.get("participant_type") or "person") != "machine"
    kind = str(who.get("agent_kind") or PARTICIPANT.name)
    if kind_named(kind).person != person:
        raise MalformedError(
            data_set / "participants.tsv",
            f"sub-{source.label}",
            f"a {'person' if person else 'machine'} of the kind '{kind}'",
        )
    generator = row["generator"]
    if generator not in ("corrected", "published"):
        raise MalformedError(
            first.path, f"line {row['line']}", f"generator is corrected or published; found {generator}"
        )
    trials = _Trials(paradigm, generator, as_object(about.get("Draws")))
    events: list[Event] = [{"event": "session_start", "at": str(row.get("started_at") or "")}]
    for number, sitting in enumerate(source.sittings):
        if number:
            events.append({"event": "resumed"})
        events += trials.events(sitting)
    language = str(about.get("Language") or "en")
    info: dict[str, Any] = {
        "format_version": FORMAT_VERSION if streams > 1 else 1,
        "session": "",
        "participant": source.label if person else "",
        **({"group": group} if (group := row.get("group") or "") else {}),
        "agent_kind": kind,
        "agent": str(who.get("agent") or kind),
        "oracle": row.get("oracle") == "true",
        "agent_settings": {},
        "agent_settings_hash": str(row.get("agent_settings_hash") or ""),
        "label": "" if who.get("caution") in (None, "n/a") or row.get("oracle") == "true" else str(who["caution"]),
        "paradigm": paradigm.name,
        "paradigm_version": integer_in(row.get("paradigm_version") or paradigm.version, first.path, "paradigm_version"),
        "paradigm_hash": str(row.get("paradigm_hash") or paradigm.hash),
        "paradigm_title": paradigm.title,
        "paradigm_source": paradigm.name,
        "human": paradigm.source.human,
        "generator": generator,
        "streams": streams,
        "seed": None if first.seedless else integer_in(about.get("Seed", 0), first.path, "Seed"),
        **({"seed_from": {"given": False, "independent": True}} if about.get("SeedIndependent") is True else {}),
        "design": str(about.get("Design") or ""),
        "language": language if language in paradigm.instructions else next(iter(paradigm.instructions)),
        "instructions": str(first.sidecar.get("Instructions") or ""),
        "pilot": row.get("pilot") == "true",
        "practice": any(one.get("practice") == "true" for sitting in source.sittings for one in sitting.rows),
        "like": "",
        "created": str(row.get("started_at") or ""),
        "imported": {"format": "bids", "sha256": source.digest, "paradigm_hash": paradigm.hash},
        **(
            {"keys": {"sides": row["keys"], "why": "imported", "swapped": row["keys"] == "swapped", "own": {}}}
            if row.get("keys")
            else {}
        ),
        **({"apparatus": _apparatus(source)} if first.windowed else {}),
        "plan": trials.plan,
        "paradigm_data": data,
    }
    if streams == 1:
        del info["streams"]
    _compare(source, info, events)
    return info, events


def _apparatus(source: TablesOfSession) -> dict[str, Any]:
    presented = as_object(source.sittings[0].sidecar.get("StimulusPresentation"))
    watched = any(row.get("trial_unfocused_ms") is not None for sitting in source.sittings for row in sitting.rows)
    name, version, system = (
        str(presented.get(key) or "") for key in ("SoftwareName", "SoftwareVersion", "OperatingSystem")
    )
    at_page = as_object(source.sittings[0].sidecar.get("SpanLab")).get("Window") == "browser"
    taken = (
        {"window": "browser", "browser": Browser(name, version, system).described}
        if at_page
        else {"psychopy": presented.get("SoftwareVersion")}
    )
    known = {**taken, "hz": presented.get("ScreenRefreshRate"), "screen_px": presented.get("ScreenResolution")}
    return {
        **{name: value for name, value in known.items() if value is not None},
        **({"focus": "watched"} if watched else {}),
    }


def _column(factor: str) -> str:
    return factor if factor in OWN_COLUMNS else f"factor_{factor}"


class _Trials:
    """Makes the trials of a session again, and the events with which they were recorded."""

    def __init__(self, paradigm: Paradigm, generator: Any, draws: Mapping[str, Any]) -> None:
        self._paradigm, self._generator, self._draws = paradigm, generator, draws
        self.plan: list[dict[str, Any]] = []
        self._done: set[str] = set()

    def events(self, sitting: Sitting) -> Iterator[Event]:
        """The events of a sitting."""
        trials: dict[str, list[Row]] = {}
        for row in sitting.rows:
            if row.get("trial_counts", "true") == "true" and row["trial"] is not None:
                key = trial_key(
                    row["practice"] == "true", integer_in(row["trial"], sitting.path, f"line {row['line']}")
                )
                trials.setdefault(key, []).append(row)
        for key, rows in trials.items():
            if key in self._done:
                raise MalformedError(
                    sitting.path, f"line {rows[0]['line']}", f"trial {rows[0]['trial']} was finished before"
                )
            self._done.add(key)
            yield from self._trial(key, rows, sitting)

    def _trial(self, key: str, rows: Sequence[Row], sitting: Sitting) -> Iterator[Event]:
        path = sitting.path
        answers = [row for row in rows if row.get("event_type", "answer") == "answer"]
        if not answers:
            raise MalformedError(
                path, f"line {rows[0]['line']}", f"trial {rows[0]['trial']} has displays and no answer"
            )
        head = answers[0]
        where = f"line {head['line']}"
        levels = {name: self._level(name, head, path) for name in self._paradigm.factors}
        seed = None if sitting.seedless else integer_in(head["seed"], path, where)
        block = integer_in(head["block"], path, where)
        draws = as_object(self._draws.get(key)) or None
        trial = None if seed is None else self._made_again(head, levels, seed, draws, path)
        practice = head["practice"] == "true"
        cuts = _cuts(key, head, path, where)
        attempt = len(cuts) + 1
        planned = {
            "block": block,
            "trial": integer_in(head["trial"], path, where),
            "seed": seed,
            "levels": levels,
            "practice": practice,
            "interval_ms": DEFAULT_INTERVAL_MS,
        }
        if not practice and trial is not None:
            self.plan.append({**planned, **({"draws": draws} if draws else {})})
        yield from cuts
        begin = {
            "event": "trial_start",
            "trial": key,
            "attempt": attempt,
            "block": block,
            "practice": practice,
            "levels": levels if trial is None else dict(trial.levels),
            "seed": seed,
            **_sizes(trial, head, path),
            "started_at": str(head.get("started_at") or ""),
        }
        yield cast(Event, {**begin, **({"paired": head["paired_trial_id"]} if head.get("paired_trial_id") else {})})
        asked = _by_step(answers, path)
        displays = _by_step([row for row in rows if row.get("event_type") == "display"], path)
        made = {} if trial is None else {step.index + 1: step for step in trial.steps}
        if trial is not None and (strange := [number for number in (*asked, *displays) if number not in made]):
            raise MalformedError(path, where, f"the trial has {counted(len(made), 'step')}; found step {strange[0]}")
        told = {
            *asked,
            *displays,
            *(number for number, step in made.items() if step.percept.model_step and not sitting.windowed),
        }
        if trial is None and not sitting.windowed:  # feedback came in a step without a row
            told |= {number + 1 for number, rows_of_step in asked.items() if rows_of_step[0].get("feedback_shown")}
        steps, feedback = 0, None
        for number in sorted(told):
            event = self._step(key, number, made.get(number), asked.get(number, []), displays.get(number, []), sitting)
            event["attempt"] = attempt
            if not steps and sitting.windowed and (absent := _absences(head, path, where)):
                event["happened"] = absent
            if feedback and number not in asked:
                event["feedback"], feedback = feedback, None
            feedback = asked[number][0].get("feedback_shown") if number in asked else feedback
            steps += 1
            yield cast(Event, event)
        yield {"event": "trial_end", "trial": key, "attempt": attempt, "steps": steps}

    def _made_again(
        self, head: Row, levels: Mapping[str, Any], seed: int, draws: Mapping[str, Any] | None, path: Path
    ) -> Trial:
        """The trial of a row, from its seed and levels."""
        where = f"line {head['line']}"
        try:
            trial = compile_trial(
                self._paradigm, resolve_levels(self._paradigm, levels, seed), seed, self._generator, draws
            )
        except SpanLabError as error:
            raise MalformedError(path, where, f"the trial cannot be made again: {str(error).splitlines()[0]}") from None
        if trial.trial_id != head["trial_id"]:
            raise MalformedError(
                path,
                where,
                f"its seed and levels do not give the trial {head['trial_id']}, but another one; is it another"
                " paradigm?",
            )
        return trial

    def _level(self, factor: str, row: Row, path: Path) -> Any:
        """The level of a factor: one that the paradigm has, by what is written of it."""
        text, where = row.get(_column(factor)), f"line {row['line']}"
        known = [level for level in self._paradigm.factors[factor].levels if cell(level) == cell(text)]
        return known[0] if known else parsed_cell(text, TYPES.get(_column(factor), "json"), path, where)

    def _step(
        self, key: str, number: int, step: Step | None, rows: Sequence[Row], displays: Sequence[Row], sitting: Sitting
    ) -> dict[str, Any]:
        path = sitting.path
        if step is None:
            phase = next((str(row["trial_type"]) for row in (*rows, *displays)), "feedback")
            planned_ms = next((number_in(row.get("planned_ms"), path, f"line {row['line']}") for row in displays), None)
        else:
            phase, planned_ms = (
                step.percept.phase,
                (step.percept.displays[0] if sitting.windowed else step.percept.for_machine).ms,
            )
        event: dict[str, Any] = {
            "event": "step",
            "trial": key,
            "step": number,
            "phase": phase,
            "planned_ms": planned_ms,
        }
        if rows:
            event |= self._answered(step, rows, path) if step is not None else self._as_recorded(rows, path)
        if displays:
            event["shown"] = [_shown(row, path) for row in displays]
        return event

    def _as_recorded(self, rows: Sequence[Row], path: Path) -> dict[str, Any]:
        """An answer as its rows say it, where the trial cannot be made again to score it anew."""
        row = rows[0]
        where = f"line {row['line']}"
        outcome, rt, notes = _given(row, path)
        scores = [
            {name: _exact(one, name, path) for name, needed in _SCORED.items() if needed or one.get(name) is not None}
            for one in rows
        ]
        record = {
            name.removeprefix("record_"): _exact(row, name, path) for name in row if name.startswith("record_")
        } | {
            name: _exact(row, name, path)
            for name in OWN_COLUMNS - {*self._paradigm.factors, *_SCORED}
            if row.get(name) is not None
        }
        value = next(iter(_values(row, rows, path)))
        answered = {
            "outcome": outcome,
            "value": value,
            "rt_ms": None if rt is None else round(rt * 1000, 3),
            "raw": None,
            "notes": notes,
        }
        odds = {name: number_in(row.get(name), path, where) for name in ("chance", "blind")}
        return {"ask": integer_in(row["ask"], path, where), **answered, **odds, "record": record, "scores": scores}

    def _answered(self, step: Step, rows: Sequence[Row], path: Path) -> dict[str, Any]:
        row = rows[0]
        where = f"line {row['line']}"
        ask = step.percept.ask
        if ask is None:
            raise MalformedError(path, where, f"nothing is asked in step {row['step']} of this trial")
        outcome, rt, notes = _given(row, path)
        for value in _values(row, rows, path):
            try:
                judged = judge(
                    ask,
                    step.truth,
                    Response(value, None if rt is None else round(rt * 1000, 3), None, cast(Any, outcome), notes),
                )
            except (TypeError, ValueError, KeyError, IndexError, AttributeError):
                continue  # no answer of this kind
            scores = [(cell(score["answer"]), cell(score["correct"])) for score in judged.scores]
            if judged.response.outcome == outcome and scores == [
                (cell(one["answer"]), cell(one["correct"])) for one in rows
            ]:
                blind = number_in(row.get("blind"), path, where)
                answered = {
                    "outcome": outcome,
                    "value": judged.response.value,
                    "rt_ms": judged.response.rt_ms,
                    "raw": None,
                    "notes": notes,
                }
                truth = {
                    "chance": step.truth.chance,
                    "blind": blind,
                    "record": dict(step.truth.record),
                    "scores": list(judged.scores),
                }
                return {"ask": integer_in(row["ask"], path, where), **answered, **truth}
        raise MalformedError(
            path,
            where,
            f"the answer '{row.get('value') or row['answer']}' does not come out as it was scored; free text may have"
            " been left out",
        )


def _given(row: Row, path: Path) -> tuple[str, float | None, dict[str, Any]]:
    """Outcome, reaction time (s) and the agent's notes of an answer."""
    where, outcome = f"line {row['line']}", row["outcome"]
    if outcome not in ("answered", "omitted", "invalid"):
        raise MalformedError(path, where, f"outcome is answered, omitted or invalid; found {outcome}")
    parsed = {name: parsed_cell(row[name], TYPES[name], path, where) for name in _NOTES if row.get(name) is not None}
    return (
        outcome,
        number_in(row.get("response_time"), path, where),
        {name: value for name, value in parsed.items() if value is not False},
    )


def _exact(row: Row, column: str, path: Path) -> Any:
    """A cell as its column's type has it; where that could be anything, as it is written unless its
    value is written alike."""
    text, type_ = row.get(column), TYPES.get(column, "json")
    value = parsed_cell(text, type_, path, f"line {row['line']}")
    return text if type_ == "json" and cell(value) != cell(text) else value


def _values(row: Row, rows: Sequence[Row], path: Path) -> Iterator[Any]:
    """The whole answer to a question, or, where the table does not have it, those that its items
    may come from."""
    if row.get("value") is not None:
        try:
            yield as_tuple(json.loads(row["value"]))
        except (ValueError, RecursionError):
            raise MalformedError(path, f"line {row['line']}", f"value is JSON; found {row['value']}") from None
        return
    if row["outcome"] != "answered":
        yield None
        return
    items = [
        one["answer"]
        for one in sorted(rows, key=lambda one: float(one.get("output_position") or "inf"))
        if one["answer"] is not None
    ]
    plain = [int(text) if re.fullmatch("-?[0-9]{1,15}", text) else text for text in items]
    yield from ([plain[0], items[0]] if len(items) == 1 else [])
    yield from (tuple(plain), tuple(items))
    yield tuple(sorted(plain, key=str))


def _shown(row: Row, path: Path) -> dict[str, Any]:
    where = f"line {row['line']}"
    onset = number_in(row["onset"], path, where)
    shown = {
        name: parsed_cell(row.get(name), "number" if name.endswith("_ms") else "integer", path, where)
        for name in OF_DISPLAYS
    }
    if shown["shown_frames"] and (onset is None or shown["shown_ms"] is None):
        raise MalformedError(path, where, "a display that was shown has an onset and shown_ms; one of them is missing")
    return {
        **shown,
        "onset_ms": None if onset is None else round(onset * 1000, 3),
        "dropped_frames": shown["dropped_frames"] or 0,
    }


def _absences(row: Row, path: Path, where: str) -> dict[str, Any]:
    """Pauses and losses of focus in a trial, of which the table has the sums; and why its times
    cannot be true."""
    columns = (("paused", "trial_paused_ms"), ("focus_lost", "trial_unfocused_ms"))
    reasons = {"implausible": text.split(", ")} if (text := row.get("trial_implausible")) else {}
    return reasons | {
        name: [{"for_ms": lasted}] for name, column in columns if (lasted := number_in(row.get(column), path, where))
    }


def _sizes(trial: Trial | None, row: Row, path: Path) -> dict[str, Any]:
    """The identity and the sizes of a trial; of one that cannot be made again, its sizes as the
    table has them."""
    if trial is not None:
        return {"trial_id": trial.trial_id, "set_size": trial.set_size, "list_length": trial.list_length}
    return {
        "trial_id": "",
        **{
            name: parsed_cell(row.get(name), "integer", path, f"line {row['line']}")
            for name in ("set_size", "list_length")
        },
    }


def _by_step(rows: Sequence[Row], path: Path) -> dict[int, list[Row]]:
    """Rows of a trial by the number of their step."""
    steps = grouped((integer_in(row["step"], path, f"line {row['line']}"), row) for row in rows)
    return steps


def _cuts(key: str, row: Row, path: Path, where: str) -> list[Event]:
    """The earlier attempts at a trial, which were cut off: the table has how many there were, and
    how many of them because a page was loaded anew."""
    cuts, reloads = (integer_in(row.get(name) or "0", path, where) for name in ("trial_cuts", "trial_reloads"))
    if not 0 <= reloads <= cuts <= _MOST_CUTS:
        raise MalformedError(
            path,
            where,
            f"trial_cuts and trial_reloads are numbers of attempts before this one; found {cuts} and {reloads}",
        )
    return [
        {"event": "trial_cut", "trial": key, "attempt": n, "why": _RELOADED if n <= reloads else "unknown"}
        for n in range(1, cuts + 1)
    ]


def _compare(source: TablesOfSession, info: Mapping[str, Any], events: Sequence[Event]) -> None:
    """The response table of what was made must say what the rows say."""
    made = grouped(
        ((cell(row["practice"]), cell(row["trial"]), cell(row["step"])), row)
        for row in response_rows(cast(Any, info), events)
    )
    for sitting in source.sittings:
        for row in sitting.rows:
            if row.get("event_type", "answer") != "answer":
                continue
            key = (row["practice"], row["trial"], row["step"])
            new_row = made[key].pop(0) if made.get(key) else None
            for name, text in row.items():
                if new_row is None or name not in new_row or name in _NOT_COMPARED:
                    continue
                if (text is None and name in ("streams", "chance", "paradigm_version")) or cell(new_row[name]) == cell(
                    text
                ):
                    continue
                raise MalformedError(
                    sitting.path,
                    f"line {row['line']}",
                    f"{name} is {cell(text)}, and comes out as {cell(new_row[name])} when the trial is made again",
                )


def _earlier(output: Path, info: Mapping[str, Any]) -> Path | None:
    for folder in sorted(output.glob(f"{_stem(info)}*")):
        if (folder / "session.json").exists() and as_object(read_session(folder).get("imported")).get("sha256") == info[
            "imported"
        ]["sha256"]:
            return folder
    return None


def _stem(info: Mapping[str, Any]) -> str:
    return session_stem(info["paradigm"], info["participant"] or info["agent"], info["seed"])


def _write(making: Path, output: Path, info: dict[str, Any], events: Sequence[Event]) -> Path:
    taken = {path.name for place in (making, output) for path in place.iterdir()}
    stem = _stem(info)
    name = next(one for one in (stem, *(f"{stem}-{number}" for number in range(2, len(taken) + 3))) if one not in taken)
    ending = {"event": "session_end", "at": str(info["created"])}
    try:
        lines = b"".join(json_line(event) for event in [*events, ending])
    except ValueError:
        raise SpanLabError(f"the session {name} has a number that is too large, or none") from None
    folder = making / name
    folder.mkdir()
    write_info(folder, {**info, "session": name})
    write_whole(folder / "events.jsonl", lines)
    write_responses(folder)
    return folder
