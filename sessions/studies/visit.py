"""One session of a study by one participant: checked before it begins, and recorded in a folder that no other session overwrites."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from ...core.atomic_files import only_writer, read_lines, sync_folder, write_json
from ...core.errors import SpanLabError
from ...core.json_values import as_object
from ...core.locale import sentence
from ...core.registry import nearest
from ...paradigms.identity import digest
from ..record.reader import read_events, read_session, staircase_of, trials_left
from ..sent import sentences_for_people
from ..session import utc_now
from .fields import read_typed
from .groups import assigner, group_counts
from .participants import Kind, Person, find, misnamed, named_by_number, next_number, number_taken, people, register
from .study import Study, StudyParadigm, study_from_data

Existing = Literal["resume", "new", "stop"]
EXISTING: tuple[Existing, ...] = get_args(Existing)

#: in the folder of a session of a study: what it is, and what happened around its paradigms
HEAD, JOURNAL = "battery.json", "battery.jsonl"
_FOLDER = re.compile(r"session-([1-9][0-9]?)(?:-run-([1-9][0-9]{0,3}))?")


@dataclass(frozen=True, slots=True)
class Wanted:
    """The participant and session of a study that the user asks for, all as typed.

    Parameters
    ----------
    participant : identifier; may be empty for simulated participants
    session : number of the session
    number : of the participant; empty for the next free one
    language : empty for the study's first one
    fields : by name
    existing : what to do when there are data of this session already; empty when nobody was asked yet
    kind : a person, a pilot or simulated
    """

    participant: str = ""
    session: str = "1"
    number: str = ""
    language: str = ""
    fields: Mapping[str, str] = field(default_factory=dict[str, str])
    existing: str = ""
    kind: Kind = "person"


@dataclass(frozen=True, slots=True)
class Visit:
    """A session of a study that begins or goes on.

    Parameters
    ----------
    folder : of this session of the study; the folders of its ordinary sessions are in it
    study : as it was when the session began, and as the participant's group takes it
    run : from 1; more when it was begun anew
    fields : what was asked about the participant
    """

    folder: Path
    study: Study
    person: Person
    session: int
    run: int
    language: str
    fields: Mapping[str, Any]

    @property
    def data(self) -> Path:
        """The data folder: this session is in the folder of its participant, in that of the study."""
        return self.folder.parents[2]

    @property
    def order(self) -> list[StudyParadigm]:
        """The paradigms in the order of this participant."""
        return self.study.order_for(self.person.turn, self.session)

    @property
    def finished(self) -> bool:
        """Whether the session is finished, including its last page."""
        return any(line["event"] == "finished" for line in read_journal(self.folder))


def check_wanted(study: Study, data: Path, wanted: Wanted, language: str = "en") -> dict[str, str]:
    """What prevents a session from beginning, for each typed value: ``participant``, ``session``, ``number``, ``language``, ``existing``, and names of fields.

    Parameters
    ----------
    language : of who reads it: of the dialog; English at the terminal
    """

    def say(key: str, **values: object) -> str:
        return sentence(f"wrong.{key}", language, **values)

    folder, wrong = data / study.name, dict[str, str]()
    name = wanted.participant.strip()
    person: Person | None = None
    if name or wanted.kind != "simulated":
        trouble = misnamed(name, language)
        person = find(folder, name) if trouble is None else None
        trouble = trouble or (_stranger(person, name, wanted.kind, language) or _of_no_group(study, folder, person, wanted, language) if person else None)
        if trouble is None and person is None:
            trouble = _no_place(study, folder, wanted.kind, language)
        if trouble:
            wrong["participant"] = trouble
    typed = wanted.session.strip()
    session = int(typed) if re.fullmatch(r"[0-9]{1,4}", typed) else 0
    if not 1 <= session <= len(study.sessions):
        several, suffix = "session" if len(study.sessions) > 1 else "one_session", "_found" if typed else ""
        wrong["session"] = say(f"{several}{suffix}", last=len(study.sessions), found=typed[:60])
    number = wanted.number.strip()
    if number and (trouble := _misnumbered(study, folder, person, wanted.kind, number, language)):
        wrong["number"] = trouble
    chosen = wanted.language.strip() or study.languages[0]
    if chosen not in study.languages:
        wrong["language"] = f"the study has no '{chosen[:60]}'{nearest(chosen, study.languages) or '; its languages are ' + ', '.join(study.languages)}"
    existing = wanted.existing.strip()
    before = runs(folder, person.name, session) if person is not None and person.name and "session" not in wrong else []
    if existing not in ("", *EXISTING):
        wrong["existing"] = f"expected {', '.join(EXISTING[:-1])} or {EXISTING[-1]}; found '{existing[:60]}'"
    elif before and existing in ("", "stop"):
        wrong["existing"] = _describe_earlier(before[-1], language)
    known = known_fields(folder, person.name) if person is not None and person.name else {}
    # Whoever goes on was asked already, and nobody asks simulated participants; but what is typed must fit.
    asked = wanted.kind != "simulated" and not (before and existing == "resume")
    for field_, why in read_typed(study.fields, wanted.fields, known, language)[1].items():
        if asked or wanted.fields.get(field_, "").strip():
            wrong[field_] = why
    return wrong


def _stranger(person: Person, name: str, kind: Kind, language: str) -> str | None:
    if person.withdrawn:
        return sentence("wrong.withdrew", language, name=person.name, date=person.withdrawn[:10])
    if person.name != name:
        return sentence("wrong.capitals", language, name=person.name)
    return sentence(f"wrong.is_{person.kind}", language, name=name) if person.kind != kind else None


def _no_place(study: Study, folder: Path, kind: Kind, language: str) -> str | None:
    """Why nobody else can take part, or None."""
    everybody = people(folder)
    try:
        assigner(study)(everybody, kind, next_number(everybody, kind))
    except SpanLabError:
        return sentence("wrong.full", language, groups=group_counts(study.groups, everybody))
    return None


def _of_no_group(study: Study, folder: Path, person: Person, wanted: Wanted, language: str) -> str | None:
    """Why somebody who has come before can begin no session of the study as it is now: the group is not among its groups."""
    goes_on = wanted.existing.strip() == "resume" and wanted.session.strip().isdigit() and runs(folder, str(person.name), int(wanted.session))
    if goes_on or person.group in ({group.name for group in study.groups} or {""}):
        return None
    return sentence("wrong.group" if person.group else "wrong.no_group", language, name=person.name, group=person.group)


def _misnumbered(study: Study, folder: Path, person: Person | None, kind: Kind, number: str, language: str) -> str | None:
    if not re.fullmatch(r"[0-9]{1,9}", number):
        return sentence("wrong.number", language, found=f"'{number[:60]}'")
    if person is not None:
        return None if person.number == int(number) else sentence("wrong.number_of", language, name=person.name, number=person.number)
    if int(number) > study.most_participants:
        return sentence("wrong.seeds", language, most=study.most_participants, number=number)
    return number_taken(people(folder), kind, int(number), language)


def _describe_earlier(before: Path, language: str = "en") -> str:
    """That there are data already, and what may be done."""
    head = read_head(before)
    parts = [f"{name} {state.progress}" for name, state in states(before).items()] or [sentence("wrong.no_trial", language)]
    return sentence("wrong.existing", language, name=head["participant"], session=head["session"], date=head["created"][:10], parts=", ".join(parts))


def proposed(study: Study, data: Path, name: str) -> dict[str, str]:
    """The session that a participant is likely to take next: the first unfinished session of the study, and whether to go on with it.

    Returns
    -------
    ``session`` and ``existing``; empty for what cannot be an identifier, and for who has finished all of them
    """
    if misnamed(name):
        return {}
    folder = data / study.name
    for session in range(1, len(study.sessions) + 1):
        before = runs(folder, name, session)
        if not any(completed(run) for run in before):
            return {"session": str(session), "existing": "resume" if before else ""}
    return {}


# -- folders -------------------------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class State:
    """How far one paradigm of a session is.

    ``practice`` says so where its criterion was not reached.
    """

    folder: Path
    done: int
    planned: int
    finished: bool
    practice: str = ""

    @property
    def progress(self) -> str:
        """Trials done of trials planned. A staircase has so many trials at most: what is told once it is over is how many were taken."""
        return f"{self.done} (over)" if self.finished and self.done < self.planned else f"{self.done}/{self.planned}"


def runs(study_folder: Path, name: str, session: int | None = None) -> list[Path]:
    """The folders of a participant's sessions (or of all runs of one), in order."""
    folders: list[tuple[int, int, Path]] = []
    folder = study_folder / name
    for path in folder.iterdir() if folder.is_dir() else ():
        match = _FOLDER.fullmatch(path.name)
        if match and (path / HEAD).exists() and session in (None, int(match[1])):
            folders.append((int(match[1]), int(match[2] or 1), path))
    return [path for _, _, path in sorted(folders)]


