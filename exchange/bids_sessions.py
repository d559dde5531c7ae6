"""Sessions from a BIDS data set: its rows, with the trials made again from their seeds and levels, and the answers scored again.

What comes out must be what the rows say, cell by cell; anything else is reported, and nothing is imported. A table of somebody else's can be read where its
columns say the same under other names.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import Field

from ..agents.base import Response
from ..core.agent_kinds import PARTICIPANT, kind_named
from ..core.atomic_files import json_line, write_whole
from ..core.errors import Problem, SpanLabError
from ..core.json_values import as_object, as_tuple
from ..paradigms import Paradigm, Step, compile_trial, load_paradigm, paradigm_from_data, resolve_levels
from ..paradigms.compile import DEFAULT_INTERVAL_MS
from ..sessions.record.columns import COLUMNS, OWN_COLUMNS, response_rows
from ..sessions.record.events import Event, Notes
from ..sessions.record.marking import fields_of
from ..sessions.record.reader import FORMAT_VERSION, read_session, trial_key, write_responses
from ..sessions.session import session_stem, write_info
from ..sessions.trial_log import judge
from .format import Flag, Options, Report, SkipMalformed, counted
from .malformed import refused
from .sharing import cell
from .staging import all_or_none

_TABLE = re.compile(
    r"(?P<who>sub-(?P<label>[A-Za-z0-9]+))(_ses-(?P<visit>[A-Za-z0-9]+))?_task-(?P<task>[A-Za-z0-9]+)(_[a-z]+-[A-Za-z0-9]+)*_(?P<suffix>events|beh)\.tsv"
)
#: without these, no session can be made
_NEEDED = ("block", "trial", "practice", "seed", "trial_id", "step", "ask", "trial_type", "outcome", "answer", "correct", "generator")
#: of displays, in a table with onsets
_OF_EVENTS = ("onset", "duration", "event_type")
_DISPLAY = ("planned_ms", "shown_ms", "planned_frames", "shown_frames", "dropped_frames")
#: what is made again from displays: a pause, or a wait for an answer, is in the table only as its sum
REMADE = ("trial_off_ms", "trial_dropped_frames", "planned_ms")
#: of the response table, what no row of a data set has, or what stands under another name
_NOT_COMPARED = {"participant_id", "session", "participant", "agent_kind", "agent", "onset_ms", "rt_ms", "phase", *_DISPLAY, *REMADE, "blind", "keys"}
_TYPES = {column.name: column.type for column in COLUMNS}
_NOTES = tuple(one.name for one in fields_of(Notes))
Row = dict[str, Any]


class BidsReading(Options):
    """Options for reading BIDS data sets."""

    skip_malformed: SkipMalformed = False
    paradigm: Annotated[
        str | None, Field(description="the paradigm, if the data set does not have it: a name in the library, or a YAML file"), Flag("--as", "PARADIGM")
    ] = None
    columns: Annotated[
        str | None, Field(description="columns with other names than SpanLab's, such as seed=trial_seed,answer=response"), Flag(metavar="NAME=THEIRS,...")
    ] = None


@dataclass(slots=True)
class _Sitting:
    """A table with what stands beside it."""

    path: Path
    rows: list[Row]
    sidecar: Mapping[str, Any]
    windowed: bool

    @property
    def about(self) -> Mapping[str, Any]:
        """What SpanLab wrote of the session."""
        return as_object(self.sidecar.get("SpanLab"))


@dataclass(slots=True)
class _Source:
    """The tables of one session, in the order of its sittings."""

    label: str
    task: str
    sittings: list[_Sitting] = field(default_factory=list["_Sitting"])

    @property
    def digest(self) -> str:
        """A hash of all its tables."""
        return hashlib.sha256(b"".join(one.path.read_bytes() for one in self.sittings)).hexdigest()


class _MalformedError(Exception):
    """Something in a table is not what it should be: file, place and message."""

    def __init__(self, path: Path, place: str, message: str) -> None:
        self.problem = Problem(str(path), place, message)
        super().__init__(message)


def import_sessions(data_set: Path, output: Path, options: BidsReading, report: Report) -> None:
    """Make a session of the tables of each session of a data set; all of them appear in the folder ``output``, or none.

    Raises
    ------
    SpanLabError
        when it is no data set, columns are missing, or (unless it is left out) for everything that is malformed.
    """
    renamed = _renamed(options.columns)
    participants = _participants(data_set)
    sources, problems = _sources(data_set, renamed)
    with all_or_none(output) as making:
        made: list[tuple[Path, bool, _Source]] = []
        for source in sources:
            try:
                info, events = _session(data_set, source, participants.get(f"sub-{source.label}", {}), options)
            except _MalformedError as error:
                problems.append(error.problem)
                continue
            earlier = _earlier(output, info)
            made.append((earlier or _write(making, output, info, events), earlier is None, source))
        if problems and not options.skip_malformed:
            raise refused(problems)
        if not made:
            raise SpanLabError("\n".join([*map(str, problems), f"{data_set}: no session is left to import"]))
    report.left_out(problems)
    for folder, new, source in made:
        rows = sum(row.get("event_type", "answer") == "answer" for sitting in source.sittings for row in sitting.rows)
        report.done(f"{output / folder.name}: {counted(rows, 'answered item')}" if new else f"{folder}: it was imported before")


def _renamed(text: str | None) -> dict[str, str]:
    """Their names of columns by SpanLab's."""
    names: dict[str, str] = {}
    for part in (text or "").split(","):
        ours, equals, theirs = part.strip().partition("=")
        if part.strip() and not (equals and ours and theirs):
            raise SpanLabError(f"--columns: expected NAME=THEIRS, such as seed=trial_seed; found '{part.strip()}'")
        if part.strip():
            names[theirs.strip()] = ours.strip()
    return names


