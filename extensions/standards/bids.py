"""BIDS: a data set of tab-separated tables, one per session, with a description of every column.

What was at a window becomes ``_events.tsv``, with onsets: a row for each display, and one for each
answered item. What has no times on a clock (models, which take steps and not milliseconds) becomes
``_beh.tsv``: the response table without onsets.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, cast

from typing_extensions import override

from spanlab.core import SpanLabError, __version__, whole_folder, write_json
from spanlab.exchange import Format, Place, Report, Side, counted
from spanlab.sessions.record import (
    Column,
    Event,
    SessionInfo,
    ShownDisplay,
    browser_of,
    fields_of,
    finished_trials,
    read_events,
    response_rows,
    seed_independent,
    trial_key,
)

from .sharing import SESSIONS, SharedData, SharedSession, Sharing, cell, cells, gather

_VERSION = "1.10.0"
#: where the paradigms are, of which BIDS knows nothing
PARADIGMS = "code/spanlab"
#: the response table's names for what BIDS has names of its own for
_RENAMED = {"rt_ms": "response_time", "onset_ms": "onset"}
#: of displays, not of items
_OF_DISPLAYS = ("planned_ms", "shown_ms", "planned_frames", "shown_frames", "dropped_frames")
_EVENT_COLUMNS = {
    "onset": {
        "Description": (
            "onset of the display, or of the display with which the question began, from the first volume of the"
            " scanner; from the start of the sitting where there was no scanner"
        ),
        "Units": "s",
    },
    "duration": {"Description": "duration of the display, or of all displays of the question together", "Units": "s"},
    "trial_type": {"Description": "phase of the step, such as probe"},
    "response_time": {
        "Description": "time from the onset of the question to the answer; n/a where there was none",
        "Units": "s",
    },
    "event_type": {
        "Description": "type of the row",
        "Levels": {
            "display": "one display, as it was shown",
            "answer": "an answered item of the question that began at this onset",
        },
    },
    "value": {"Description": "the whole answer to the question, of which the row has one item; JSON"},
    "trial_counts": {
        "Description": (
            "whether the trial was finished; what was shown in one that was cut off or taken again is here, and its"
            " answers are not"
        )
    },
}
_BEH_COLUMNS = {name: _EVENT_COLUMNS[name] for name in ("trial_type", "response_time", "value")}
_PARTICIPANTS = {
    "participant_id": {"Description": "pseudonym of a person, or name of a machine"},
    "participant_type": {
        "Description": "who took part",
        "Levels": {"person": "a person", "machine": "a model, a network or a simulated observer"},
    },
    "species": {"Description": "n/a for machines"},
    "agent_kind": {"Description": "what kind of participant it is; `participant` for people"},
    "agent": {"Description": "name of the machine; `participant` for people"},
    "caution": {"Description": "remark that must accompany its data"},
}
#: of studies with groups alone
_GROUP = {"group": {"Description": "group of the participant in the study; n/a for those in none"}}


@dataclass(slots=True)
class _Table:
    """A table of one session, or of one sitting of a session.

    Parameters
    ----------
    sitting : of a session that went on after an interruption: which one, from 1
    suffix : events or beh
    """

    session: SharedSession
    sitting: int
    suffix: str
    columns: list[str]
    rows: Iterable[Mapping[str, Any]]


class Bids(Format[Any, Sharing]):
    """Sessions as a BIDS data set."""

    name = "bids"
    writes = Side(
        "sessions",
        "Sessions as a BIDS data set: events with onsets where there was a window, answers where there was none.",
        Sharing,
        SESSIONS,
        Place("new folder", "DIR"),
    )

    @override
    def write(self, sources: Sequence[str], output: Path, options: Sharing, report: Report) -> None:
        data = gather(sources, options, report, output)
        with whole_folder(output) as folder:
            _write_participants(folder, data)
            tables = _write_tables(folder, data)
            write_json(folder / "dataset_description.json", _description(data))
            (folder / "README.md").write_text(_readme(data) + data.remark, encoding="utf-8")
        events = sum(name.endswith("_events.tsv") for name in tables)
        kinds = [
            f"{counted(many, 'table')} of {what}"
            for what, many in (("events", events), ("answers", len(tables) - events))
            if many
        ]
        report.done(
            f"{output}: {counted(len(data.sessions), 'session')} of {data.who}; {', '.join(kinds) or 'no table'}"
        )


def _write_tables(folder: Path, data: SharedData) -> list[str]:
    """A table for each sitting of each session, with what it was taken with beside it; one
    description of the columns for each task."""
    written: list[str] = []
    columns: dict[tuple[str, str], set[str]] = defaultdict(set)
    runs: dict[str, int] = defaultdict(int)
    sessions: dict[str, int] = defaultdict(int)
    titles: dict[str, tuple[str, str]] = {}
    for session in data.sessions:
        held = titles.setdefault(session.task.casefold(), (session.info["paradigm"], session.title))
        if held[0] != session.info["paradigm"]:
            raise SpanLabError(
                f"the paradigms '{held[0]}' and '{session.info['paradigm']}' have the same name in letters and digits:"
                " share them apart"
            )
        entities = [
            f"sub-{session.label}",
            *([f"ses-{session.visit}"] if session.visit else []),
            f"task-{session.task}",
        ]
        stem = "_".join(entities)
        sessions[stem] += 1
        for table in _tables(data, session):
            runs[stem] += 1
            inside = folder.joinpath(*entities[:-1], "beh")
            inside.mkdir(parents=True, exist_ok=True)
            name = f"{stem}_run-{runs[stem]}_{table.suffix}"
            with (inside / f"{name}.tsv").open("w", encoding="utf-8", newline="\n") as file:
                rows = [*table.rows]
                texts = [cells(column, [row.get(column) for row in rows]) for column in table.columns]
                file.write("\t".join(table.columns) + "\n")
                file.writelines("\t".join(row) + "\n" for row in zip(*texts, strict=True))
            taken_with = json.dumps(_taken_with(table, sessions[stem]), indent=1, ensure_ascii=False)
            (inside / f"{name}.json").write_text(taken_with + "\n", encoding="utf-8")
            columns[session.task, table.suffix] |= set(table.columns)
            written.append(f"{name}.tsv")
        _write_paradigm(folder, session)
    for (task, suffix), names in columns.items():
        title = titles[task.casefold()][1]
        about = {
            "TaskName": title,
            "TaskDescription": f"{title}, a working-memory task (paradigm {titles[task.casefold()][0]} of SpanLab)",
        }
        described = _columns_described(data, names, _EVENT_COLUMNS if suffix == "events" else _BEH_COLUMNS)
        write_json(folder / f"task-{task}_{suffix}.json", {**about, **described})
    return written


def _write_paradigm(folder: Path, session: SharedSession) -> None:
    """The whole paradigm, below ``code``: with the seeds and levels of the table, its trials can be
    made again."""
    path = folder / PARADIGMS / f"{session.task}-{session.info['paradigm_hash']}.json"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(
            path, {"paradigm": session.info["paradigm"], "title": session.title, "data": session.info["paradigm_data"]}
        )


def _whole_answers(data: SharedData, session: SharedSession, events: Sequence[Event]) -> dict[tuple[str, int], str]:
    """The whole answer to each question, by trial and step; none of free text that is not shared."""
    done = finished_trials(events)
    return {
        (event["trial"], event["step"]): json.dumps(event["value"], ensure_ascii=False)
        for event in events
        if event["event"] == "step"
        and "ask" in event
        and done.get(event["trial"]) == event["attempt"]
        and event["value"] is not None
        if not session.hides_text(data.options, event.get("phase"))
        or all(score["correct"] or not isinstance(score["answer"], str) for score in event["scores"])
    }


def _of_question(row: Mapping[str, Any]) -> tuple[str, int]:
    return trial_key(bool(row["practice"]), cast(int, row["trial"])), cast(int, row["step"])


def _tables(data: SharedData, session: SharedSession) -> Iterator[_Table]:
    events = read_events(session.folder)
    if any(event["event"] == "step" and event.get("shown") for event in events):
        yield from _sittings(data, session, events)
        return
    rows = data.rows(session)
    first = next(rows, None)
    if first is None:
        return
    names = [name for name in first if name not in (*_RENAMED, "phase", *_OF_DISPLAYS)]
    whole = _whole_answers(data, session, events)

    def renamed() -> Iterator[dict[str, Any]]:
        for row in chain([first], rows):
            yield {
                **row,
                "trial_type": row["phase"],
                "response_time": _seconds(row["rt_ms"]),
                "value": whole.get(_of_question(row)),
            }

    yield _Table(session, 1, "beh", [*_BEH_COLUMNS, *names], renamed())


def _sittings(data: SharedData, session: SharedSession, events: Sequence[Event]) -> Iterator[_Table]:
    """Return what was shown and answered, a table for each sitting: the clock begins anew when a
    session goes on after an interruption."""
    done = finished_trials(events)
    sitting, sittings, spans = (
        0,
        defaultdict[int, list[dict[str, Any]]](list),
        dict[tuple[str, int], tuple[int, float, float]](),
    )
    heads: dict[str, dict[str, Any]] = {}
    zeros: dict[int, float] = {}  # the first volume of each sitting, in s
    for event in cast("Sequence[Mapping[str, Any]]", events):
        if event["event"] == "resumed":
            sitting += 1
        elif event["event"] == "scan_start":
            zeros[sitting] = cast(float, _seconds(event["first_ms"]))
        elif event["event"] == "trial_start":
            heads[event["trial"]] = {
                "block": event["block"],
                "trial": int(event["trial"].removeprefix("p")),
                "practice": event["practice"],
            }
        elif event["event"] in ("step", "trial_cut") and (
            shown := [one for one in event.get("shown", ()) if one["onset_ms"] is not None]
        ):
            counts = done.get(event["trial"]) == event["attempt"]
            about = {
                **heads.get(event["trial"], {}),
                "step": event["step"],
                "trial_type": event.get("phase"),
                "trial_counts": counts,
            }
            sittings[sitting] += [_display(about, one) for one in shown]
            if "ask" in event and counts:
                began = cast(float, shown[0]["onset_ms"])
                lasted = sum(one["shown_ms"] or 0.0 for one in shown)
                spans[event["trial"], event["step"]] = (sitting, began, lasted)
    rows = list(data.of_session(session, response_rows(session.info, events)))
    whole = _whole_answers(data, session, events)
    for row in rows:
        sitting, began, lasted = spans[_of_question(row)]
        answer = {name: value for name, value in row.items() if name not in (*_RENAMED, "phase", *_OF_DISPLAYS)}
        timed = {
            "onset": _seconds(began),
            "duration": _seconds(lasted),
            "trial_type": row["phase"],
            "response_time": _seconds(row["rt_ms"]),
        }
        sittings[sitting].append(
            {**answer, **timed, "event_type": "answer", "trial_counts": True, "value": whole.get(_of_question(row))}
        )
    names = [
        column.name
        for column in data.columns({name for row in rows for name in row})
        if column.name not in (*_RENAMED, "phase")
    ]
    columns = [*_EVENT_COLUMNS, *names]
    for number, sitting_rows in sorted(sittings.items()):
        for row in sitting_rows:
            row["onset"] = round(row["onset"] - zeros.get(number, 0.0), 6)
        yield _Table(session, number + 1, "events", columns, sorted(sitting_rows, key=lambda row: row["onset"]))


def _display(about: Mapping[str, Any], shown: ShownDisplay) -> dict[str, Any]:
    measured = {name: shown.get(name) for name in _OF_DISPLAYS}
    return {
        **about,
        **measured,
        "event_type": "display",
        "onset": _seconds(shown["onset_ms"]),
        "duration": _seconds(shown["shown_ms"]),
    }


def _seconds(ms: Any) -> float | None:
    return None if ms is None else round(ms / 1000, 6)


def _columns_described(data: SharedData, names: set[str], described: Mapping[str, Any]) -> dict[str, Any]:
    of_displays = {field.name: field.holds.meaning for field in fields_of(ShownDisplay) if field.name in _OF_DISPLAYS}
    rest = [column for column in data.columns(names) if column.name in names and column.name not in described]
    return {**described, **{column.name: _described(column, of_displays.get(column.name)) for column in rest}}


def _described(column: Column, of_display: str | None) -> dict[str, str]:
    return {
        "Description": of_display or column.meaning,
        **({"Units": column.unit} if column.unit in ("ms", "s") else {}),
    }


def _taken_with(table: _Table, number: int) -> dict[str, Any]:
    """Return what a session was taken with, as BIDS has it, without names of computers.

    Parameters
    ----------
    number : of the session among those of the participant in this task
    """
    session, info = table.session, table.session.info
    apparatus, versions = info.get("apparatus") or {}, info.get("versions") or {}
    sidecar: dict[str, Any] = {
        "SpanLab": {
            "Version": versions.get("spanlab") or "n/a",
            "Paradigm": info["paradigm"],
            "ParadigmHash": info["paradigm_hash"],
            "Design": info["design"],
            "Language": info["language"],
            "Session": number,
            "Sitting": table.sitting,
            "Finished": session.finished,
        }
    }
    if session.seeds:
        sidecar["SpanLab"] |= {"Seed": info["seed"], **({"Draws": draws} if (draws := _draws(info)) else {})}
        sidecar["SpanLab"] |= {"SeedIndependent": True} if seed_independent(info) else {}
    else:
        sidecar["SpanLab"]["Seeds"] = "left out"
    if session.fields:
        sidecar["SpanLab"]["Fields"] = session.fields
    if told_before := info.get("instructions"):
        sidecar["Instructions"] = told_before
    if table.suffix == "events" and (browser := browser_of(info)) is not None:
        sidecar["SpanLab"]["Window"] = "browser"
        presented = {
            "OperatingSystem": browser.system or None,
            "ScreenRefreshRate": apparatus.get("hz"),
            "ScreenResolution": apparatus.get("screen_px"),
            "SoftwareName": browser.name or None,
            "SoftwareVersion": browser.version or None,
        }
        sidecar["StimulusPresentation"] = {name: value for name, value in presented.items() if value is not None}
    elif table.suffix == "events" and (version := apparatus.get("psychopy")):
        width, px = apparatus.get("screen_width_cm"), apparatus.get("screen_px")
        size = (
            [round(width / 100, 4), round(width / 100 * px[1] / px[0], 4)]
            if width and px and apparatus.get("screen_width_given")
            else None
        )
        distance, hz = apparatus.get("distance_cm") if size else None, apparatus.get("hz")
        presented = {
            "OperatingSystem": versions.get("system"),
            "ScreenDistance": distance / 100 if distance else None,
            "ScreenRefreshRate": hz,
            "ScreenResolution": px,
            "ScreenSize": size,
            "SoftwareName": "PsychoPy",
            "SoftwareRRID": "RRID:SCR_006571",
            "SoftwareVersion": version,
        }
        sidecar["StimulusPresentation"] = {name: value for name, value in presented.items() if value is not None}
    return sidecar


def _draws(info: SessionInfo) -> dict[str, Any]:
    """Of imported trials, what was not drawn from their seeds."""
    plan: object = info["plan"]
    return (
        {trial_key(one["practice"], one["trial"]): one["draws"] for one in plan if "draws" in one}
        if isinstance(plan, list)
        else {}
    )


def _write_participants(folder: Path, data: SharedData) -> None:
    described = {**_PARTICIPANTS, **(_GROUP if data.grouped else {})}
    lines = ["\t".join([*described, *data.fields])]
    for one in data.participants:
        who = [
            f"sub-{one.label}",
            "person" if one.person else "machine",
            "homo sapiens" if one.person else "n/a",
            one.agent_kind,
            one.agent,
            one.caution,
        ]
        group = [", ".join(sorted(one.groups))] if data.grouped else []
        lines.append("\t".join(map(cell, [*who, *group, *(one.fields.get(name) for name in data.fields)])))
    (folder / "participants.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    asked = {
        name: {
            "Description": (
                f"what people were asked: {name}; n/a where sessions differ (SpanLab > Fields beside each table)"
            )
        }
        for name in data.fields
    }
    write_json(folder / "participants.json", {**described, **asked})


def _description(data: SharedData) -> dict[str, Any]:
    described: dict[str, Any] = {"Name": data.name, "BIDSVersion": _VERSION, "DatasetType": "raw"}
    if data.authors:
        described["Authors"] = data.authors
    if data.options.license:
        described["License"] = data.options.license
    return {**described, "GeneratedBy": [{"Name": "SpanLab", "Version": __version__}]}


def _readme(data: SharedData) -> str:
    tasks = sorted({(one.task, one.title, one.info["paradigm_hash"]) for one in data.sessions})
    listed = "".join(f"* `task-{task}`: {title} (paradigm {hash_})\n" for task, title, hash_ in tasks)
    return (
        f"# {data.name}\n\nWritten by SpanLab {__version__}, in the layout of BIDS {_VERSION}. {data.who} took"
        " part;\n`participants.tsv` tells who is a machine.\n\n`_events.tsv` has a row for each display (`event_type`"
        " display) and one for each answered item (`event_type` answer). Onsets count from the\nbeginning of the"
        " sitting. A session that went on after an interruption has a run for each sitting. `_beh.tsv` has a row for"
        f" each answered item\nof those who had no window, such as models, and has no onsets.\n\n## Tasks\n\n{listed}"
    )
