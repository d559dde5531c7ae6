"""Small studies for the tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from scripted_page import SCREEN_REPORT
from session_tools import AtTheWindow

from spanlab.agents.base import Response
from spanlab.agents.human.pages import Question
from spanlab.agents.window import Option, PageContent, WindowAgent
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import Percept
from spanlab.sessions.studies.battery import Battery
from spanlab.sessions.studies.study import Study, load_study
from spanlab.sessions.studies.visit import Visit, VisitRequest, sit_down
from spanlab.stimuli.render import PaletteName

STUDY = """
study: pair
title: Two tasks
languages: [en, de]
paradigms:
  - {paradigm: vsr, set: {list_length: [2, 3]}, trials: 2, practice: false}
  - {paradigm: sfr, as: cells, set: {list_length: 1}, trials: 1, practice: false}
  - {paradigm: vsr, as: long, set: {list_length: 4}, trials: 1, practice: false, generator: published}
order: latin_square
seed: 4
sessions: [[vsr, cells, long], [cells]]
breaks: {text: {en: Rest., de: Ruhen Sie aus.}, seconds: 2}
consent: {en: Do you agree?, de: Sind Sie einverstanden?}
debrief: {en: It was about memory., de: Es ging um das Gedächtnis.}
fields:
  - age
  - sex
  - {name: hours, label: {en: Hours of sleep, de: Stunden Schlaf}, type: number, range: [0, 24], each_session: true}
  - {name: note, label: {en: Note, de: Notiz}, required: false}
"""
FIELDS = {"age": "23", "sex": "f", "hours": "7,5"}


def study_in(folder: Path, text: str = STUDY) -> Study:
    """The study, in a file."""
    (file := folder / "study.yaml").write_text(text, encoding="utf-8")
    return load_study(file)


def files(folder: Path) -> dict[str, bytes]:
    """Everything that is in a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class Guest(AtTheWindow):
    """A person without a window who always gives the first allowed answer, reads pages, and leaves
    when told to.

    Parameters
    ----------
    leaves : called before every page and every trial with what comes (``page: Break``, ``trial:
        vsr``); may raise
    """

    def __init__(self, leaves: Callable[[str], None] = lambda what: None) -> None:
        super().__init__(self._answer)
        self.leaves = leaves
        self.happened: list[str] = []
        self.closed = 0
        #: the options of pages that had some, and what is chosen there instead of the usual
        self.offered: list[tuple[str, ...]] = []
        self.decides: list[str] = []

    @staticmethod
    def _answer(percept: Percept, asked: int) -> Response:
        import numpy as np

        assert percept.ask is not None
        return Response(percept.ask.kind.guess(np.random.RandomState(asked)), 500.0)

    def start(self, context):  # type: ignore[no-untyped-def]
        self._happens(f"trial: {context.paradigm}")
        return super().start(context)

    def page(self, page: PageContent) -> None:
        self._happens(f"page: {page.title}" + (f" {page.least:g} s" if page.least else ""))
        self.pages.append(f"{page.title}: {page.text}")

    def choose(self, title: str, text: str, options: Sequence[Option], *, usual: str, clicks: bool = True) -> str:
        self._happens(f"page: {title}")
        self.pages.append(f"{title}: {text}")
        self.offered.append(tuple(option.name for option in options))
        return self.decides.pop(0) if self.decides else usual

    def _happens(self, what: str) -> None:
        self.leaves(what)
        self.happened.append(what)

    def close(self) -> None:
        self.closed += 1


def refuses(leaves: Callable[[str], None] = lambda what: None) -> Guest:
    """Somebody who does not agree to take part."""
    guest = Guest(leaves)
    guest.decides = ["refuse"]
    return guest


def sit(
    study: Study, data: Path, participant: str = "p01", session: int = 1, existing: str = "", **wanted: object
) -> Visit:
    """Somebody who has answered everything sits down."""
    fields = {"fields": FIELDS, **wanted}
    return sit_down(study, data, VisitRequest(participant, str(session), existing=existing, **fields))[0]  # type: ignore[arg-type]


def take(
    study: Study,
    data: Path,
    participant: str = "p01",
    session: int = 1,
    existing: str = "",
    guest: Guest | None = None,
    **wanted: object,
) -> Visit:
    """A whole session of a study."""
    visit = sit(study, data, participant, session, existing, **wanted)
    Battery(visit, guest or Guest(), pilot=wanted.get("kind") == "pilot").run()
    return visit


class AwayError(SpanLabError):
    """Has closed the page."""


def takes_a_place_and_leaves() -> Callable[[str], None]:
    """What somebody does who passes the page before there is a place, and closes the page when the
    next one comes."""
    passed: list[str] = []

    def leaves(what: str) -> None:
        if passed:
            raise AwayError
        passed.append(what)

    return leaves


class AtTheDoor:
    """Looks after a visit that ends where its participant would sit down, or after all of it."""

    def __init__(self, guest: Guest | None = None) -> None:
        self.guest, self.asked = guest, list[str]()
        self.link: Mapping[str, str] = {}
        self.screen = SCREEN_REPORT.screen()

    def seat(self, palette: PaletteName, language: str) -> WindowAgent:
        return self.guest or Guest(takes_a_place_and_leaves())

    def ask(self, title: str, questions: Iterable[Question], wrong: Mapping[str, str]) -> Mapping[str, str]:
        self.asked += [question.name for question in questions]
        return dict.fromkeys(self.asked, "23")

    def recorded_in(self, folder: Path) -> None:
        pass

    def turned_away(self) -> None:
        pass

    def calibrate(self, what: Sequence[str], canvas_deg: float | None, language: str) -> None:
        pass