def _sources(data_set: Path, renamed: Mapping[str, str]) -> tuple[list[_Source], list[Problem]]:
    if not (data_set / "dataset_description.json").exists():
        raise SpanLabError(f"{data_set} is not a BIDS data set: it has no dataset_description.json")
    sources: dict[tuple[str, ...], _Source] = {}
    problems: list[Problem] = []
    lacking: dict[tuple[str, ...], Path] = {}
    for path in sorted(data_set.glob("sub-*/**/beh/*.tsv")):
        match = _TABLE.fullmatch(path.name)
        if match is None:
            continue
        try:
            sitting = _read_table(path, match, data_set, renamed)
        except _MalformedError as error:
            problems.append(error.problem)
            continue
        there = set(sitting.rows[0]) if sitting.rows else set()
        if missing := tuple(name for name in (*_NEEDED, *(_OF_EVENTS if sitting.windowed else ())) if name not in there):
            lacking.setdefault(missing, path)
            continue
        number = str(sitting.about.get("Session", path.name))
        key = (match["label"], match["visit"] or "", match["task"], match["suffix"], number)
        sources.setdefault(key, _Source(match["label"], match["task"])).sittings.append(sitting)
    if lacking:
        raise SpanLabError("\n".join([*(_lacks(path, missing) for missing, path in lacking.items()), _REMEDY]))
    if not sources and not problems:
        raise SpanLabError(f"{data_set} has no table of answers: sub-*/[ses-*/]beh/*_events.tsv or *_beh.tsv")
    for source in sources.values():
        source.sittings.sort(key=lambda one: _integer(one.about.get("Sitting", 1), one.path, "Sitting"))
    return list(sources.values()), problems


_REMEDY = (
    "without these columns the trials cannot be made again, and nothing was imported; "
    "if they have other names there, give these names with --columns, such as --columns seed=trial_seed,answer=response"
)


def _lacks(path: Path, missing: Sequence[str]) -> str:
    several = len(missing) > 1
    return f"{path} lacks the column{'s' * several} {', '.join(missing)}"


def _read_table(path: Path, match: re.Match[str], data_set: Path, renamed: Mapping[str, str]) -> _Sitting:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header, *lines = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
    except (OSError, ValueError, csv.Error) as error:
        raise _MalformedError(path, "", f"cannot be read as a table ({error})") from None
    names = [renamed.get(name, name) for name in header]
    if len(set(names)) < len(names):
        raise _MalformedError(path, "line 1", "two columns have the same name")
    for number, line in enumerate(lines, start=2):
        if len(line) != len(names):
            raise _MalformedError(path, f"line {number}", f"it has {counted(len(line), 'cell')}, and the first line {len(names)}")
    rows = [
        {name: None if text in ("n/a", "") else text for name, text in zip(names, line, strict=True)} | {"line": number}
        for number, line in enumerate(lines, start=2)
    ]
    if not rows:
        raise _MalformedError(path, "", "the table has no rows")
    task = f"task-{match['task']}_{match['suffix']}.json"
    sidecar = {**_json(data_set / task), **_json(path.with_suffix(".json"))}
    return _Sitting(path, rows, sidecar, match["suffix"] == "events")


