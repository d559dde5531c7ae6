"""Record rows written per second: through the whole runner, and its two halves apart (events on the disk for sure; the table from the events)."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from spanlab.agents.specs import make_agent
from spanlab.paradigms import load_paradigm, plan_session
from spanlab.sessions import Request, Runner, begin
from spanlab.sessions.record import read_events, read_table, write_responses
from spanlab.sessions.recorder import Recorder

TRIALS = {"sfr": 300, "vsr": 300}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, trials in TRIALS.items():
            one_paradigm(name, trials, Path(folder))


def one_paradigm(name: str, trials: int, data: Path) -> None:
    paradigm = load_paradigm(name)
    agent = make_agent("chance")
    session = begin(data, paradigm, agent, plan_session(paradigm, seed=1, trials=trials), Request(seed=1))
    began = time.perf_counter()
    Runner(session, agent).run()
    elapsed = time.perf_counter() - began
    rows = read_table(session.folder).num_rows
    print(f"{name}: compiled, answered by chance, scored, recorded\t{rows / elapsed}\trows/s")

    events = read_events(session.folder)
    copy = data / f"{name}-again"
    copy.mkdir()
    recorder, began = Recorder(copy), time.perf_counter()
    for event in events:
        recorder.write(event)
        if event["event"] == "trial_end":
            recorder.commit()
    recorder.close()
    elapsed = time.perf_counter() - began
    print(f"{name}: events written, flushed to the disk at every trial's end\t{rows / elapsed}\trows/s")
    print(f"{name}: one flush to the disk\t{elapsed / trials * 1000}\tms/trial")

    began = time.perf_counter()
    write_responses(session.folder)
    print(f"{name}: table from the events, to Parquet and CSV\t{rows / (time.perf_counter() - began)}\trows/s")


if __name__ == "__main__":
    main()
