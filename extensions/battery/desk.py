"""What an assistant decided and noted, as columns of the table of scores: paradigms that were skipped or taken again, and notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from spanlab.core import SpanLabError
from spanlab.sessions.studies import read_head, read_journal

from .notes import read_notes
from .people import ScoreTable


def add_desk(scores: ScoreTable, sessions: Iterable[Path]) -> None:
    """Add, of participants of studies, why a paradigm was skipped or taken again, and how many notes there are.

    Parameters
    ----------
    sessions : folders of ordinary sessions; those of a study lie in the folder of the session of the study
    """
    skipped: dict[str, dict[str, str]] = {}
    again: dict[str, dict[str, str]] = {}
    notes: Counter[str] = Counter()
    for visit in dict.fromkeys(folder.parent for folder in sessions):
        try:
            person = str(read_head(visit)["participant"])
            journal = read_journal(visit)
        except SpanLabError:
            continue  # sessions of no study
        for line in journal:
            task, reason = str(line.get("paradigm", "")), str(line.get("reason", ""))
            if line["event"] == "skipped":
                skipped.setdefault(task, {})[person] = reason
            elif line["event"] == "repeated":
                again.setdefault(task, {})[person] = reason
                skipped.get(task, {}).pop(person, None)
        notes[person] += len(read_notes(visit))
    for values, name, says in ((skipped, "skipped", "Why the assistant skipped the task."), (again, "repeated", "Why the task was taken again.")):
        for task, reasons in values.items():
            scores.add(f"{task}_{name}", says, "words", f"{task}: journal of the session", reasons)
    if any(notes.values()):
        scores.add("notes", "Notes of the assistant.", "notes", "spanlab note", notes)
