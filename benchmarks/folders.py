"""Builds data folders of many sessions, and measures what reads them.

python benchmarks/folders.py build FOLDER [--people N] [--each N]     sessions of a study and of single paradigms
python benchmarks/folders.py measure FOLDER [WHAT ...]                seconds and memory, each in a process of its own

One session of each paradigm is taken by an observer; the others are copies of it with names, seeds and answers of their
own, so that 10,000 sessions take a minute.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import spanlab
from spanlab.core.atomic_files import json_line
from spanlab.sessions import read_session
from spanlab.sessions.record.table import write_responses
from spanlab.sessions.studies.participants import Person, add, changing

STUDY = """\
study: many
title: Many sessions
paradigms: [{paradigm: vsr, set: {list_length: [3, 4]}, trials: 8, practice: false}]
sessions: 1
"""


def build(folder: Path, people: int, each: int) -> None:
    """A data folder with the sessions of a study (``each`` of everybody), as the study would have recorded them."""
    folder.mkdir(parents=True)
    (folder / "study.yaml").write_text(STUDY.replace("sessions: 1", f"sessions: {min(each, 99)}"), encoding="utf-8")
    from spanlab.sessions.studies import load_study

    study = load_study(folder / "study.yaml")
    with tempfile.TemporaryDirectory() as place:
        first = spanlab.replay("vsr", "capacity:3", trials=8, levels={"list_length": [3, 4]}, data=place).folder
        info, events = dict(read_session(first)), (first / "events.jsonl").read_text().splitlines()
        of_study = folder / "data" / "many"
        everybody = [
            Person(f"p{number:05d}", number, "person", str(info["created"]), since=str(info["created"]))
            for number in range(1, people + 1)
        ]
        with changing(of_study) as listed:
            for person in everybody:
                add(listed, person)
        for person in everybody:
            for session in range(1, each + 1):
                visit = of_study / str(person.name) / (f"session-{session}" if session < 100 else "session-99-run-2")
                _session(visit, study, info, events, str(person.name), person.number, session)


def _session(
    visit: Path, study: Any, info: dict[str, Any], events: list[str], name: str, number: int, session: int
) -> None:
    seed = 1_000_000 + number * 100 + session
    chance = random.Random(seed)
    folder = visit / f"vsr-{name}-s{seed}"
    folder.mkdir(parents=True)
    of_study = {
        "study": "many",
        "study_hash": study.hash,
        "session": session,
        "run": 1,
        "paradigm": "vsr",
        "order": ["vsr"],
        "position": 1,
        "participant_number": number,
        "fields": {},
    }
    mine = {
        **info,
        "session": folder.name,
        "participant": name,
        "agent_kind": "participant",
        "agent": "participant",
        "oracle": False,
        "seed": seed,
        "study": of_study,
        "practice": False,
        "seed_from": {"given": False, "independent": True},
        "agent_settings": {},
        "chosen_levels": {},
    }
    (folder / "session.json").write_text(json.dumps(mine, indent=1), encoding="utf-8")
    with (folder / "events.jsonl").open("wb") as file:
        for text in events:
            event = json.loads(text)
            for score in event.get("scores", ()):
                score["correct"] = chance.random() < 0.6
            if "trial_id" in event:
                event["trial_id"] = f"{chance.randrange(16**12):012x}"
            file.write(json_line(event))
    write_responses(folder)
    head = {
        "study": "many",
        "study_hash": study.hash,
        "session": session,
        "run": 1,
        "participant": name,
        "participant_number": number,
        "kind": "person",
        "order": ["vsr"],
        "language": "en",
        "fields": {},
        "created": info["created"],
        "study_data": study.data,
    }
    (visit / "battery.json").write_text(json.dumps(head, indent=1), encoding="utf-8")
    journal = ({"event": what, "at": info["created"]} for what in ("begun", "finished"))
    (visit / "battery.jsonl").write_bytes(b"".join(map(json_line, journal)))


#: what is measured, by a name; OUT stands for a place that is not there yet
MEASURED = {
    "status": ("study", "status", "study.yaml"),
    "compare": ("compare", "data", "-o", "OUT"),
    "scores": ("scores-by-person", "data", "-o", "OUT"),
    "stats": ("stats", "data"),
    "csv": ("export", "csv", "data", "-o", "OUT"),
    "bids": ("export", "bids", "data", "-o", "OUT"),
    "psychds": ("export", "psychds", "data", "-o", "OUT"),
    "resume": ("resume", "data/many"),
    "monitor": ("study", "monitor", "study.yaml", "--once"),
    "archive": ("study", "archive", "study.yaml", "-o", "OUT.zip"),
}


def measure(folder: Path, names: Sequence[str]) -> None:
    """Run each, and print seconds by the clock and of the processor, and megabytes."""
    for name in names:
        place = folder / "out"
        for old in (place, place.with_suffix(".zip")):
            shutil.rmtree(old, ignore_errors=True) if old.is_dir() else old.unlink(missing_ok=True)
        arguments = [one.replace("OUT", "out") for one in MEASURED[name]]
        began, load = time.monotonic(), os.getloadavg()[0]
        process = subprocess.Popen(
            [sys.executable, "-m", "spanlab", *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        assert process.stdout is not None
        told = process.stdout.read().decode("utf-8", "replace")
        _, code, usage = os.wait4(process.pid, 0)
        took, busy = time.monotonic() - began, usage.ru_utime + usage.ru_stime
        memory = usage.ru_maxrss / 1024
        print(
            f"{name:10} {took:7.2f} s, processor {busy:7.2f} s, {memory:6.0f} MB, load {load:.1f}, {code}", flush=True
        )
        if code:
            print(told[-400:])


def main() -> None:
    """Build a folder, or measure what reads it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("build", "measure"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", default=list(MEASURED))
    parser.add_argument("--people", type=int, default=100)
    parser.add_argument("--each", type=int, default=10)
    asked = parser.parse_args()
    if asked.what == "build":
        build(asked.folder, asked.people, asked.each)
    else:
        measure(asked.folder, asked.names)


if __name__ == "__main__":
    main()