def read_head(folder: Path) -> dict[str, Any]:
    """Read what a session of a study is.

    Raises
    ------
    SpanLabError
        when its file is damaged.
    """
    path = folder / HEAD
    try:
        head = as_object(json.loads(path.read_text(encoding="utf-8")))
        if any(not isinstance(head.get(key), kind) for key, kind in _HEAD_KEYS.items()):
            raise ValueError("a part of it is missing")
    except (OSError, ValueError, RecursionError) as error:
        raise SpanLabError(f"{path} cannot be read ({error}); restore it from a copy") from None
    return head


def read_journal(folder: Path) -> list[dict[str, Any]]:
    """What happened between the paradigms of a session, in order; each line has an ``event`` and says when (``at``).

    Raises
    ------
    SpanLabError
        when a line is damaged.
    """
    lines = read_lines(folder / JOURNAL)
    for number, line in enumerate(lines, start=1):
        if not isinstance(line.get("event"), str) or not isinstance(line.get("at", ""), str):
            raise SpanLabError(f"{folder / JOURNAL}:{number} is damaged; restore the file from a copy")
    return lines


_HEAD_KEYS: dict[str, type] = {
    "order": list,
    **dict.fromkeys(("study", "study_hash", "participant", "language", "created", "kind"), str),
    **dict.fromkeys(("session", "run", "participant_number"), int),
    **dict.fromkeys(("fields", "study_data"), dict),
}