def _json(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        return as_object(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError) as error:
        raise _MalformedError(path, "", f"cannot be read as JSON ({error})") from None


def _participants(data_set: Path) -> dict[str, dict[str, str]]:
    path = data_set / "participants.tsv"
    if not path.exists():
        return {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return {str(row.get("participant_id")): row for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)}
    except (OSError, ValueError, csv.Error) as error:
        raise SpanLabError(f"{path} cannot be read as a table ({error})") from None


def _paradigm(data_set: Path, source: _Source, options: BidsReading, streams: int) -> tuple[Paradigm, Mapping[str, Any]]:
    """The paradigm of a session, and its content."""
    first = source.sittings[0]
    digest, name = str(first.about.get("ParadigmHash", "")), str(first.about.get("Paradigm", ""))
    path = data_set / "code" / "spanlab" / f"{source.task}-{digest}.json"
    try:
        if options.paradigm is None and digest.isalnum() and path.exists():
            stored = _json(path)
            paradigm = paradigm_from_data(as_object(stored.get("data")), str(stored.get("paradigm")), streams)
        elif options.paradigm or name:
            paradigm = load_paradigm(options.paradigm or name)
            paradigm = paradigm_from_data(paradigm.data, paradigm.name, streams)
        else:
            raise _MalformedError(first.path, "", "nothing says of which paradigm it is; name it with --as PARADIGM")
    except SpanLabError as error:
        raise _MalformedError(first.path, "", f"its paradigm cannot be read ({str(error).splitlines()[0]})") from None
    return paradigm, paradigm.data


def _session(data_set: Path, source: _Source, who: Mapping[str, str], options: BidsReading) -> tuple[dict[str, Any], list[Event]]:
    """``session.json`` and the events of a session, checked against its rows."""
    first = source.sittings[0]
    row = next((one for sitting in source.sittings for one in sitting.rows if one.get("event_type", "answer") == "answer"), None)
    if row is None:
        raise _MalformedError(first.path, "", "it has no answered item")
    streams = _integer(row.get("streams") or 1, first.path, f"line {row['line']}")
    paradigm, data = _paradigm(data_set, source, options, streams)
    if lacking := [name for name in paradigm.factors if _column(name) not in row]:
        raise _MalformedError(first.path, "line 1", f"the level of {lacking[0]} is missing: there is no column {_column(lacking[0])}")
    about = first.about
    person = (who.get("participant_type") or "person") != "machine"
    kind = str(who.get("agent_kind") or PARTICIPANT.name)
    if kind_named(kind).person != person:
        raise _MalformedError(data_set / "participants.tsv", f"sub-{source.label}", f"a {'person' if person else 'machine'} of the kind '{kind}'")
    generator = row["generator"]
    if generator not in ("corrected", "published"):
        raise _MalformedError(first.path, f"line {row['line']}", f"generator is corrected or published; found {generator}")
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
        "agent_kind": kind,
        "agent": str(who.get("agent") or kind),
        "oracle": row.get("oracle") == "true",
        "agent_settings": {},
        "agent_settings_hash": str(row.get("agent_settings_hash") or ""),
        "label": "" if who.get("caution") in (None, "n/a") or row.get("oracle") == "true" else str(who["caution"]),
        "paradigm": paradigm.name,
        "paradigm_version": _integer(row.get("paradigm_version") or paradigm.version, first.path, "paradigm_version"),
        "paradigm_hash": str(row.get("paradigm_hash") or paradigm.hash),
        "paradigm_title": paradigm.title,
        "paradigm_source": paradigm.name,
        "human": paradigm.source.human,
        "generator": generator,
        "streams": streams,
        "seed": _integer(about.get("Seed", 0), first.path, "Seed"),
        "design": str(about.get("Design") or ""),
        "language": language if language in paradigm.instructions else next(iter(paradigm.instructions)),
        "instructions": str(first.sidecar.get("Instructions") or ""),
        "pilot": row.get("pilot") == "true",
        "practice": any(one.get("practice") == "true" for sitting in source.sittings for one in sitting.rows),
        "like": "",
        "created": str(row.get("started_at") or ""),
        "imported": {"format": "bids", "sha256": source.digest, "paradigm_hash": paradigm.hash},
        **({"keys": {"sides": row["keys"], "why": "imported", "swapped": row["keys"] == "swapped", "own": {}}} if row.get("keys") else {}),
        **({"apparatus": _apparatus(source)} if first.windowed else {}),
        "plan": trials.plan,
        "paradigm_data": data,
    }
    if streams == 1:
        del info["streams"]
    _compare(source, info, events)
    return info, events


