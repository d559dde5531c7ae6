"""What a server offers to anybody who comes with a link, and the offer of a study: its sessions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from spanlab.agents import PageContent, WindowAgent
from spanlab.agents.human.input import check_box, read_pulse
from spanlab.agents.human.pages import Question
from spanlab.core import SpanLabError
from spanlab.core.atomic_files import append_line
from spanlab.core.locale import sentence
from spanlab.paradigms import Generator, Paradigm, PlannedTrial
from spanlab.paradigms.compile import one_of_each
from spanlab.paradigms.responses import AnswerKeys
from spanlab.sessions import utc_now
from spanlab.sessions.key_mapping import KeySetting
from spanlab.sessions.record import read_events
from spanlab.sessions.studies import (
    Battery,
    Monitor,
    Study,
    Visit,
    VisitRequest,
    people,
    read_head,
    read_journal,
    runs,
    sit_down,
)
from spanlab.sessions.studies.battery import EndedEarlyError, ask_for_consent
from spanlab.sessions.studies.monitoring import Judge
from spanlab.sessions.studies.participants import Kind, StudyFullError, find, misnamed
from spanlab.sessions.studies.schema import read_typed
from spanlab.sessions.studies.visit import about_participant, answered, check_place, check_request, questions, to_ask
from spanlab.sessions.studies.visit_files import JOURNAL, completed, known_fields, states
from spanlab.stimuli.render import PaletteName

from ..participant.agent import BrowserParticipant, check_answerable_at_page, check_displays_at_page
from ..participant.channel import PageGone
from ..participant.replacements import Replacements, TooManyReplacementsError
from ..participant.screen import PageScreen, lacking
from .admission import Tickets

#: parameters of a link that say who takes part, where a study names none
IDENTIFIERS = ("participant", "PROLIFIC_PID")
#: the parameter of a signed link
TICKET = "ticket"
#: why a place has become free of whose trials too many were replaced
_REPLACED = "too many trials were replaced"


@dataclass(frozen=True, slots=True)
class End:
    """End of a visit, in words for the participant.

    Parameters
    ----------
    code_label : what stands above the code, where it is no completion code
    language : of the words; that of the visit if empty
    post : whether the redirect is sent as a form
    """

    title: str
    texts: tuple[str, ...]
    code: str = ""
    redirect: str = ""
    code_label: str = ""
    language: str = ""
    post: bool = False


class LinkError(SpanLabError):
    """With this link nobody can take part, however often it is opened: its identifier or its
    session is wrong."""


class Host(Protocol):
    """Host of a visit: seats the participant at the page, and asks questions about them."""

    def seat(self, palette: PaletteName, language: str) -> WindowAgent:
        """Somebody at the page."""
        ...

    def ask(self, title: str, questions: Iterable[Question], wrong: Mapping[str, str]) -> Mapping[str, str]:
        """Return what is typed in answer to the questions."""
        ...

    def recorded_in(self, folder: Path) -> None:
        """The folder of the record, from now on."""
        ...

    def turned_away(self) -> None:
        """There is no place for the participant."""
        ...

    @property
    def link(self) -> Mapping[str, str]:
        """Parameters of the link besides the participant."""
        ...

    @property
    def screen(self) -> PageScreen:
        """The screen of the page."""
        ...

    def calibrate(self, what: Sequence[str], canvas_deg: float | None, language: str) -> None:
        """Have the participant measure the screen, and where their eyes are."""
        ...


def check_page(
    paradigm: Paradigm, plan: Sequence[PlannedTrial], generator: Generator, keys: KeySetting, pulse: str = ""
) -> None:
    """Check that a page can show the trials, and has what it takes to answer, with the keys of the
    session, and the ``pulse`` of its scanner.

    Raises
    ------
    SpanLabError
        with what it lacks.
    """
    trials = [planned.compile(paradigm, generator) for planned in one_of_each(plan)]
    check_displays_at_page(
        display.stimulus
        for trial in trials
        for step in trial.steps
        for percept in step.percepts
        for display in percept.displays
    )
    kinds = dict.fromkeys(kind for trial in trials for kind in trial.kinds)
    as_asked = [kind.with_keys(AnswerKeys(custom=dict(keys.own))) for kind in kinds]
    check_answerable_at_page(as_asked)
    if pulse:
        if list(read_pulse(pulse).typed) != [pulse]:
            raise SpanLabError(f"a page in a browser takes the pulses of a scanner from one key; found '{pulse}'")
        check_box(pulse, as_asked, {}, pulses=True)


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
        """The title that participants read above the first page."""
        return self.study.title

    @property
    def exchange(self) -> tuple[Path, int]:
        """The folder with its places, and the permissions of what workers make there."""
        return self.data / self.study.name, self.study.mode

    @property
    def language(self) -> str:
        """The language before anybody has chosen one."""
        return self.study.languages[0]

    @property
    def palette(self) -> PaletteName:
        """As the study file has it."""
        return self.study.palette

    @property
    def phones(self) -> bool:
        """True if phones will do."""
        return self.study.online is None or self.study.online.require.phones == "allowed"

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
            raise SpanLabError(
                f"{name} display: nobody knows the screens of people at home, so a measured display has no meaning"
                " there; leave it out"
            )
        for one in study.paradigms:
            if one.entry.triggers:
                raise SpanLabError(
                    f"{name} paradigms > {one.name} > triggers: a page in a browser has no port for trigger codes;"
                    " leave them out"
                )
            pulse = study.start.pulse if study.start is not None and one.entry.scanned else ""
            check_page(one.paradigm, one.plan(1, balanced=False), one.entry.generator, study.keys, pulse)
        return cls(study, data, kind)

    def places(self) -> tuple[int, int] | None:
        """The number of places that are taken, where the study is for so many people, or its groups
        are."""
        sizes = [group.people for group in self.study.groups]
        in_groups = sum(size or 0 for size in sizes) if sizes and None not in sizes else None
        limits = [limit for limit in (self.study.people, in_groups) if limit is not None]
        if not limits:
            return None
        return sum(one.kind == "person" and one.takes_part for one in people(self.data / self.study.name)), min(limits)

    def watch(self, judge: Judge | None = None) -> Monitor:
        """The function that reads all sessions of the study."""
        return Monitor(self.study, self.data, judge)

    @property
    def font(self) -> Path | None:
        """As the study file has it."""
        return self.study.font

    @property
    def wanted(self) -> Mapping[str, Any]:
        """As the study file has it."""
        named, keep = None, list[str]()
        if (online := self.study.online) is not None:
            named, keep = online.identifier, [*online.keep, *[TICKET] * (online.admission == "links")]
        return {
            "identifiers": list(IDENTIFIERS) if named is None else [named],
            "needed": named is not None,
            "keep": keep,
        }

    @property
    def forms_to(self) -> Sequence[str]:
        """As the endings of the study file have them."""
        online = self.study.online
        endings = [] if online is None else [online.ending(name) for name in type(online.endings).model_fields]
        addresses = [urlsplit(ending.redirect) for ending in endings if ending.post and ending.redirect]
        return sorted({f"{address.scheme}://{address.netloc}" for address in addresses})

    def admits(self, participant: str, link: Mapping[str, str]) -> bool:
        """Return True if the link is signed, or the identifier listed, where the study file asks
        for that."""
        online = self.study.online
        if online is None or online.admission == "open":
            return True
        if online.admission == "links":
            return Tickets.of_study(self.study, self.data).fits(participant, link.get(TICKET, ""))
        return participant in allowed(self.study.file.parent / str(online.allow))

    def take(self, participant: str, session: str, host: Host) -> End:
        """Take a participant through a session of the study, or through the rest of it; who has
        finished sees the last page again."""
        folder = self.data / self.study.name
        number = session.strip() or "1"
        before = (
            runs(folder, participant, int(number))
            if re.fullmatch(r"[0-9]{1,2}", number) and misnamed(participant) is None
            else []
        )
        if before:
            host.recorded_in(before[-1])
        if before and (over := self._over(before[-1], participant, host.link)) is not None:
            return over
        existing = "resume" if before else ""
        request = VisitRequest(
            participant, number, existing=existing, kind=self.kind, asked_later=self.study.consent is not None
        )
        agent, decided = None, ""
        try:
            self._check_place(participant)
            if before:
                self._check_link(request)
            else:
                if missing := self._lacking(host.screen):
                    return self._screened_out(missing, participant, host.link)
                request = self._asked(request, host)
                if self._asks_first and find(folder, participant) is None:
                    agent = host.seat(self.palette, request.language or self.language)
                    decided = self._decided(agent, request.language or self.language)
            visit = sit_down(self.study, self.data, request)[0]
        except StudyFullError:
            host.turned_away()
            language = request.language or self.language
            return self._ended("full", participant, host.link, language, "online.no_place_title", "online.no_place")
        host.recorded_in(visit.folder)
        self._note_link(visit.folder, host.link)
        return self._run(visit, agent or host.seat(visit.study.palette, visit.language), host, decided)

    @property
    def _asks_first(self) -> bool:
        """Return True if somebody new has to do something before there is a place."""
        return self.study.consent is not None or (self.places() is not None and not self.study.fields)

    def _decided(self, agent: WindowAgent, language: str) -> str:
        """Return the decision of somebody new about taking part, before there is a place: nobody
        takes one who does nothing."""
        agent.speak(language)
        if self.study.consent is not None:
            return ask_for_consent(agent, self.study.consent[language], language)
        agent.page(PageContent(sentence("online.take_place", language), self.study.title))
        return ""

    def _run(self, visit: Visit, agent: WindowAgent, host: Host, decided: str) -> End:
        """Take the participant through the session."""
        online, most, name = self.study.online, None, str(visit.person.name)
        if online is not None and online.most_replacements is not None:
            most = online.most_replacements
        ends = online is not None and online.after_replacements == "end"
        if isinstance(agent, BrowserParticipant):
            agent.replacements = Replacements(_replaced(visit.folder), most if ends else None, agent.channel.clock)

        def about(visit: Visit) -> Mapping[str, Any]:
            return _about(visit, host)

        battery = Battery(visit, agent, self.kind == "pilot", ask=about, decided=decided)
        if online is not None and online.calibrate and decided != "refuse":
            host.calibrate(online.calibrate, online.canvas_deg, visit.language)
        try:
            battery.run()
        except PageGone:  # from the last page: everything is done
            if not completed(visit.folder):
                raise
        except EndedEarlyError as error:
            return self._ended_early(error.page, visit.language, name, host.link, error.ending)
        except TooManyReplacementsError as error:
            append_line(visit.folder / JOURNAL, {"event": "ended", "at": utc_now(), "why": str(error)})
            battery.give_up_place(_REPLACED)
            return self._ended_early("online.replaced", visit.language, name, host.link)
        if most is not None and (count := _replaced(visit.folder)) > most:
            self._note_once(visit.folder, "flagged", why=f"{count} trials were replaced, and the study allows {most}")
        return self._end(visit.language, visit.folder, name, host.link)

    def _note_link(self, folder: Path, link: Mapping[str, str]) -> None:
        """Record what the link says, as far as the study file wants it kept, whenever it is another
        one."""
        kept = {
            name: link[name] for name in ([] if self.study.online is None else self.study.online.keep) if name in link
        }
        latest = next((line["link"] for line in reversed(read_journal(folder)) if line["event"] == "came"), None)
        if kept and kept != latest:
            append_line(folder / JOURNAL, {"event": "came", "at": utc_now(), "link": kept})

    def _note_once(self, folder: Path, event: str, **more: object) -> None:
        if not any(line["event"] == event for line in read_journal(folder)):
            append_line(folder / JOURNAL, {"event": event, "at": utc_now(), **more})

    def _lacking(self, screen: PageScreen) -> list[tuple[str, str]]:
        """Return the requirements of the study that the page does not meet."""
        return [] if self.study.online is None else lacking(self.study.online.require, screen)

    def _over(self, folder: Path, participant: str, link: Mapping[str, str]) -> End | None:
        """The last page of a session that is over, in its language; None where it goes on."""
        language = read_head(folder)["language"]
        if any(line["event"] == "ended" for line in read_journal(folder)):
            return self._ended_early("online.replaced", language, participant, link)
        if any(state.quiz is not None and state.quiz.left for state in states(folder).values()):
            return self._ended_early("session.quiz_left", language, participant, link)
        return self._end(language, folder, participant, link) if completed(folder) else None

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

    def _ending(self, name: str, participant: str, link: Mapping[str, str]) -> tuple[str, str, bool]:
        """The code and the address with which a visit ends, and whether that is sent as a form."""
        if self.study.online is None:
            return "", "", False
        ending = self.study.online.ending(name)
        return *ending.filled(participant, link), ending.post

    def _ended(
        self, ending: str, participant: str, link: Mapping[str, str], language: str, title: str, *texts: str
    ) -> End:
        """The last page of a visit that was not completed: its title and texts by their sentences."""
        code, redirect, post = self._ending(ending, participant, link)
        label = sentence("online.no_place_code", language)
        told = tuple(sentence(text, language) for text in texts)
        return End(sentence(title, language), told, code, redirect, label, language, post)

    def _ended_early(
        self, page: str, language: str, participant: str, link: Mapping[str, str], ending: str = "failed_check"
    ) -> End:
        """The last page of somebody who may not go on."""
        return self._ended(ending, participant, link, language, "study.thanks", page)

    def _screened_out(self, missing: Sequence[tuple[str, str]], participant: str, link: Mapping[str, str]) -> End:
        end = self._ended("screened_out", participant, link, self.language, "online.lacks_title", "online.lacks")
        needed = tuple(sentence(f"online.lacks_{key}", self.language, n=value) for key, value in missing)
        return replace(end, texts=end.texts + needed)

    def timed_out(self, participant: str, link: Mapping[str, str], language: str) -> End | None:
        """The last page of somebody at whose page nothing has happened for the declared time, where
        the study file has one."""
        end = self._ended("time_out", participant, link, language, "online.time_out_title", "online.time_out")
        return end if end.code or end.redirect else None

    def _end(self, language: str, folder: Path, participant: str, link: Mapping[str, str]) -> End:
        """The last page of a session that is finished; the journal says when it gave a code for the
        first time."""
        online, ending = self.study.online, "completed"
        if online is not None and online.completion == "only_if_plausible" and (count := _implausible(folder)):
            ending = "implausible"
            trials = "1 trial has" if count == 1 else f"{count} trials have"
            self._note_once(folder, "flagged", why=f"{trials} times that cannot be true: not ended as completed")
        code, redirect, post = self._ending(ending, participant, link)
        if code or redirect:
            self._note_once(folder, "code", code=code or redirect)
        return End(
            sentence("study.thanks", language),
            () if code or redirect else (sentence("study.over", language),),
            code,
            redirect,
            language=language,
            post=post,
        )

    def _check_link(self, request: VisitRequest, asked: Collection[str] = ()) -> dict[str, str]:
        """Return the faults of the answers to questions, by their names.

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
        """The questions of the study about somebody who begins: where it asks for consent, the
        language alone, and all else later.

        Raises
        ------
        LinkError
            when the link itself is wrong: its identifier, or its session.
        """
        folder = self.data / self.study.name
        earlier = known_fields(folder, request.participant) if misnamed(request.participant) is None else {}
        names = (
            {field.name for field in to_ask(self.study.fields, earlier)} if self.study.consent is None else set[str]()
        )
        names |= {"language"} if len(self.study.languages) > 1 else set()
        typed: dict[str, str] = {}
        first = True
        while True:
            self._check_place(request.participant)
            wrong = self._check_link(request, names)
            if not wrong and (not first or not names):
                return request
            form = [
                question for question in questions(self.study, self.data, self.kind, request) if question.name in names
            ]
            answers = host.ask(sentence("online.about_you", self.language), form, {} if first else wrong)
            typed = {name: value[:500] for name, value in answers.items() if name in names}
            first = False
            request = answered(self.study, self.kind, {"participant": request.participant, **typed}, request.session)