def states(folder: Path) -> dict[str, State]:
    """The progress of each paradigm of a session that was begun, by its name in the study."""
    progress: dict[str, State] = {}
    for path in sorted(path.parent for path in folder.glob("[!.]*/session.json")):
        info = read_session(path)
        of_study = info.get("study")
        if not isinstance(of_study, dict) or not isinstance(name := of_study.get("paradigm"), str):
            continue  # a session that somebody has put here
        events = read_events(path)
        left, staircase = trials_left(info, events), staircase_of(info, events)
        done = len(info["plan"]) - left if staircase is None else len(staircase.levels)
        progress[name] = State(path, done, len(info["plan"]), not left, _practice_of(info, events))
    return dict(sorted(progress.items()))


def completed(folder: Path) -> bool:
    """Whether every paradigm of a session is finished."""
    progress = states(folder)
    return all(name in progress and progress[name].finished for name in read_head(folder)["order"])


def _practice_of(info: Mapping[str, Any], events: Sequence[Mapping[str, Any]]) -> str:
    """That practice was not passed, where it is so, and whether the session went on all the same."""
    passed = [event["passed"] for event in events if event["event"] == "practice"]
    if not passed or passed[-1]:
        return ""
    decided = [event["decided"] for event in events if event["event"] == "practice_decision"]
    goes_on = "go_on" in decided or as_object(info["paradigm_data"].get("practice")).get("otherwise", "go_on") == "go_on"
    return "practice not passed, went on" if goes_on else "practice not passed"


def refused(folder: Path) -> str:
    """When (a date) the participant refused to take part in a session, and has not agreed since; empty otherwise."""
    asked = [line for line in read_journal(folder) if line["event"] in ("consent", "refused")]
    return str(asked[-1].get("at", ""))[:10] if asked and asked[-1]["event"] == "refused" else ""


def agreed_in(visit: Visit, text: str) -> str | None:
    """The earlier session in which the participant agreed to a consent text (by its hash), or None."""
    for folder in runs(visit.folder.parent.parent, visit.folder.parent.name):
        head = read_head(folder)
        for line in read_journal(folder):
            # What was written before texts were noted: the text of the study as it was.
            if line["event"] == "consent" and line.get("text", digest(as_object(head["study_data"].get("consent")).get(head["language"]))) == text:
                return folder.name
    return None


def known_fields(study_folder: Path, name: str) -> dict[str, Any]:
    """The participant's fields from all sessions; the latest values count."""
    heads = sorted((read_head(folder) for folder in runs(study_folder, name)), key=lambda head: head["created"])
    return {name: value for head in heads for name, value in head["fields"].items()}


# -- beginning -----------------------------------------------------------------------------------------------------------------------------------------


def foresee(study: Study, data: Path, wanted: Wanted) -> Visit:
    """The session that :func:`sit_down` will begin or take up, without writing anything, so that problems show before there is a folder or a number.

    Raises
    ------
    SpanLabError
        when something that was typed does not fit (all of it in one message).
    """
    _check(study, data, wanted)
    folder, name = data / study.name, wanted.participant.strip()
    person = find(folder, name) if name else None
    if person is None:
        number = int(wanted.number) if wanted.number.strip() else next_number(people(folder), wanted.kind)
        group, place = assigner(study)(people(folder), wanted.kind, number)
        person = Person(name or named_by_number(wanted.kind, number), number, wanted.kind, "", group=group, place=place)
    return _seated(study, folder, person, wanted)[0]


