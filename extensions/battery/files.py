"""Reading of sessions for the scores of participants, and the files of ``spanlab scores-by-person
-o``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spanlab.analysis.data import (
    apply_exclusions,
    load,
    of_sessions,
    plural,
    tables_of,
)
from spanlab.core import SpanLabError, kind_named, write_whole, written_in
from spanlab.exchange import csv_text
from spanlab.sessions.studies import read_head, read_journal, runs

from .notes import read_notes
from .people import scores_by_person
from .score_table import ScoreTable, correlations, matrix

if TYPE_CHECKING:
    import pandas as pd

    from spanlab.analysis.data import Data, Rule


def gathered(
    paths: Sequence[Path],
    rules: Sequence[Rule] = (),
    *,
    recipe: Any = None,
    errors: bool = True,
    data: Data | None = None,
) -> tuple[ScoreTable, list[str], Data]:
    """Return the scores of everybody in folders of sessions and in tables, sentences on what rules
    left out, and the data as the analysis reads them.

    Parameters
    ----------
    recipe : what the columns of tables mean
    errors : compute the standard error of every score
    data : of these paths, where they were read already

    Raises
    ------
    SpanLabError
        when there are no sessions.
    """
    data = data or load(paths, spans_suffice=True, recipe=recipe)
    aside, simulated = _simulated(data)
    sessions = [facts for facts in data.sessions if facts.folder not in aside]
    spans = [span for span in data.spans if span.facts.folder not in aside]
    folders = [facts.folder for facts in (*sessions, *(span.facts for span in spans))]
    tables = tables_of(paths, recipe)
    if data.recorded is not None:
        tables.insert(0, data.recorded[data.recorded["session"].isin({facts.name for facts in sessions})])
    responses = _joined(tables)
    notes: list[str] = []
    if rules:
        responses, report = apply_exclusions(responses, rules, of_sessions(sessions, rules))
        notes = list(report.notes)
        kept = {*responses["session"]}
        sessions = [facts for facts in sessions if facts.name in kept]
    asked = cache(_fields)  # of many sessions of one person once
    fields = {
        facts.participant: asked(facts.folder.parent.parent.parent, facts.participant)
        for facts in (*sessions, *(span.facts for span in spans))
        if facts.participant
    }
    scores = scores_by_person(responses, sessions, fields, errors=errors)
    add_desk(scores, folders)
    for name in dict.fromkeys(span.facts.paradigm for span in spans):
        climbed = {
            span.facts.participant: span.result["span"]
            for span in sorted(spans, key=lambda span: span.facts.started)
            if span.facts.paradigm == name and span.over and span.result is not None and span.facts.participant
        }
        scores.add(
            f"{name}_adaptive",
            "Result of the staircase or span test; of several sessions the last.",
            "levels",
            f"{name}: adaptive sessions",
            climbed,
        )
    scores.simulated = simulated
    if simulated and not aside:
        for column in scores.codebook.values():
            column["says"] = f"Simulated participants: {column['says']}"
    return scores, notes, data


def _joined(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The answers of all tables, with the columns that scores need also where there are none."""
    import pandas as pd

    filled = [table.dropna(axis="columns", how="all") for table in tables if len(table)]
    if not filled:
        return pd.DataFrame(columns=["participant", "paradigm", "correct", "agent", "session"])
    responses = pd.concat(filled, ignore_index=True)
    return responses if "session" in responses.columns else responses.assign(session="")


def _simulated(data: Data) -> tuple[set[Path], str]:
    """Return the sessions of simulated participants that do not count, and what is said of such
    sessions: they count where no person took part, as in a rehearsal."""
    named = [facts for facts in (*data.sessions, *(span.facts for span in data.spans)) if facts.participant]
    simulated = {facts.folder for facts in named if kind_named(facts.kind).role == "stand-in"}
    if not simulated:
        return set(), ""
    if not any(kind_named(facts.kind).person and not facts.pilot for facts in named):
        return set(), "These are scores of simulated participants: no person took part."
    return simulated, (
        f"Left out: {plural(len(simulated), 'session')} of simulated participants. The table is of people."
    )


def _fields(study: Path, participant: str) -> dict[tuple[str, int], Any]:
    """Return the fields of a participant of a study by their names and the sessions in which they
    were asked: 0 for those that are asked once, of which the latest value counts; nothing for a
    session of no study."""
    try:
        heads = sorted(
            (read_head(folder) for folder in runs(study, participant)),
            key=lambda head: str(head["created"]),
        )
    except (SpanLabError, OSError):
        return {}
    fields: dict[tuple[str, int], Any] = {}
    for head in heads:
        declared = head["study_data"].get("fields") or []
        repeated = {field["name"] for field in declared if isinstance(field, dict) and field.get("each_session")}
        fields |= {(name, head["session"] if name in repeated else 0): value for name, value in head["fields"].items()}
    return fields


def write(scores: ScoreTable, folder: Path, chosen: Sequence[str] = ()) -> list[Path]:
    """Write the wide table, its codebook, the pairs of correlations, and these as the table of
    papers.

    Parameters
    ----------
    chosen : columns to correlate; all with a reliability when not given

    Raises
    ------
    SpanLabError
        when they cannot be written.
    """
    import pandas as pd

    pairs = correlations(scores, chosen)
    tables = {
        "scores.csv": scores.table(),
        "codebook.csv": scores.codes(),
        "correlations.csv": pd.DataFrame(pairs),
        "correlation_table.csv": pd.DataFrame(matrix(scores, pairs)),
    }
    with written_in(folder):
        for name, table in tables.items():
            write_whole(folder / name, csv_text(table).encode())
    return [folder / name for name in tables]


def add_desk(scores: ScoreTable, sessions: Iterable[Path]) -> None:
    """Add, of participants of studies, why a paradigm was skipped or taken again, and how many
    notes there are.

    Parameters
    ----------
    sessions : folders of ordinary sessions; those of a study lie in the folder of the session of
        the study
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
    for values, name, says in (
        (skipped, "skipped", "Why the assistant skipped the task."),
        (again, "repeated", "Why the task was taken again."),
    ):
        for task, reasons in values.items():
            scores.add(f"{task}_{name}", says, "words", f"{task}: journal of the session", reasons)
    if any(notes.values()):
        scores.add("notes", "Notes of the assistant.", "notes", "spanlab study note", notes)
