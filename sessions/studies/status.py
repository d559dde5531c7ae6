"""The status of a study: who has finished what, and which data of a participant there are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...core.atomic_files import only_writer
from ...core.errors import SpanLabError
from ..session import day_here
from .groups import REFUSED, group_counts
from .participants import KINDS, Person, people, size_of, unknown
from .study import Study
from .visit_files import State, completed, read_head, read_journal, refused, runs, skipped, states


@dataclass(frozen=True, slots=True)
class StudyOverview:
    """A table of participants by sessions by paradigms.

    A cell holds trials done of trials planned (of a staircase that is over, those that were taken);
    ``-`` where a paradigm of the session has not begun, nothing where the session has none such.
    ``checks`` counts the attention checks that were answered correctly, of all that were asked.
    """

    study: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    summary: str


def overview(study: Study, data: Path) -> StudyOverview:
    """The progress of everybody; for a damaged record, what is wrong with it.

    Raises
    ------
    SpanLabError
        when nobody knows who takes part, because ``participants.jsonl`` is damaged.
    """
    folder = data / study.name
    names = [paradigm.name for paradigm in study.paradigms]
    grouped, checked = ("group",) * bool(study.groups), ("checks",) * _has_checks(study)
    rows: list[tuple[str, ...]] = []
    everybody = sorted(people(folder), key=lambda person: (KINDS.index(person.kind), person.number))
    through = 0
    for person in everybody:
        folders = [] if person.withdrawn or person.name is None else runs(folder, person.name)
        try:
            of_person = [_row(study, person, folder_of_run, names) for folder_of_run in folders] or [
                _bare(person, len(names) + len(checked))
            ]
            rows += [_with_group(row, person.group) if grouped else row for row in of_person]
            through += (
                person.kind == "person"
                and bool(folders)
                and finished_sessions(folder, str(person.name)) >= set(range(1, len(study.sessions) + 1))
            )
        except SpanLabError as error:  # one damaged file must not hide the others
            row = (*_bare(person, len(names) + len(checked))[:-1], str(error))
            rows.append(_with_group(row, person.group) if grouped else row)
    counted = [person for person in everybody if person.kind == "person"]
    withdrawn = sum(bool(person.withdrawn) for person in counted)
    empty = [""] * (len(grouped) + 2 + len(names) + len(checked) + 1)
    rows += [
        ("?", name, *empty, f"data that participants.jsonl in {folder} does not know of") for name in unknown(folder)
    ]
    others = "".join(
        f", {many} {kind}" for kind in KINDS[1:] if (many := sum(person.kind == kind for person in everybody))
    )
    summary = (
        f"{study.name}: {len(counted)} participant{'' if len(counted) == 1 else 's'}, {through} through with every"
        f" session, {withdrawn} withdrawn{others}"
    )
    if study.people is not None:
        summary += f"\nplaces: {sum(person.takes_part for person in counted)} of {study.people} taken"
    if grouped:
        summary += f"\ngroups: {group_counts(study.groups, everybody)}"
    return StudyOverview(
        study.name,
        ("no.", "participant", *grouped, "session", "begun", *names, *checked, "finished", "note"),
        tuple(rows),
        summary,
    )


def _with_group(row: tuple[str, ...], group: str) -> tuple[str, ...]:
    """A row with the group beside the participant."""
    return (*row[:2], group, *row[2:])


def _row(study: Study, person: Person, folder: Path, names: list[str]) -> tuple[str, ...]:
    head, progress = read_head(folder), states(folder)
    order = head["order"]
    gone = skipped(folder)
    cells = [
        "skipped" if name in gone and name not in progress else _cell(progress.get(name), name in order)
        for name in names
    ]
    finished = completed(folder)
    run = f" (run {head['run']})" if head["run"] > 1 else ""
    note = "" if head["study_hash"] == study.hash else "older study file"
    more = [f"{name} {state.progress}" for name, state in progress.items() if name not in names]  # of an older file
    more += [
        *(f"{name} skipped: {reason}" for name, reason in gone.items()),
        *(
            f"{name} taken again: {line['reason']}"
            for line in read_journal(folder)
            if line["event"] == "repeated"
            for name in (line["paradigm"],)
        ),
        *(f"{name}: {state.practice}" for name, state in progress.items() if state.practice),
        *(
            f"{name}: {state.quiz.describe()}"
            for name, state in progress.items()
            if state.quiz is not None and state.quiz.attempts
        ),
    ]
    scores = [state.checks for state in progress.values() if state.checks[1]]
    checks = (
        f"{sum(right for right, _ in scores)}/{sum(many for _, many in scores)}" if scores else "",
    ) * _has_checks(study)
    consent = f"consent refused {date}" if (date := refused(folder)) else ""
    notes = ", ".join(
        filter(None, ("" if person.kind == "person" else person.kind, note, consent, _gone(person), *more))
    )
    return (
        str(person.number),
        str(person.name),
        f"{head['session']}{run}",
        day_here(head["created"]),
        *cells,
        *checks,
        "yes" if finished else "no",
        notes,
    )


def _has_checks(study: Study) -> bool:
    """Return whether any paradigm of a study has attention checks."""
    return any(taken.paradigm.data.get("attention_checks") for taken in study.paradigms)


def _gone(person: Person) -> str:
    """A note that somebody has given up their place; a refusal of consent has a note of its own."""
    return f"{person.why} {day_here(person.left)}, the place is free" if person.left and person.why != REFUSED else ""


def _cell(state: State | None, planned: bool) -> str:
    return state.progress if state else "-" if planned else ""


def _bare(person: Person, cells: int) -> tuple[str, ...]:
    notes = ["" if person.kind == "person" else person.kind]
    if person.withdrawn:
        # ordinary sessions are of a paradigm each; in this table a session is one of the study
        paradigms = f"{person.sessions} paradigm{'' if person.sessions == 1 else 's'}"
        removed = f"data of {paradigms}" if person.sessions else "all data"
        notes.append(f"withdrew {day_here(person.withdrawn)}, {removed} removed")
    return (str(person.number), person.name or "", "", "", *[""] * cells, "", ", ".join(filter(None, notes)))


def finished_sessions(study_folder: Path, name: str) -> set[int]:
    """The sessions of the study that a participant has finished, in any of their runs."""
    return {read_head(folder)["session"] for folder in runs(study_folder, name) if completed(folder)}


@dataclass(frozen=True, slots=True)
class Belongings:
    """The data of a participant in a study.

    Parameters
    ----------
    files, size : in all; size in bytes
    sessions : ordinary sessions
    lines : one for each session of the study
    folders : of sessions of the study
    """

    files: int
    size: int
    sessions: int
    lines: tuple[str, ...]
    folders: tuple[Path, ...]

    def check_idle(self) -> None:
        """Check that nobody is taking any of the sessions now.

        Raises
        ------
        SpanLabError
            when one is running.
        """
        for folder in self.folders:
            with only_writer(folder):
                pass


def belongings(study_folder: Path, person: Person) -> Belongings:
    """Find the data of a participant."""
    person_folder = study_folder / (person.name or "")
    if person.name is None or not person_folder.exists():
        return Belongings(0, 0, 0, (), ())
    folders = runs(study_folder, person.name)
    lines, sessions = list[str](), 0
    for folder in folders:
        sessions += sum(1 for _ in folder.glob("[!.]*/session.json"))
        try:
            parts = ", ".join(f"{name} {state.progress} trials" for name, state in states(folder).items()) or "no trial"
        except SpanLabError as error:  # what is damaged can be removed like anything else
            parts = str(error)
        lines.append(f"{folder.name}: {parts}")
    return Belongings(*size_of(person_folder), sessions, tuple(lines), tuple(folders))