def _apparatus(source: _Source) -> dict[str, Any]:
    presented = as_object(source.sittings[0].sidecar.get("StimulusPresentation"))
    watched = any(row.get("trial_unfocused_ms") is not None for sitting in source.sittings for row in sitting.rows)
    known = {"psychopy": presented.get("SoftwareVersion"), "hz": presented.get("ScreenRefreshRate"), "screen_px": presented.get("ScreenResolution")}
    return {**{name: value for name, value in known.items() if value is not None}, **({"focus": "watched"} if watched else {})}


def _column(factor: str) -> str:
    return factor if factor in OWN_COLUMNS else f"factor_{factor}"


class _Trials:
    """Makes the trials of a session again, and the events with which they were recorded."""

    def __init__(self, paradigm: Paradigm, generator: Any, draws: Mapping[str, Any]) -> None:
        self._paradigm, self._generator, self._draws = paradigm, generator, draws
        self.plan: list[dict[str, Any]] = []
        self._done: set[str] = set()

    def events(self, sitting: _Sitting) -> Iterator[Event]:
        """The events of a sitting."""
        trials: dict[str, list[Row]] = {}
        for row in sitting.rows:
            if row.get("trial_counts", "true") == "true" and row["trial"] is not None:
                key = trial_key(row["practice"] == "true", _integer(row["trial"], sitting.path, f"line {row['line']}"))
                trials.setdefault(key, []).append(row)
        for key, rows in trials.items():
            if key in self._done:
                raise _MalformedError(sitting.path, f"line {rows[0]['line']}", f"trial {rows[0]['trial']} was finished before")
            self._done.add(key)
            yield from self._trial(key, rows, sitting)

    def _trial(self, key: str, rows: Sequence[Row], sitting: _Sitting) -> Iterator[Event]:
        path = sitting.path
        answers = [row for row in rows if row.get("event_type", "answer") == "answer"]
        if not answers:
            raise _MalformedError(path, f"line {rows[0]['line']}", f"trial {rows[0]['trial']} has displays and no answer")
        head = answers[0]
        where = f"line {head['line']}"
        levels = {name: self._level(name, head, path) for name in self._paradigm.factors}
        seed, block = _integer(head["seed"], path, where), _integer(head["block"], path, where)
        draws = as_object(self._draws.get(key)) or None
        try:
            trial = compile_trial(self._paradigm, resolve_levels(self._paradigm, levels, seed), seed, self._generator, draws)
        except SpanLabError as error:
            raise _MalformedError(path, where, f"the trial cannot be made again: {str(error).splitlines()[0]}") from None
        if trial.trial_id != head["trial_id"]:
            raise _MalformedError(path, where, f"its seed and levels do not give the trial {head['trial_id']}, but another one; is it another paradigm?")
        practice = head["practice"] == "true"
        planned = {
            "block": block,
            "trial": _integer(head["trial"], path, where),
            "seed": seed,
            "levels": levels,
            "practice": practice,
            "interval_ms": DEFAULT_INTERVAL_MS,
        }
        if not practice:
            self.plan.append({**planned, **({"draws": draws} if draws else {})})
        begin: dict[str, Any] = {
            "event": "trial_start",
            "trial": key,
            "attempt": 1,
            "block": block,
            "practice": practice,
            "levels": dict(trial.levels),
            "seed": seed,
        }
        begin |= {"trial_id": trial.trial_id, "set_size": trial.set_size, "list_length": trial.list_length, "started_at": str(head.get("started_at") or "")}
        yield cast(Event, {**begin, **({"paired": head["paired_trial_id"]} if head.get("paired_trial_id") else {})})
        asked: dict[int, list[Row]] = {}
        for row in answers:
            asked.setdefault(_integer(row["step"], path, f"line {row['line']}"), []).append(row)
        displays: dict[int, list[Row]] = {}
        for row in rows:
            if row.get("event_type") == "display":
                displays.setdefault(_integer(row["step"], path, f"line {row['line']}"), []).append(row)
        if strange := [number for number in (*asked, *displays) if not 1 <= number <= len(trial.steps)]:
            raise _MalformedError(path, where, f"the trial has {counted(len(trial.steps), 'step')}; found step {strange[0]}")
        steps, feedback = 0, None
        for step in trial.steps:
            number = step.index + 1
            if number in asked or number in displays or (step.percept.model_step and not sitting.windowed):
                event = self._step(key, step, asked.get(number, []), displays.get(number, []), sitting)
                if not steps and sitting.windowed and (absent := _absences(head, path, where)):
                    event["happened"] = absent
                if feedback and number not in asked:
                    event["feedback"], feedback = feedback, None
                feedback = asked[number][0].get("feedback_shown") if number in asked else feedback
                steps += 1
                yield cast(Event, event)
        yield {"event": "trial_end", "trial": key, "attempt": 1, "steps": steps}

    def _level(self, factor: str, row: Row, path: Path) -> Any:
        """The level of a factor: one that the paradigm has, by what is written of it."""
        text, where = row.get(_column(factor)), f"line {row['line']}"
        known = [level for level in self._paradigm.factors[factor].levels if cell(level) == cell(text)]
        return known[0] if known else _parsed(text, _TYPES.get(_column(factor), "json"), path, where)

    def _step(self, key: str, step: Step, rows: Sequence[Row], displays: Sequence[Row], sitting: _Sitting) -> dict[str, Any]:
        path = sitting.path
        planned = step.percept.displays[0] if sitting.windowed else step.percept.for_machine
        event: dict[str, Any] = {"event": "step", "trial": key, "attempt": 1, "step": step.index + 1, "phase": step.percept.phase, "planned_ms": planned.ms}
        if rows:
            event |= self._answered(step, rows, path)
        if displays:
            event["shown"] = [_shown(row, path) for row in displays]
        return event

    def _answered(self, step: Step, rows: Sequence[Row], path: Path) -> dict[str, Any]:
        row = rows[0]
        where = f"line {row['line']}"
        ask = step.percept.ask
        if ask is None or step.truth.answer is None:
            raise _MalformedError(path, where, f"nothing is asked in step {row['step']} of this trial")
        outcome = row["outcome"]
        if outcome not in ("answered", "omitted", "invalid"):
            raise _MalformedError(path, where, f"outcome is answered, omitted or invalid; found {outcome}")
        rt = _number(row.get("response_time"), path, where)
        parsed = {name: _parsed(row[name], _TYPES[name], path, where) for name in _NOTES if row.get(name) is not None}
        notes = {name: value for name, value in parsed.items() if value is not False}
        for value in _values(row, rows, path):
            try:
                judged = judge(ask, step.truth, Response(value, None if rt is None else round(rt * 1000, 3), None, cast(Any, outcome), notes))
            except (TypeError, ValueError, KeyError, IndexError, AttributeError):
                continue  # no answer of this kind
            found = [(cell(score["answer"]), str(score["correct"]).lower()) for score in judged.scores]
            if judged.response.outcome == outcome and found == [(cell(one["answer"]), one["correct"]) for one in rows]:
                blind = _number(row.get("blind"), path, where)
                answered = {"outcome": outcome, "value": judged.response.value, "rt_ms": judged.response.rt_ms, "raw": None, "notes": notes}
                truth = {"chance": step.truth.chance, "blind": blind, "record": dict(step.truth.record), "scores": list(judged.scores)}
                return {"ask": _integer(row["ask"], path, where), **answered, **truth}
        raise _MalformedError(
            path, where, f"the answer '{row.get('value') or row['answer']}' does not come out as it was scored; free text may have been left out"
        )