def _about(visit: Visit, host: Host) -> Mapping[str, Any]:
    """The questions of the study about a participant who has agreed to take part."""
    known = known_fields(visit.folder.parent.parent, str(visit.person.name))
    due, typed = to_ask(visit.study.fields, known), dict[str, str]()
    first = True
    while True:
        values, wrong = read_typed(visit.study.fields, typed, known, visit.language)
        if not wrong and not (first and due):
            return values
        form = [about_participant(field, visit.language, typed.get(field.name, "")) for field in due]
        answers = host.ask(sentence("online.about_you", visit.language), form, {} if first else wrong)
        typed = {field.name: answers[field.name][:500] for field in due if field.name in answers}
        first = False


def _replaced(folder: Path) -> int:
    """Count the trials of a session of a study that were begun once more."""
    events = (event for state in states(folder).values() for event in read_events(state.folder))
    return sum(event["event"] == "trial_start" and event["attempt"] > 1 for event in events)


def _implausible(folder: Path) -> int:
    """Count the trials of a session of a study with times that cannot be true."""
    trials = {
        (paradigm, event["trial"])
        for paradigm, state in states(folder).items()
        for event in read_events(state.folder)
        if event["event"] == "step" and "implausible" in {**event.get("notes", {}), **event.get("happened", {})}
    }
    return len(trials)


def allowed(file: Path) -> frozenset[str]:
    """The identifiers of a list, one in a line; what follows a # is a remark.

    Raises
    ------
    SpanLabError
        when the file cannot be read.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SpanLabError(f"the list of participants {file} cannot be read ({error})") from None
    return frozenset(name for line in lines if (name := line.partition("#")[0].strip()))
