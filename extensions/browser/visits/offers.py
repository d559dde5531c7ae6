"""What a server offers: the sessions of a study, or one paradigm; for whoever comes with a link."""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from spanlab.agents import WindowAgent
from spanlab.agents.human.display import ThemeName
from spanlab.agents.human.input import USUAL, Refractory
from spanlab.agents.human.pages import Question
from spanlab.core import SpanLabError, append_line
from spanlab.core.locale import sentence
from spanlab.paradigms import AnswerKeys, Generator, Paradigm, PlannedTrial, load_paradigm, one_of_each
from spanlab.sessions import (
    ChosenTrials,
    KeySetting,
    Request,
    Runner,
    Session,
    SessionSeed,
    begin,
    complete,
    key_request,
    plan_trials,
    reopen,
    seed_for,
    session_names,
    session_stem,
    utc_now,
)
from spanlab.sessions.record import in_browser, read_session
from spanlab.sessions.studies import (
    JOURNAL,
    Battery,
    EndedEarlyError,
    Judge,
    Kind,
    Monitor,
    MonitoredSession,
    ParadigmMonitor,
    QuizLeftError,
    Study,
    StudyFullError,
    Visit,
    VisitRequest,
    about_participant,
    answered,
    check_place,
    check_request,
    completed,
    find,
    known_fields,
    misnamed,
    people,
    questions,
    read_head,
    read_journal,
    read_typed,
    runs,
    sit_down,
    to_ask,
)
from spanlab.stimuli.render import PaletteName

from ..participant.agent import check_answerable_at_page, check_displays_at_page

#: of sessions that begin at the same time one comes after the other, so that no two take the same seed
_BEGINNING = threading.Lock()


@dataclass(frozen=True, slots=True)
class Looks:
    """How the page of a participant looks and answers."""

    theme: ThemeName = "standard"
    palette: PaletteName = "published"
    refractory: Refractory = USUAL


@dataclass(frozen=True, slots=True)
class FormQuestion:
    """A question about the participant: as the dialog at the window asks it."""

    name: str
    label: str
    choices: tuple[tuple[str, str], ...]
    value: str
    required: bool
    hint: str


@dataclass(frozen=True, slots=True)
class End:
    """How a visit ends, in words for the participant.

    Parameters
    ----------
    code_label : what stands above the code, where it is no completion code
    language : of the words; that of the visit if empty
    """

    title: str
    texts: tuple[str, ...]
    code: str = ""
    redirect: str = ""
    code_label: str = ""
    language: str = ""


class LinkError(SpanLabError):
    """With this link nobody can take part, however often it is opened: its identifier or its session is wrong."""


class Host(Protocol):
    """Who looks after a visit: seats the participant at the page, and asks questions about them."""

    def seat(self, looks: Looks, language: str) -> WindowAgent:
        """Somebody at the page."""
        ...

    def ask(self, title: str, questions: Iterable[FormQuestion], wrong: Mapping[str, str]) -> Mapping[str, str]:
        """What is typed in answer to the questions."""
        ...

    def recorded_in(self, folder: Path) -> None:
        """The folder of the record, from now on."""
        ...

    def turned_away(self) -> None:
        """There is no place for the participant."""
        ...


class Watch(Protocol):
    """Reads sessions as they are now."""

    def look(self, now: float) -> list[MonitoredSession]:
        """Every paradigm that has begun, the latest sign last."""
        ...


class Offer(Protocol):
    """Something to take part in."""

    @property
    def data(self) -> Path:
        """The folder for its sessions."""
        ...

    @property
    def title(self) -> str:
        """What participants read above the first page."""
        ...

    @property
    def language(self) -> str:
        """The language before anybody has chosen one."""
        ...

    @property
    def looks(self) -> Looks:
        """How the page looks and answers."""
        ...

    @property
    def phones(self) -> bool:
        """Whether phones will do."""
        ...

    @property
    def drop_out_s(self) -> float | None:
        """A visit in which nothing happens for so long (s) is over; None where it goes on."""
        ...

    def places(self) -> tuple[int, int] | None:
        """How many places are taken, of how many; None where nobody counts them."""
        ...

    def watch(self, judge: Judge | None = None) -> Watch:
        """What reads all its sessions as they are now, for the assistant."""
        ...

    def take(self, participant: str, session: str, host: Host) -> End:
        """Take a participant through a session, or through the rest of it.

        Raises
        ------
        LinkError
            when it is the link that is wrong.
        SpanLabError
            what has stopped it.
        """
        ...


