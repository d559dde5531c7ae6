"""Record rows written per second: by the whole runner, and separately for its two parts (events
synchronised to the disk, compared with plain writing; the table made from the events).

Models declare the shape of a record. Their cost was measured against the commit before they were
introduced, in turns on two busy processor cores: processor time for the events of 300 trials of SFR
and VSR. Writing took .85 and 1.00 times as long as before (medians of 40 turns, with the same
bytes), reading .82 and .84 times, and making the table .86 and 1.11 times (medians of eight
processes). (The models are typed dictionaries. Objects of pydantic models would have to be made and
taken apart: this takes 2.2 times as long as encoding the line of JSON, and 2.8 times with
``model_construct``.)
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from spanlab.agents.registry import make_agent
from spanlab.paradigms import load_paradigm, plan_session
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.sessions import Request, Runner, begin
from spanlab.sessions.record import writer as recorder
from spanlab.sessions.record.events import Event
from spanlab.sessions.record.reader import read_events
from spanlab.sessions.record.table import read_table, write_responses

TRIALS = {"sfr": 300, "vsr": 300}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, trials in TRIALS.items():
            one_paradigm(name, trials, Path(folder))


def one_paradigm(name: str, trials: int, data: Path) -> None:
    paradigm = load_paradigm(name)
    agent = make_agent("chance")
    session = begin(
        data, paradigm, agent, plan_session(paradigm, seed=1, trials=trials, design=SessionDesign()), Request(seed=1)
    )
    began = time.perf_counter()
    Runner(session, agent).run()
    elapsed = time.perf_counter() - began
    rows = read_table(session.folder).num_rows
    print(f"{name}: compiled, answered by chance, scored, recorded\t{rows / elapsed}\trows/s")

    events = read_events(session.folder)
    sure = recorded(events, data / f"{name}-sure", at_every_trial=True)
    print(f"{name}: events written, flushed to the disk at every trial's end\t{rows / sure}\trows/s")
    print(f"{name}: one flush to the disk\t{sure / trials * 1000}\tms/trial")
    late = recorded(events, data / f"{name}-late", at_every_trial=False)
    print(f"{name}: events written, flushed to the disk once at the end\t{rows / late}\trows/s")
    recorder.CHECK_ALL = True
    checked = recorded(events, data / f"{name}-checked", at_every_trial=False)
    recorder.CHECK_ALL = False
    plain = written_plainly(events, data / f"{name}-plain.jsonl")
    print(f"{name}: the same events by json.dumps and write, never flushed\t{rows / plain}\trows/s")
    print(f"{name}: that is faster than with a flush a trial\t{sure / plain}\ttimes")
    print(f"{name}: that is faster than with one flush\t{late / plain}\ttimes")
    print(f"{name}: and than with one flush and every event held against its model\t{checked / plain}\ttimes")

    began = time.perf_counter()
    write_responses(session.folder)
    print(f"{name}: table from the events, to Parquet and CSV\t{rows / (time.perf_counter() - began)}\trows/s")


def recorded(events: Sequence[Event], folder: Path, at_every_trial: bool) -> float:
    """Seconds that the recorder needs for these events."""
    folder.mkdir()
    writer, began = recorder.Recorder(folder), time.perf_counter()
    for event in events:
        writer.write(event)
        if at_every_trial and event["event"] == "trial_end":
            writer.commit()
    writer.finish()
    return time.perf_counter() - began


def written_plainly(events: Sequence[Event], path: Path) -> float:
    """Seconds without a thread and without making sure that anything is on the disk: what writing
    costs at least."""
    began = time.perf_counter()
    with path.open("w", encoding="utf-8") as file:
        for event in events:
            file.write(json.dumps(event) + "\n")
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