def sit_down(study: Study, data: Path, wanted: Wanted, now: Callable[[], str] = utc_now) -> tuple[Visit, bool]:
    """Begin a session of a study or take one up again, and say which of the two it is.

    Raises
    ------
    SpanLabError
        when something that was typed does not fit (all of it in one message), or the folder cannot be written.
    """
    _check(study, data, wanted)
    folder = data / study.name
    person = register(folder, wanted.participant.strip(), wanted.kind, int(wanted.number) if wanted.number.strip() else None, now, assigner(study))
    with only_writer(folder, patience_s=20):
        visit, goes_on = _seated(study, folder, person, wanted)
        if goes_on:
            return visit, True
        visit_folder = visit.folder
        if (visit_folder / JOURNAL).exists() or any(visit_folder.glob("*/session.json")):
            raise SpanLabError(
                f"{visit_folder} has data, but no {HEAD}, which names the participant; restore that file from a copy, or move the folder elsewhere"
            )
        try:
            visit_folder.mkdir(parents=True, exist_ok=True)
            sync_folder(visit_folder.parent)
        except OSError as error:
            raise SpanLabError(f"cannot write {visit_folder}: {error.strerror or error}") from None
        write_json(visit_folder / HEAD, _head(visit, now()))
    return visit, False


def _check(study: Study, data: Path, wanted: Wanted) -> None:
    wrong = check_wanted(study, data, wanted)
    if wrong:
        raise SpanLabError("\n".join(f"{name}: {why}" for name, why in wrong.items()))


def _seated(study: Study, folder: Path, person: Person, wanted: Wanted) -> tuple[Visit, bool]:
    """The session that a person takes, and whether it goes on."""
    assert person.name
    session = int(wanted.session)
    before = runs(folder, person.name, session)
    if before and wanted.existing == "resume":
        return taken_up(study, person, before[-1]), True
    if before and wanted.existing != "new":
        raise SpanLabError(_describe_earlier(before[-1]))  # begun by somebody else at this very moment
    known = known_fields(folder, person.name)
    fields = read_typed(study.fields, wanted.fields, known)[0]
    run = 1 + max((read_head(path)["run"] for path in before), default=0)
    language = wanted.language.strip() or study.languages[0]
    visit_folder = folder / person.name / (f"session-{session}" if run == 1 else f"session-{session}-run-{run}")
    study.seeds_for(person.number, session, study.paradigms[0].name, run, person.kind)
    return Visit(visit_folder, study.of_group(person.group), person, session, run, language, fields), False


def _head(visit: Visit, created: str) -> dict[str, Any]:
    study, person = visit.study, visit.person
    return {
        "study": study.name,
        "study_hash": study.hash,
        "session": visit.session,
        "run": visit.run,
        "participant": person.name,
        "participant_number": person.number,
        "kind": person.kind,
        **({"group": person.group, "place": person.place} if person.group else {}),
        "order": [one.name for one in visit.order],
        "language": visit.language,
        "fields": dict(visit.fields),
        "created": created,
        **sentences_for_people(visit.language),
        "study_data": study.data,
    }


def taken_up(study: Study, person: Person, folder: Path) -> Visit:
    """Open a session as it was begun, whatever has changed in the study file since."""
    head = read_head(folder)
    as_begun = study if study.hash == head["study_hash"] else study_from_data(head["study_data"], study.file)
    return Visit(folder, as_begun.of_group(person.group), person, head["session"], head["run"], head["language"], head["fields"])


def as_begun(study: Study, data: Path, wanted: Wanted) -> tuple[Study, Mapping[str, Any]]:
    """The study of a session that is going to be taken: of one that goes on as it was begun, else as its file says now; and the settings with which somebody
    sat at the window in what goes on, none when nothing was begun."""
    folder = data / study.name
    person = find(folder, wanted.participant.strip()) if wanted.existing.strip() == "resume" else None
    before = runs(folder, person.name, int(wanted.session)) if person is not None and person.name else []
    if person is None or not before:
        return study, {}
    begun = [read_session(state.folder)["agent_settings"] for state in states(before[-1]).values()]
    return taken_up(study, person, before[-1]).study, begun[-1] if begun else {}