def _values(row: Row, rows: Sequence[Row], path: Path) -> Iterator[Any]:
    """The whole answer to a question, or, where the table does not have it, those that its items may come from."""
    if row.get("value") is not None:
        try:
            yield as_tuple(json.loads(row["value"]))
        except (ValueError, RecursionError):
            raise _MalformedError(path, f"line {row['line']}", f"value is JSON; found {row['value']}") from None
        return
    if row["outcome"] != "answered":
        yield None
        return
    items = [one["answer"] for one in sorted(rows, key=lambda one: float(one.get("output_position") or "inf")) if one["answer"] is not None]
    plain = [int(text) if re.fullmatch("-?[0-9]{1,15}", text) else text for text in items]
    yield from ([plain[0], items[0]] if len(items) == 1 else [])
    yield from (tuple(plain), tuple(items))
    yield tuple(sorted(plain, key=str))


def _shown(row: Row, path: Path) -> dict[str, Any]:
    where = f"line {row['line']}"
    onset = _number(row["onset"], path, where)
    shown = {name: _parsed(row.get(name), "number" if name.endswith("_ms") else "integer", path, where) for name in _DISPLAY}
    return {**shown, "onset_ms": None if onset is None else round(onset * 1000, 3), "dropped_frames": shown["dropped_frames"] or 0}


