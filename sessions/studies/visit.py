"""One session of a study by one participant: checked before it begins, and recorded in a folder
that no other session overwrites."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from ...agents.human.pages.dialog import Question
from ...core.atomic_files import TakenError, first_free_folder, make_folder, only_writer, write_json
from ...core.errors import SpanLabError
from ...core.locale import languages, sentence
from ...core.registry import nearest
from ..record.reader import read_session
from ..session import day_here, sentences_for_people, utc_now
from .participants import (
    Assigner,
    Kind,
    Person,
    StudyFullError,
    find,
    group_counts,
    in_group,
    misnamed,
    named_by_number,
    next_number,
    number_taken,
    people,
    register,
)
from .schema import FieldPart, read_typed
from .study import Study, StudyParadigm, study_from_data
from .visit_files import (
    HEAD,
    JOURNAL,
    fields_due,
    finished_on_record,
    known_fields,
    read_head,
    read_journal,
    runs,
    states,
)

Existing = Literal["resume", "new", "stop"]
EXISTING: tuple[Existing, ...] = get_args(Existing)


@dataclass(frozen=True, slots=True)
class VisitRequest:
    """The participant and session of a study that the user asks for, all as typed.

    Parameters
    ----------
    participant : identifier; may be empty for simulated participants
    session : number of the session
    number : of the participant; empty for the next free one
    language : empty for the study's first one
    fields : by name
    existing : what to do when there are data of this session already; empty when nobody was asked
        yet
    kind : a person, a pilot or simulated
    asked_later : whether the questions about the participant are asked once the participant has
        agreed to take part
    """

    participant: str = ""
    session: str = "1"
    number: str = ""
    language: str = ""
    fields: Mapping[str, str] = field(default_factory=dict[str, str])
    existing: str = ""
    kind: Kind = "person"
    asked_later: bool = False


@dataclass(frozen=True, slots=True)
class Visit:
    """A session of a study that begins or goes on.

    Parameters
    ----------
    folder : of this session of the study; the folders of its ordinary sessions are in it
    study : as it was when the session began, and as the participant's group takes it
    run : from 1; more when it was begun anew
    fields : what was asked about the participant
    names : of the paradigms, in the order of this participant
    """

    folder: Path
    study: Study
    person: Person
    session: int
    run: int
    language: str
    fields: Mapping[str, Any]
    names: tuple[str, ...]

    @property
    def data(self) -> Path:
        """The data folder: this session is in the folder of its participant, in that of the study."""
        return self.folder.parents[2]

    @property
    def order(self) -> list[StudyParadigm]:
        """The paradigms in the order of this participant."""
        paradigms = {one.name: one for one in self.study.paradigms}
        return [paradigms[name] for name in self.names]

    @property
    def finished(self) -> bool:
        """True if the session is finished, including its last page."""
        return finished_on_record(self.folder)


def check_request(
    study: Study, data: Path, request: VisitRequest, language: str = "en", places: bool = True
) -> dict[str, str]:
    """The problems that prevent a session from beginning, for each typed value: ``participant``,
    ``session``, ``number``, ``language``, ``existing``, and names of fields.

    Parameters
    ----------
    language : of who reads it: of the dialog; English at the terminal
    places : whether a place is among what is checked; who begins learns that when it is taken
    """

    def say(key: str, **values: object) -> str:
        return sentence(f"wrong.{key}", language, **values)

    folder, wrong = data / study.name, dict[str, str]()
    name = request.participant.strip()
    person: Person | None = None
    if name or request.kind != "simulated":
        # participants.py calls the folder of somebody who has refused so
        refused = re.fullmatch(r"(?i)refused-[a-z]+-[0-9]+", name)
        trouble = sentence("wrong.refusal", language, name=name) if refused else misnamed(name, language)
        if trouble is None and (person := find(folder, name)) is not None:
            trouble = _stranger(person, name, request.kind, language) or _of_no_group(
                study, folder, person, request, language
            )
        if trouble is None and places:
            trouble = _no_place(study, data, person, request.kind, language)
        if trouble:
            wrong["participant"] = trouble
    typed = request.session.strip()
    session = int(typed) if re.fullmatch(r"[0-9]{1,4}", typed) else 0
    if not 1 <= session <= len(study.sessions):
        several, suffix = "session" if len(study.sessions) > 1 else "one_session", "_found" if typed else ""
        wrong["session"] = say(f"{several}{suffix}", last=len(study.sessions), found=typed[:60])
    number = request.number.strip()
    if number and (trouble := _misnumbered(study, folder, person, request.kind, number, language)):
        wrong["number"] = trouble
    chosen = request.language.strip() or study.languages[0]
    if chosen not in study.languages:
        wrong["language"] = (
            "the study has no"
            f" '{chosen[:60]}'{nearest(chosen, study.languages) or '; its languages are ' + ', '.join(study.languages)}"
        )
    existing = request.existing.strip()
    before = runs(folder, person.name, session) if person is not None and person.name and "session" not in wrong else []
    if existing not in ("", *EXISTING):
        wrong["existing"] = f"expected {', '.join(EXISTING[:-1])} or {EXISTING[-1]}; found '{existing[:60]}'"
    elif before and existing in ("", "stop"):
        wrong["existing"] = _describe_earlier(before[-1], language)
    earlier = known_fields(folder, person.name) if person is not None and person.name else {}
    # Whoever goes on was asked already, and nobody asks simulated participants; but what is typed
    # must fit.
    must_answer = (
        request.kind != "simulated"
        and not request.asked_later
        and not (before and existing == "resume" and not fields_due(before[-1]))
    )
    for field_, why in read_typed(study.fields, request.fields, earlier, language)[1].items():
        if must_answer or request.fields.get(field_, "").strip():
            wrong[field_] = why
    return wrong


def _stranger(person: Person, name: str, kind: Kind, language: str) -> str | None:
    if person.withdrawn:
        return sentence("wrong.withdrew", language, name=person.name, date=day_here(person.withdrawn))
    if person.name != name:
        return sentence("wrong.capitals", language, name=person.name)
    return sentence(f"wrong.is_{person.kind}", language, name=name) if person.kind != kind else None


def assigner(study: Study, data: Path) -> Assigner:
    """The assignment of participants to the places of a study.

    Parameters
    ----------
    data : data folder
    """
    return Assigner(
        study.groups,
        study.name,
        1 if study.seed is None else study.seed,
        study.people,
        data / study.name,
        study.drop_out_s,
    )


def check_place(study: Study, data: Path, person: Person | None, kind: Kind) -> None:
    """Check that there is a place for somebody who comes, or comes back after the place was given
    up.

    Raises
    ------
    StudyFullError
        when there is none.
    """
    assign = assigner(study, data)
    current = None if person is None else assign.as_now([person])[0]
    if current is not None and (not current.left or current.withdrawn):
        return  # nobody else has to be looked at, and there may be thousands
    everybody = assign.as_now(people(data / study.name))
    if current is None:
        assign(everybody, kind, next_number(everybody, kind))
    else:
        assign.check_return(everybody, current)


def _no_place(study: Study, data: Path, person: Person | None, kind: Kind, language: str) -> str | None:
    """Why nobody else can take part, or None."""
    try:
        check_place(study, data, person, kind)
    except StudyFullError:
        everybody = assigner(study, data).as_now(people(data / study.name))
        if (
            study.people is not None
            and (count := sum(one.kind == "person" and one.takes_part for one in everybody)) >= study.people
        ):
            return sentence("wrong.full_study", language, n=count, people=study.people)
        return sentence("wrong.full", language, groups=group_counts(study.groups, everybody))
    return None


def _of_no_group(study: Study, folder: Path, person: Person, request: VisitRequest, language: str) -> str | None:
    """Why somebody who has come before can begin no session of the study as it is now: the group is
    not among its groups."""
    goes_on = (
        request.existing.strip() == "resume"
        and request.session.strip().isdigit()
        and runs(folder, str(person.name), int(request.session))
    )
    if goes_on or person.group in ({group.name for group in study.groups} or {""}):
        return None
    return sentence("wrong.group" if person.group else "wrong.no_group", language, name=person.name, group=person.group)


def _misnumbered(
    study: Study, folder: Path, person: Person | None, kind: Kind, number: str, language: str
) -> str | None:
    if not re.fullmatch(r"[0-9]{1,9}", number):
        return sentence("wrong.number", language, found=f"'{number[:60]}'")
    if person is not None:
        return (
            None
            if person.number == int(number)
            else sentence("wrong.number_of", language, name=person.name, number=person.number)
        )
    if (most := study.most_participants) is not None and int(number) > most:
        return sentence("wrong.seeds", language, most=most, number=number)
    return number_taken(people(folder), kind, int(number), language)


def _describe_earlier(before: Path, language: str = "en") -> str:
    """That there are data already, and what may be done."""
    head = read_head(before)
    parts = [f"{name} {state.progress}" for name, state in states(before).items()] or [
        sentence("wrong.no_trial", language)
    ]
    return sentence(
        "wrong.existing",
        language,
        name=head["participant"],
        session=head["session"],
        date=day_here(head["created"]),
        parts=", ".join(parts),
    )


def agreed_in(visit: Visit, text: str) -> str | None:
    """The earlier session in which the participant agreed to a consent text (by its hash), or None."""
    for folder in runs(visit.folder.parent.parent, visit.folder.parent.name):
        for line in read_journal(folder):
            if line["event"] == "consent" and line["text"] == text:
                return folder.name
    return None


# -- beginning -------------------------------------------------------------------------------------


def foresee(study: Study, data: Path, request: VisitRequest) -> Visit:
    """The session that :func:`sit_down` will begin or take up, without writing anything, so that
    problems show before there is a folder or a number.

    Raises
    ------
    SpanLabError
        when something that was typed does not fit (all of it in one message).
    """
    _check(study, data, request)
    folder, name = data / study.name, request.participant.strip()
    person = find(folder, name) if name else None
    if person is None:
        number = int(request.number) if request.number.strip() else next_number(people(folder), request.kind)
        assign = assigner(study, data)
        group, place = assign(assign.as_now(people(folder)), request.kind, number)
        person = Person(
            name or named_by_number(request.kind, number), number, request.kind, "", group=group, place=place
        )
    return _seated(study, folder, person, request)[0]


def sit_down(study: Study, data: Path, request: VisitRequest, now: Callable[[], str] = utc_now) -> tuple[Visit, bool]:
    """Begin a session of a study or take one up again, and say which of the two it is.

    Raises
    ------
    SpanLabError
        when something that was typed does not fit (all of it in one message), or the folder cannot
        be written.
    StudyFullError
        when there is no place, maybe since a moment.
    """
    _check(study, data, request, places=False)
    folder = data / study.name
    make_folder(folder, remedy="choose another folder with --data", mode=study.mode)
    person = register(
        folder,
        request.participant.strip(),
        request.kind,
        int(request.number) if request.number.strip() else None,
        now,
        assigner(study, data),
    )
    with only_writer(folder, patience_s=20):
        visit, goes_on = _seated(study, folder, person, request)
        if goes_on:
            return visit, True
        if (visit.folder / JOURNAL).exists() or any(visit.folder.glob("*/session.json")):
            raise SpanLabError(
                f"{visit.folder} has data, but no {HEAD}, which names the participant; restore that file from a copy,"
                " or move the folder elsewhere"
            )
        if visit.folder.exists():
            write_json(visit.folder / HEAD, _head(visit, now()))
        else:
            first_free_folder(
                visit.folder.parent, [visit.folder.name], lambda new, _: write_json(new / HEAD, _head(visit, now()))
            )
    return visit, False


def _check(study: Study, data: Path, request: VisitRequest, places: bool = True) -> None:
    if wrong := check_request(study, data, request, places=places):
        raise SpanLabError("\n".join(f"{name}: {why}" for name, why in wrong.items()))


def _seated(study: Study, folder: Path, person: Person, request: VisitRequest) -> tuple[Visit, bool]:
    """The session that a person takes, and whether it goes on."""
    assert person.name
    session = int(request.session)
    before = runs(folder, person.name, session)
    if before and request.existing == "resume":
        return taken_up(study, person, before[-1], request.fields), True
    if before and request.existing != "new":
        raise SpanLabError(_describe_earlier(before[-1]))  # begun by somebody else at this very moment
    fields = read_typed(study.fields, request.fields, known_fields(folder, person.name))[0]
    if before:
        _refuse_running(before[-1])
    run = 1 + max((read_head(path)["run"] for path in before), default=0)
    language = request.language.strip() or study.languages[0]
    visit_folder = folder / person.name / (f"session-{session}" if run == 1 else f"session-{session}-run-{run}")
    study.seeds_for(person.number, session, study.paradigms[0].name, run, person.kind)
    as_taken = study.of_group(person.group)
    names = tuple(one.name for one in as_taken.order_for(person.turn, session))
    return Visit(visit_folder, as_taken, person, session, run, language, fields, names), False


def _refuse_running(folder: Path) -> None:
    """Refuse to begin a session anew while it is running.

    Raises
    ------
    SpanLabError
        when another process writes it.
    """
    try:
        with only_writer(folder):
            pass
    except TakenError:
        raise SpanLabError(
            f"existing: {folder} is running, so it cannot start afresh at the same time; end it first (Escape, then"
            " leave)"
        ) from None


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
        **in_group(person),
        "order": list(visit.names),
        "language": visit.language,
        # what a participant says is kept once the participant has agreed to take part
        **(
            {"fields": {}, "fields_later": True}
            if study.consent is not None and study.fields
            else {"fields": dict(visit.fields)}
        ),
        "created": created,
        **sentences_for_people(visit.language),
        "study_data": study.data,
    }


def taken_up(study: Study, person: Person, folder: Path, typed: Mapping[str, str] | None = None) -> Visit:
    """Open a session as it was begun, whatever has changed in the study file since.

    Parameters
    ----------
    typed : about the participant, where that was not kept yet (:func:`.fields_due`)
    """
    head = read_head(folder)
    as_begun = study if study.hash == head["study_hash"] else study_from_data(head["study_data"], study.file)
    as_taken, names = as_begun.of_group(person.group), tuple(head["order"])
    fields = head["fields"]
    if fields_due(folder):
        fields = read_typed(as_taken.fields, typed or {}, known_fields(folder.parent.parent, str(person.name)))[0]
    return Visit(folder, as_taken, person, head["session"], head["run"], head["language"], fields, names)


def as_begun(study: Study, data: Path, request: VisitRequest) -> tuple[Study, Mapping[str, Any]]:
    """The study of a session that is going to be taken: of one that goes on as it was begun, else
    as its file says now; and the settings with which somebody sat at the window in what goes on,
    none when nothing was begun."""
    folder = data / study.name
    person = find(folder, request.participant.strip()) if request.existing.strip() == "resume" else None
    before = runs(folder, person.name, int(request.session)) if person is not None and person.name else []
    if person is None or not before:
        return study, {}
    begun = [read_session(state.folder)["agent_settings"] for state in states(before[-1]).values()]
    return taken_up(study, person, before[-1]).study, begun[-1] if begun else {}


# -- the questions before it begins: built-in ones, then the fields of the study -----------------------

#: what languages call themselves for which there is no file
_NAMES = {"fr": "français", "es": "español", "it": "italiano", "nl": "Nederlands", "pt": "português", "pl": "polski"}


def questions(study: Study, data: Path, kind: Kind, request: VisitRequest) -> list[Question]:
    """The questions of the dialog, in the study's first language, filled with what is known
    already. Those about the participant come later, where the study asks for consent: once the
    participant has agreed."""
    language = study.languages[0]

    def say(key: str, **values: object) -> str:
        return sentence(f"dialog.{key}", language, **values)

    free = next_number(people(data / study.name), kind)
    form = [
        Question("participant", say("participant"), value=request.participant, required=True),
        Question("number", say("number"), value=request.number, hint=say("free", number=free)),
        Question(
            "existing",
            say("existing"),
            {name: say(name) for name in ("stop", "resume", "new")},
            request.existing or "stop",
            late=True,
        ),
    ]
    if len(study.sessions) > 1:
        form.insert(
            1,
            Question(
                "session",
                say("session"),
                {str(n + 1): str(n + 1) for n in range(len(study.sessions))},
                request.session,
                required=True,
            ),
        )
    if len(study.languages) > 1:
        called = {
            code: sentence("language.name", code) if code in languages() else _NAMES.get(code, code)
            for code in study.languages
        }
        form.insert(-1, Question("language", say("language"), called, request.language or language, required=True))
    return (
        form
        if study.consent is not None
        else form + [about_participant(field, language, request.fields.get(field.name, "")) for field in study.fields]
    )


def about_participant(field: FieldPart, language: str, value: str = "") -> Question:
    """The question of a field.

    Parameters
    ----------
    value : what stands there at first
    """
    hint = sentence("dialog.range", language, low=field.range[0], high=field.range[1]) if field.range else ""
    return Question(field.name, field.label[language], field.labels(language), value, field.required, hint)


def to_ask(fields: Sequence[FieldPart], known: Mapping[str, Any]) -> list[FieldPart]:
    """The fields that are asked in a session; what is asked once, and is known from earlier
    sessions, is not."""
    return [field for field in fields if field.each_session or field.name not in known]


def answered(study: Study, kind: Kind, typed: Mapping[str, str], session: str) -> VisitRequest:
    """Turn what was typed into a request for a session."""
    built_in = {name: typed.get(name, "") for name in ("participant", "number", "language", "existing")}
    return VisitRequest(
        session=typed.get("session", session),
        fields={field.name: typed[field.name] for field in study.fields if field.name in typed},
        kind=kind,
        asked_later=study.consent is not None,
        **built_in,
    )
