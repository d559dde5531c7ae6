"""A session of a study from its first page to its last: consent, one paradigm after the other with
breaks between them, debriefing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from ...agents.human.input.buttons import check_box
from ...agents.window import Option, PageContent, WindowAgent
from ...core.atomic_files import append_line, only_writer, write_json
from ...core.errors import SpanLabError
from ...core.event_loop import ending_as_ctrl_c
from ...core.json_values import where_given
from ...core.locale import sentence
from ...paradigms import AnswerKeys, PlannedTrial, ResponseKind
from ...paradigms.identity import digest
from ..key_mapping import check_keys
from ..people import DRAWN, seeds_taken, session_names
from ..plan import Request, try_out
from ..run import begin
from ..runner import Progress, Runner
from ..session import Session, complete, reopen, utc_now
from .participants import NOT_PASSED, REFUSED, forget_refusal, in_group, leave
from .schema import EndingName
from .study import Study, StudyParadigm
from .visit import Visit, agreed_in
from .visit_files import HEAD, JOURNAL, read_head, read_journal, skipped, states
from .withdrawal import of_app, remove

#: Whoever looks whether a session is running holds its lock for a moment.
_LOOKED_AT_S = 1.0


class EndedEarlyError(SpanLabError):
    """The session of the study is over before its end.

    ``page`` is the sentence about it on the participant's last page, by its key, and ``ending``
    names how the visit ends.
    """

    page: ClassVar[str] = ""
    ending: ClassVar[EndingName] = "failed_check"


class QuizLeftError(EndedEarlyError):
    """The participant has not passed a quiz after which those who fail leave."""

    page: ClassVar[str] = "session.quiz_left"

    def __init__(self, person: str, paradigm: str, how: str) -> None:
        super().__init__(
            f"{paradigm}: {how}. The session of {person} is over, as the paradigm says (quiz: otherwise: leave); all"
            " data are kept"
        )


class NoConsentError(EndedEarlyError):
    """The participant does not agree to take part."""

    page: ClassVar[str] = "study.refused"
    ending: ClassVar[EndingName] = "no_consent"

    def __init__(self, person: str) -> None:
        super().__init__(
            f"{person} does not agree to take part, so nothing began; the refusal is recorded (spanlab study status)"
        )


def consent_keys(language: str) -> dict[str, str]:
    """The keys of the page of consent, and what each stands for."""
    return {sentence(f"study.{name}_key", language): name for name in ("agree", "refuse")}


def consent_pages(study: Study) -> dict[str, str]:
    """The keys of a study's pages of consent, and what each does."""
    return {
        key: f"says '{name}' to taking part"
        for language in (study.languages if study.consent is not None else ())
        for key, name in consent_keys(language).items()
    }


def ask_for_consent(agent: WindowAgent, text: str, language: str) -> str:
    """Show a consent text with two buttons; returns ``agree`` or ``refuse``, and nothing for an
    agent without a page."""
    options = [Option(name, sentence(f"study.{name}", language), key) for key, name in consent_keys(language).items()]
    return agent.choose(sentence("study.consent", language), text, options, usual="agree")