def _check_questions(paradigm: Paradigm, plan: Sequence[PlannedTrial], generator: Generator, keys: KeySetting) -> None:
    """Check that a page can show the trials, and has what it takes to answer, with the keys of the session.

    Raises
    ------
    SpanLabError
        with what it lacks.
    """
    trials = [planned.compile(paradigm, generator) for planned in one_of_each(plan)]
    check_displays_at_page(display.stimulus for trial in trials for step in trial.steps for percept in step.percepts for display in percept.displays)
    kinds = dict.fromkeys(kind for trial in trials for kind in trial.kinds)
    check_answerable_at_page([kind.with_keys(AnswerKeys(custom=dict(keys.own))) for kind in kinds])


@dataclass(frozen=True, slots=True)
class ParadigmOffer:
    """One session of one paradigm for everybody who comes.

    Parameters
    ----------
    source : of the paradigm: its name in the library, or a file
    data : folder for sessions
    given : the trials of everybody who comes; None for trials of everybody's own
    """

    source: str
    data: Path
    paradigm: Paradigm
    language: str = "en"
    trials: int | None = None
    design: str | None = None
    practice: bool = True
    pilot: bool = False
    keys: KeySetting = field(default_factory=KeySetting)
    looks: Looks = Looks()
    phones: bool = True
    drop_out_s: float | None = None
    given: ChosenTrials | None = None

    @property
    def title(self) -> str:
        """What participants read above the first page."""
        return self.paradigm.titled(self.language)

    @classmethod
    def checked(cls, source: str, data: Path, **more: object) -> ParadigmOffer:
        """The offer, if a page can do all of it.

        Raises
        ------
        SpanLabError
            with what it cannot.
        """
        offer = cls(source, data, load_paradigm(source), **more)  # type: ignore[arg-type]
        if offer.language not in offer.paradigm.instructions:
            raise SpanLabError(f"{offer.paradigm.name} has no instructions in '{offer.language}'; there are {', '.join(offer.paradigm.instructions)}")
        chosen = offer.given or plan_trials(source, 1, None, offer.trials, offer.design)
        _check_questions(offer.paradigm, chosen.plan, chosen.generator, offer.keys)
        return offer

    def places(self) -> tuple[int, int] | None:
        """Nobody counts them."""
        return None

    def watch(self, judge: Judge | None = None) -> Watch:
        """What reads all sessions of people with the paradigm."""
        return ParadigmMonitor(self.paradigm.name, self.data, judge)

    def take(self, participant: str, session: str, host: Host) -> End:
        """Take a participant through the session, or through the rest of it; who has finished sees the last page again."""
        end = End(sentence("session.thanks", self.language), (sentence("session.thanks_body", self.language),))
        with _BEGINNING:
            before = self._begun(participant)
            if before is not None:
                host.recorded_in(before)
            if before is not None and complete(before):
                return end
            agent = host.seat(self.looks, self.language)
            begun = reopen(before) if before is not None else self._begin(participant, agent)
        host.recorded_in(begun.folder)
        Runner(begun, agent).run()
        return end

    def _begun(self, participant: str) -> Path | None:
        """The session of a participant that was begun here, or None."""
        pattern = re.compile(re.escape(session_stem(self.paradigm.name, participant, 0)[:-1]) + r"\d+(-\d+)?")
        for name in session_names(self.data):
            if pattern.fullmatch(name) and (self.data / name / "session.json").exists():
                info = read_session(self.data / name)
                if info["participant"] == participant and in_browser(info):
                    return self.data / name
        return None

    def _begin(self, participant: str, agent: WindowAgent) -> Session:
        if self.given is not None:
            seed, chosen = SessionSeed(self.given.seed), self.given
        else:
            seed = seed_for(self.data, self.paradigm.name, participant)
            chosen = plan_trials(self.source, seed.seed, None, self.trials, self.design)
        extra = {"seed_from": seed.as_json(), "keys": key_request(self.keys, participant), **chosen.extra}
        request = Request(
            chosen.seed, chosen.generator, participant, chosen.design, self.language, self.pilot, self.practice, None, source=self.source, extra=extra
        )
        return begin(self.data, chosen.paradigm, agent, chosen.plan, request)