def _absences(row: Row, path: Path, where: str) -> dict[str, Any]:
    """Pauses and losses of focus in a trial, of which the table has the sums."""
    columns = (("paused", "trial_paused_ms"), ("focus_lost", "trial_unfocused_ms"))
    return {name: [{"for_ms": lasted}] for name, column in columns if (lasted := _number(row.get(column), path, where))}


def _compare(source: _Source, info: Mapping[str, Any], events: Sequence[Event]) -> None:
    """The response table of what was made must say what the rows say."""
    made: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for row in response_rows(cast(Any, info), events):
        made.setdefault((cell(row["practice"]), cell(row["trial"]), cell(row["step"])), []).append(row)
    for sitting in source.sittings:
        for row in sitting.rows:
            if row.get("event_type", "answer") != "answer":
                continue
            key = (row["practice"], row["trial"], row["step"])
            found = made[key].pop(0) if made.get(key) else None
            for name, text in row.items():
                if found is None or name not in found or name in _NOT_COMPARED:
                    continue
                if (text is None and name in ("streams", "chance", "paradigm_version")) or cell(found[name]) == cell(text):
                    continue
                raise _MalformedError(
                    sitting.path, f"line {row['line']}", f"{name} is {cell(text)}, and comes out as {cell(found[name])} when the trial is made again"
                )


def _earlier(output: Path, info: Mapping[str, Any]) -> Path | None:
    for folder in sorted(output.glob(f"{_stem(info)}*")):
        if (folder / "session.json").exists() and as_object(read_session(folder).get("imported")).get("sha256") == info["imported"]["sha256"]:
            return folder
    return None


def _stem(info: Mapping[str, Any]) -> str:
    return session_stem(info["paradigm"], info["participant"] or info["agent"], info["seed"])


def _write(making: Path, output: Path, info: dict[str, Any], events: Sequence[Event]) -> Path:
    taken = {path.name for place in (making, output) for path in place.iterdir()}
    stem = _stem(info)
    name = next(one for one in (stem, *(f"{stem}-{number}" for number in range(2, len(taken) + 3))) if one not in taken)
    folder = making / name
    folder.mkdir()
    write_info(folder, {**info, "session": name})
    write_whole(folder / "events.jsonl", b"".join(json_line(event) for event in [*events, {"event": "session_end", "at": str(info["created"])}]))
    write_responses(folder)
    return folder


def _integer(value: Any, path: Path, where: str) -> int:
    text = str(value)
    if not re.fullmatch("-?[0-9]{1,18}", text):
        raise _MalformedError(path, where, f"expected a whole number; found {text[:40]}")
    return int(text)


def _number(text: str | None, path: Path, where: str) -> float | None:
    if text is None:
        return None
    if not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?([eE]-?[0-9]{1,2})?", text):
        raise _MalformedError(path, where, f"expected a number; found {text[:40]}")
    return float(text)


def _parsed(text: str | None, type_: str, path: Path, where: str) -> Any:
    """A cell as its column's type has it. Levels of factors and recorded values (json) are numbers where they look like one."""
    if text is None or type_ == "string":
        return text
    if type_ == "integer":
        return _integer(text, path, where)
    if type_ == "number":
        return _number(text, path, where)
    if text in ("true", "false"):
        return text == "true"
    if type_ == "boolean":
        raise _MalformedError(path, where, f"expected true or false; found {text[:40]}")
    try:
        return as_tuple(json.loads(text)) if not re.search("[A-Za-z]{3}", text) else text
    except (ValueError, RecursionError):
        return text