class Battery:
    """Takes an agent through a session of a study; what is finished is not taken again.

    Parameters
    ----------
    visit : from :func:`.visit.sit_down`
    agent : somebody at a window
    pilot : whether the data are marked as pilot data
    extra : given a paradigm, what else its record is to say
    progress : given a session, what is told after each of its trials
    now : the wall clock
    decided : what the participant has decided about consent (``agree`` or ``refuse``), where that
        was asked before there was a place
    ask : asks the questions of the study about a participant who has agreed to take part; where
        there is none, the answers are those of the visit
    """

    def __init__(
        self,
        visit: Visit,
        agent: WindowAgent,
        pilot: bool = False,
        extra: Callable[[StudyParadigm], Mapping[str, Any]] = lambda paradigm: {},
        progress: Callable[[Session], Progress] | None = None,
        now: Callable[[], str] = utc_now,
        ask: Callable[[Visit], Mapping[str, Any]] | None = None,
        decided: str = "",
    ) -> None:
        self.visit, self.agent, self.pilot, self.now = visit, agent, pilot, now
        self._ask, self._decided = ask, decided
        self._extra, self._progress = extra, progress
        self._plans: dict[str, list[PlannedTrial]] = {}
        self._tried: tuple[Path, int, str] | None = None
        self._seeds: dict[str, int] = {}

    def run(self) -> None:
        """Run the session of the study, or the rest of it, to its end.

        Raises
        ------
        SpanLabError
            what the agent or the disk reports, and when another process is running the session;
            everything up to the last finished trial is safe then.
        """
        with ending_as_ctrl_c(), only_writer(self.visit.folder, patience_s=_LOOKED_AT_S):
            try:
                if self._tried != self._for and (self.agent.compiles_ahead or self.visit.study.keys.own):
                    self.try_out()
                self._run()
            except NoConsentError as error:
                refusal = error
            else:
                return
            finally:
                self.agent.close()
        forget_refusal(self.visit.folder.parent.parent, self.visit.person)
        remove(of_app(self.visit.data, str(self.visit.person.name), below=".app/jobs"))
        raise refusal

    @property
    def _for(self) -> tuple[Path, int, str]:
        """The folder, number and group from which plans and seeds follow."""
        return self.visit.folder, self.visit.person.number, self.visit.person.group

    def try_out(self) -> None:
        """Compile every trial that is left before anybody sits down: a fault in the last paradigm
        must not show when the others have been taken.

        Nothing is written, so that it may be done for a session that is only foreseen
        (:func:`.visit.foresee`).
        """
        if self._tried != self._for:
            self._plans, self._seeds = {}, {}
        begun, study, order = states(self.visit.folder), self.visit.study, self.visit.names
        gone = skipped(read_journal(self.visit.folder))
        kinds: list[ResponseKind] = []
        for paradigm in study.paradigms_in_use:
            # Those of other sessions tell which answers the study has, where it gives keys to some
            # of them.
            if study.keys.own or (paradigm.name in order and paradigm.name not in begun and paradigm.name not in gone):
                kinds += try_out(paradigm.paradigm, self.agent, self._plan(paradigm), self._request(paradigm))
        if study.keys.own:
            check_keys(AnswerKeys(custom=dict(study.keys.own)), kinds)
        check_box(self.agent.buttons, (), consent_pages(study))
        self._tried = self._for

    def _run(self) -> None:
        visit = self.visit
        happened = [line["event"] for line in read_journal(visit.folder)]
        self._note("resumed" if happened else "begun")
        self.agent.speak(visit.language)
        if visit.study.consent is not None and "consent" not in happened:
            self._ask_for_consent(visit.study.consent[visit.language])
        if "fields_later" in (head := read_head(visit.folder)):
            self._ask_about_participant(head)
        before = False
        gone = skipped(read_journal(visit.folder))
        for position, paradigm in enumerate(visit.order, start=1):
            if paradigm.name in gone:
                continue
            state = states(visit.folder).get(paradigm.name)
            if state is not None and complete(state.folder):
                self._check_quiz(paradigm)
                continue
            if before:
                self._break(position - 1)
            session = self._begin(paradigm) if state is None else reopen(state.folder)
            Runner(session, self.agent, self._progress and self._progress(session), self.now, stays=True).run()
            self._check_quiz(paradigm)
            before = True
        if "finished" not in happened:
            self._farewell()
        self._note("finished")

    def _check_quiz(self, paradigm: StudyParadigm) -> None:
        """After a paradigm: whether the session of the study goes on.

        Raises
        ------
        QuizLeftError
            when it was a quiz that was not passed, and whose participants leave then.
        """
        quiz = states(self.visit.folder)[paradigm.name].quiz
        if quiz is not None and quiz.left:
            if all(line["event"] != "left" for line in read_journal(self.visit.folder)):
                self._note("left", paradigm=paradigm.name)
            self.give_up_place(NOT_PASSED)
            raise QuizLeftError(str(self.visit.person.name), paradigm.name, quiz.describe())

    def give_up_place(self, why: str) -> None:
        """Leave the participant's place to somebody else."""
        leave(self.visit.folder.parent.parent, self.visit.person, why, self.now)

    def _ask_for_consent(self, text: str) -> None:
        """Two buttons, and nothing else that means yes; not asked where the participant has agreed
        to this very text in an earlier session.

        Raises
        ------
        NoConsentError
            when the participant does not agree.
        """
        hashed = digest(text)
        if (earlier := agreed_in(self.visit, hashed)) is not None:
            self._note("consent", text=hashed, given_in=earlier)
            return
        decided = self._decided or ask_for_consent(self.agent, text, self.visit.language)
        if not decided:
            raise SpanLabError(f"{self.agent.name} cannot be asked for consent: it has no page with buttons")
        if decided == "refuse":
            self._note("refused", text=hashed)
            self.give_up_place(REFUSED)
            try:
                self._page("thanks", self._say("refused"), "end")
            finally:  # however that page ends, the identifier does not stay
                raise NoConsentError(str(self.visit.person.name))
        self._note("consent", text=hashed)

    def _ask_about_participant(self, head: Mapping[str, Any]) -> None:
        """Once the participant has agreed: ask what the study asks, and only now keep the answers."""
        fields = dict(self._ask(self.visit) if self._ask is not None else self.visit.fields)
        write_json(
            self.visit.folder / HEAD,
            {**{key: value for key, value in head.items() if key != "fields_later"}, "fields": fields},
        )
        self.visit = replace(self.visit, fields=fields)

    def _farewell(self) -> None:
        """The last page: the study's own after the last of its sessions."""
        visit = self.visit
        if visit.study.debrief is not None and visit.session == len(visit.study.sessions):
            self._page("thanks", visit.study.debrief[visit.language], "end")
            self._note("debrief")
        else:
            self._page("thanks", self._say("over"), "end")

    def _seed(self, paradigm: StudyParadigm) -> int:
        """The seed of a session that has not begun: nobody else's in the data folder."""
        if paradigm.name not in self._seeds:
            visit = self.visit
            seeds_in_use = seeds_taken(session_names(visit.data), paradigm.paradigm.name) | set(self._seeds.values())
            seeds = visit.study.seeds_for(
                visit.person.number, visit.session, paradigm.name, visit.run, visit.person.kind
            )
            self._seeds[paradigm.name] = next(seed for seed in seeds if seed not in seeds_in_use)
        return self._seeds[paradigm.name]

    def _plan(self, paradigm: StudyParadigm) -> list[PlannedTrial]:
        """The trials of a paradigm, planned once."""
        if paradigm.name not in self._plans:
            self._plans[paradigm.name] = paradigm.plan(self._seed(paradigm))
        return self._plans[paradigm.name]

    def _begin(self, paradigm: StudyParadigm) -> Session:
        return begin(
            self.visit.folder, paradigm.paradigm, self.agent, self._plan(paradigm), self._request(paradigm), self.now
        )

    def _request(self, paradigm: StudyParadigm) -> Request:
        visit, order, start = self.visit, list(self.visit.names), self.visit.study.start
        person = visit.person.name or ""
        study = {
            "study": visit.study.name,
            "study_hash": visit.study.hash,
            "session": visit.session,
            "run": visit.run,
            "paradigm": paradigm.name,
            "order": order,
            "position": order.index(paradigm.name) + 1 if paradigm.name in order else None,
            "participant_number": visit.person.number,
            "fields": dict(visit.fields),
            **in_group(visit.person),
        }
        return Request(
            seed=self._seed(paradigm),
            generator=paradigm.entry.generator,
            participant=person,
            design=paradigm.entry.design or "human",
            language=visit.language,
            pilot=self.pilot,
            practice=paradigm.entry.practice,
            levels=paradigm.entry.set_,
            source=paradigm.source,
            extra={
                "study": study,
                **where_given(seed_from=DRAWN if visit.study.seed is None else None),
                **where_given(group=visit.person.group),
                "keys": visit.study.keys_for(person, visit.person.turn),
                **where_given(start=paradigm.entry.scanned and start and start.model_dump()),
                **self._extra(paradigm),
            },
        )

    def _break(self, done: int) -> None:
        breaks = self.visit.study.breaks
        if breaks is None:
            return
        every = len(self.visit.order)
        self._page(
            "break",
            f"{breaks.text[self.visit.language]}\n\n{self._say('parts', done=done, all=every)}",
            "go_on",
            progress=done / every,
            least=breaks.seconds,
        )

    def _page(self, title: str, text: str, footer: str, progress: float | None = None, least: float = 0.0) -> None:
        self.agent.page(PageContent(text, self._say(title), self._say(footer), progress=progress, least=least))

    def _say(self, key: str, **values: object) -> str:
        return sentence(f"study.{key}", self.visit.language, **values)

    def _note(self, event: str, **more: object) -> None:
        append_line(self.visit.folder / JOURNAL, {"event": event, "at": self.now(), **more})