@dataclass(frozen=True, slots=True)
class StudyOffer:
    """The sessions of a study; which of them a participant takes, the link says.

    Parameters
    ----------
    kind : how participants are counted: people, or pilots
    """

    study: Study
    data: Path
    kind: Kind = "person"

    @property
    def title(self) -> str:
        """What participants read above the first page."""
        return self.study.title

    @property
    def language(self) -> str:
        """The language before anybody has chosen one."""
        return self.study.languages[0]

    @property
    def looks(self) -> Looks:
        """As the study file has it."""
        return Looks(self.study.theme, self.study.palette, self.study.refractory)

    @property
    def phones(self) -> bool:
        """Whether phones will do."""
        return self.study.online is None or self.study.online.phones == "allowed"

    @property
    def drop_out_s(self) -> float | None:
        """As the study file has it."""
        return self.study.drop_out_s

    @classmethod
    def checked(cls, study: Study, data: Path, kind: Kind = "person") -> StudyOffer:
        """The offer, if a page can do everything that the study file says.

        Raises
        ------
        SpanLabError
            with what it cannot, and why.
        """
        name = study.file.name
        if study.display is not None:
            raise SpanLabError(f"{name} display: nobody knows the screens of people at home, so a measured display has no meaning there; leave it out")
        for one in study.paradigms:
            if one.entry.triggers:
                raise SpanLabError(f"{name} paradigms > {one.name} > triggers: a page in a browser has no port for trigger codes; leave them out")
            _check_questions(one.paradigm, one.plan(1, balanced=False), one.entry.generator, study.keys)
        return cls(study, data, kind)

    def places(self) -> tuple[int, int] | None:
        """How many places are taken, where the study is for so many people, or its groups are."""
        sizes = [group.people for group in self.study.groups]
        in_groups = sum(size or 0 for size in sizes) if sizes and None not in sizes else None
        limits = [limit for limit in (self.study.people, in_groups) if limit is not None]
        if not limits:
            return None
        return sum(one.kind == "person" and one.takes_part for one in people(self.data / self.study.name)), min(limits)

    def watch(self, judge: Judge | None = None) -> Watch:
        """What reads all sessions of the study."""
        return Monitor(self.study, self.data, judge)

    def take(self, participant: str, session: str, host: Host) -> End:
        """Take a participant through a session of the study, or through the rest of it; who has finished sees the last page again."""
        folder = self.data / self.study.name
        number = session.strip() or "1"
        before = runs(folder, participant, int(number)) if re.fullmatch(r"[0-9]{1,2}", number) and misnamed(participant) is None else []
        if before:
            host.recorded_in(before[-1])
        if before and (over := self._over(before[-1])) is not None:
            return over
        existing = "resume" if before else ""
        request = VisitRequest(participant, number, existing=existing, kind=self.kind, asked_later=self.study.consent is not None)
        try:
            self._check_place(participant)
            if before:
                self._check_link(request)
            else:
                request = self._asked(request, host)
            with _BEGINNING:
                self._check_place(participant)
                visit = sit_down(self.study, self.data, request)[0]
        except StudyFullError:
            host.turned_away()
            return self._full(request.language or self.language)
        host.recorded_in(visit.folder)
        looks = Looks(visit.study.theme, visit.study.palette, visit.study.refractory)
        try:
            Battery(visit, host.seat(looks, visit.language), self.kind == "pilot", ask=lambda visit: _about(visit, host)).run()
        except EndedEarlyError as error:
            return _ended_early(error.page, visit.language)
        return self._end(visit.language, visit.folder)

    def _over(self, folder: Path) -> End | None:
        """The last page of a session that is over, in its language; None where it goes on."""
        language = read_head(folder)["language"]
        if completed(folder):
            return self._end(language, folder)
        if any(line["event"] == "left" for line in read_journal(folder)):
            return _ended_early(QuizLeftError.page, language)
        return None

    def _check_place(self, participant: str) -> None:
        """Check that there is a place.

        Raises
        ------
        StudyFullError
            when there is none.
        """
        person = find(self.data / self.study.name, participant)
        if person is None or person.kind == self.kind:
            check_place(self.study, self.data, person, self.kind)

    def _full(self, language: str) -> End:
        full = None if self.study.online is None else self.study.online.full
        code, redirect = ("", "") if full is None else (full.code or "", full.redirect or "")
        title, text, label = (sentence(f"online.{key}", language) for key in ("no_place_title", "no_place", "no_place_code"))
        return End(title, (text,), code, redirect, label, language)

    def _end(self, language: str, folder: Path) -> End:
        """The last page of a session that is finished; the journal says when it gave a code for the first time."""
        online = self.study.online
        code, redirect = ("", "") if online is None else (online.code or "", online.redirect or "")
        if (code or redirect) and not any(line["event"] == "code" for line in read_journal(folder)):
            append_line(folder / JOURNAL, {"event": "code", "at": utc_now(), "code": code or redirect})
        return End(sentence("study.thanks", language), () if code or redirect else (sentence("study.over", language),), code, redirect, language=language)

    def _check_link(self, request: VisitRequest, asked: Collection[str] = ()) -> dict[str, str]:
        """What is wrong with the answers to questions, by their names.

        Raises
        ------
        LinkError
            when something else is wrong: the identifier, or the session.
        """
        wrong = check_request(self.study, self.data, request, self.language)
        if amiss := {name: why for name, why in wrong.items() if name not in asked}:
            raise LinkError("; ".join(f"{name}: {why}" for name, why in amiss.items()))
        return wrong

    def _asked(self, request: VisitRequest, host: Host) -> VisitRequest:
        """What the study asks about somebody who begins: where it asks for consent, the language alone, and all else later.

        Raises
        ------
        LinkError
            when the link itself is wrong: its identifier, or its session.
        """
        folder = self.data / self.study.name
        earlier = known_fields(folder, request.participant) if misnamed(request.participant) is None else {}
        names = {field.name for field in to_ask(self.study.fields, earlier)} if self.study.consent is None else set[str]()
        names |= {"language"} if len(self.study.languages) > 1 else set()
        typed: dict[str, str] = {}
        first = True
        while True:
            self._check_place(request.participant)
            wrong = self._check_link(request, names)
            if not wrong and (not first or not names):
                return request
            form = [question for question in questions(self.study, self.data, self.kind, request) if question.name in names]
            answers = host.ask(sentence("online.about_you", self.language), map(_on_page, form), {} if first else wrong)
            typed = {name: value[:500] for name, value in answers.items() if name in names}
            first = False
            request = answered(self.study, self.kind, {"participant": request.participant, **typed}, request.session)


def _about(visit: Visit, host: Host) -> Mapping[str, Any]:
    """What the study asks about a participant who has agreed to take part."""
    known = known_fields(visit.folder.parent.parent, str(visit.person.name))
    due, typed = to_ask(visit.study.fields, known), dict[str, str]()
    first = True
    while True:
        values, wrong = read_typed(visit.study.fields, typed, known, visit.language)
        if not wrong and not (first and due):
            return values
        form = [_on_page(about_participant(field, visit.language, typed.get(field.name, ""))) for field in due]
        answers = host.ask(sentence("online.about_you", visit.language), form, {} if first else wrong)
        typed = {field.name: answers[field.name][:500] for field in due if field.name in answers}
        first = False


def _on_page(question: Question) -> FormQuestion:
    return FormQuestion(question.name, question.label, tuple(question.choices.items()), question.value, question.required, question.hint)


def _ended_early(page: str, language: str) -> End:
    return End(sentence("study.thanks", language), (sentence(page, language),), language=language)
