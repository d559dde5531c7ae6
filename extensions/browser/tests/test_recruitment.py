"""Prolific, SONA and MTurk, each as a stub of its server: participants come with its links, and
whoever finishes is credited by going back."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from scripted_page import SCREEN, ScriptedPage, Wire

from spanlab.core.errors import ParadigmError
from spanlab.core.locale import sentence
from spanlab.extensions.browser.participant.calibration import BLIND_SPOT_DEG, CARD_CM, read_calibration
from spanlab.extensions.browser.visits.offers import StudyOffer
from spanlab.extensions.browser.visits.serving import make_server, running
from spanlab.extensions.browser.visits.visits import VisitDesk
from spanlab.sessions.record.reader import read_session
from spanlab.sessions.studies.study import load_study

STUDY = """
study: athome
title: At home
paradigms: [{paradigm: vsr, set: {list_length: 2}, trials: 1, practice: false}]
consent: {en: You take part of your own free will.}
"""
PEOPLE = 20


@dataclass
class Platform:
    """A stub of the server of a platform: it sends participants, and credits those who come back
    with what it has asked for.

    Parameters
    ----------
    online : the keys of the study file
    parameters : given the number of a participant, what its link says
    """

    online: str
    parameters: Any
    credited: dict[str, str] = field(default_factory=dict)

    def visit(self, address: str) -> None:
        """A browser comes back to this address."""
        raise NotImplementedError


class Prolific(Platform):
    """https://app.prolific.com/submissions/complete?cc=CODE, in the browser of a participant who is
    logged in."""

    def visit(self, address: str) -> None:
        url, says = urlsplit(address), parse_qs(urlsplit(address).query)
        assert (url.netloc, url.path) == ("app.prolific.com", "/submissions/complete")
        self.credited[self.logged_in] = {"C0MPLETE": "completed", "N0CONSENT": "returned", "SCREEN0UT": "screened out"}[
            says["cc"][0]
        ]

    logged_in = ""


class Sona(Platform):
    """https://SCHOOL.sona-systems.com/webstudy_credit.aspx: the credit goes to the survey code,
    whoever opens the address."""

    def visit(self, address: str) -> None:
        url, says = urlsplit(address), {name: value[0] for name, value in parse_qs(urlsplit(address).query).items()}
        assert (url.netloc, url.path) == ("school.sona-systems.com", "/webstudy_credit.aspx")
        assert (says["experiment_id"], says["credit_token"]) == ("12", "f00d")
        self.credited[says["survey_code"]] = "completed"


class MTurk(Platform):
    """https://www.mturk.com/mturk/externalSubmit: a form (POST) with the assignment and at least
    one field more."""

    def visit(self, address: str) -> None:
        url, says = urlsplit(address), {name: value[0] for name, value in parse_qs(urlsplit(address).query).items()}
        assert (url.netloc, url.path) == ("www.mturk.com", "/mturk/externalSubmit")
        assert says.pop("code") == "TURK1"
        self.credited[self.accepted[says["assignmentId"]]] = "completed"

    @property
    def accepted(self) -> dict[str, str]:
        """The workers who have accepted an assignment."""
        return {
            self.parameters(number)["assignmentId"]: self.parameters(number)["workerId"] for number in range(PEOPLE)
        }


def prolific() -> Prolific:
    online = """
online:
  identifier: PROLIFIC_PID
  keep: [STUDY_ID, SESSION_ID]
  endings:
    completed: {redirect: "https://app.prolific.com/submissions/complete?cc=C0MPLETE"}
    no_consent: {redirect: "https://app.prolific.com/submissions/complete?cc=N0CONSENT"}
    screened_out: {redirect: "https://app.prolific.com/submissions/complete?cc=SCREEN0UT"}
  require: {width_px: 700}
"""
    return Prolific(
        online,
        lambda number: {"PROLIFIC_PID": f"{number:024x}", "STUDY_ID": "5f" * 12, "SESSION_ID": f"{number:02d}" * 12},
    )


def sona() -> Sona:
    online = """
online:
  identifier: survey_code
  endings: {completed: {redirect: "https://school.sona-systems.com/webstudy_credit.aspx?experiment_id=12&credit_token=f00d&survey_code={participant}"}}
"""
    return Sona(online, lambda number: {"survey_code": str(5000 + number)})


def mturk() -> MTurk:
    online = """
online:
  identifier: workerId
  keep: [assignmentId, hitId]
  endings:
    completed: {code: TURK1, post: true, redirect: "https://www.mturk.com/mturk/externalSubmit?assignmentId={assignmentId}&code={code}"}
"""
    return MTurk(
        online, lambda number: {"workerId": f"A{number:013d}", "assignmentId": f"3{number:029d}", "hitId": "3X" * 15}
    )


class Comer(ScriptedPage):
    """A page that was opened with a link of a platform, and goes where the last page sends it."""

    refuses = False
    end: Mapping[str, Any]

    def _do(self, message: Mapping[str, Any]) -> None:
        if message["what"] == "end":
            self.end = message
        if message["what"] == "choose" and self.refuses:
            self.tell(message["c"], "choice", {"name": "refuse"})
        elif message["what"] == "calibrate":
            self.tell(
                message["c"], "calibrated", {"card_px": 320.0, "travels_px": [500.0, 520.0, 510.0], "pixel_ratio": 1.0}
            )
        else:
            super()._do(message)


class Refuser(Comer):
    refuses = True


@contextmanager
def served(tmp_path: Path, online: str) -> Generator[tuple[int, Path]]:
    (file := tmp_path / "athome.yaml").write_text(STUDY + online, encoding="utf-8")
    (data := tmp_path / "data").mkdir(exist_ok=True)
    desk = VisitDesk(StudyOffer.checked(load_study(file), data), print)
    with running(make_server(desk), desk) as port:
        yield port, data / "athome"


def come(
    port: int, says: Mapping[str, str], wanted: Mapping[str, Any], kind: type[Comer] = Comer, **screen: Any
) -> Comer:
    """A page as the browser opens it: it says who takes part by the study's own parameter, and
    passes on what the study wants."""
    wire = Wire(port, says[wanted["identifiers"][0]])
    wire._more = {
        "session": "",
        "screen": {**SCREEN, **screen},
        "link": {name: says[name] for name in wanted["keep"] if name in says},
    }  # pyright: ignore[reportPrivateUsage]
    page = kind(wire)
    assert page.over.wait(120)
    page.close()
    return page


@pytest.mark.parametrize("platform", [prolific, sona, mturk])
@pytest.mark.slow
def test_twenty_of_twenty_are_credited(tmp_path: Path, platform: Any) -> None:
    stub = platform()
    with served(tmp_path, stub.online) as (port, folder):
        wanted = StudyOffer.checked(load_study(tmp_path / "athome.yaml"), tmp_path / "data").wanted
        for number in range(PEOPLE):
            says = stub.parameters(number)
            stub.logged_in = says[wanted["identifiers"][0]]
            end = come(port, says, wanted).end
            assert end["post"] == isinstance(stub, MTurk)
            stub.visit(end["redirect"])
    assert wanted["needed"]
    assert len(stub.credited) == PEOPLE
    assert set(stub.credited) == {stub.parameters(number)[wanted["identifiers"][0]] for number in range(PEOPLE)}
    for number in range(PEOPLE):
        says = stub.parameters(number)
        journal = [
            json.loads(line)
            for line in (
                (folder / says[wanted["identifiers"][0]] / "session-1" / "battery.jsonl").read_text().splitlines()
            )
        ]
        kept = [line["link"] for line in journal if line["event"] == "came"]
        assert kept == ([{name: says[name] for name in wanted["keep"]}] if wanted["keep"] else [])


def test_each_ending_has_its_own_code_and_takes_no_place(tmp_path: Path) -> None:
    stub = prolific()
    with served(tmp_path, stub.online) as (port, folder):
        wanted = {"identifiers": ["PROLIFIC_PID"], "keep": ["STUDY_ID", "SESSION_ID"]}
        for number, (kind, screen) in enumerate(((Comer, {}), (Refuser, {}), (Comer, {"window_px": [600, 800]}))):
            says = stub.parameters(number)
            stub.logged_in = says["PROLIFIC_PID"]
            page = come(port, says, wanted, kind, **screen)
            stub.visit(page.end["redirect"])
            assert ("700 pixels wide" in " ".join(page.end["texts"])) == (number == 2)
    assert list(stub.credited.values()) == ["completed", "returned", "screened out"]
    assert not (folder / stub.parameters(2)["PROLIFIC_PID"]).exists(), (
        "nothing is kept of somebody whose computer does not fit"
    )


class Sleeper(Comer):
    """Somebody who falls asleep in the first trial."""

    def tell(self, command: int, kind: str, *args: Any, **more: Any) -> Any:
        return None if kind in ("step", "end") else super().tell(command, kind, *args, **more)


@pytest.mark.parametrize(
    ("online", "code", "redirect"),
    [
        ("online: {endings: {time_out: {code: LATE, redirect: 'https://example.org/?c=late'}}}\n", "LATE", "late"),
        ("", "", ""),
    ],
)
def test_whoever_does_nothing_for_too_long_leaves_by_the_ending_for_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, online: str, code: str, redirect: str
) -> None:
    monkeypatch.setattr(StudyOffer, "drop_out_s", 0.5)
    with served(tmp_path, online) as (port, folder):
        end = come(port, {"participant": "P01"}, {"identifiers": ["participant"], "keep": []}, Sleeper).end
    assert end["code"] == code
    assert end["redirect"].endswith(redirect)
    assert (end["title"] == sentence("online.time_out_title", "en")) == bool(code)
    assert "code" not in {
        json.loads(line)["event"] for line in (folder / "P01" / "session-1" / "battery.jsonl").read_text().splitlines()
    }


@pytest.mark.parametrize(
    ("required", "screen", "lacks"),
    [
        ("{hz: 75}", {}, "75 times a second"),
        ("{hz: 60}", {"hz": 59.5}, ""),
        ("{hz: 75}", {"measured": False}, ""),
        ("{width_px: 801}", {}, "801 pixels wide"),
        ("{width_px: 500}", {"pixel_ratio": 2.0}, "500 pixels wide"),
        ("{height_px: 801}", {}, "801 pixels high"),
        (
            "{browsers: [firefox]}",
            {"browser": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/130.0 Safari/537.36"},
            "Firefox",
        ),
        (
            "{browsers: [firefox]}",
            {"browser": "Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0"},
            "",
        ),
        ("{fullscreen: true}", {}, "the whole screen"),
        ("{fullscreen: true}", {"fullscreen": True}, ""),
    ],
)
def test_what_a_computer_needs_is_checked_before_consent(
    tmp_path: Path, required: str, screen: dict[str, Any], lacks: str
) -> None:
    with served(tmp_path, f"online: {{require: {required}, endings: {{screened_out: {{code: OUT}}}}}}\n") as (port, _):
        page = come(port, {"participant": "P01"}, {"identifiers": ["participant"], "keep": []}, **screen)
    assert (page.end["code"] == "OUT") == bool(lacks)
    assert lacks in " ".join(page.end["texts"])
    assert any('"what": "choose"' in line for line in page.lines) != bool(lacks)


def test_a_screen_is_measured_by_card_and_blind_spot(tmp_path: Path) -> None:
    with served(tmp_path, "online: {calibrate: [card, distance], canvas_deg: 5}\n") as (port, folder):
        page = come(port, {"participant": "P01"}, {"identifiers": ["participant"], "keep": []}, canvas_px=600)
    apparatus = read_session(next((folder / "P01" / "session-1").glob("vsr*")))["apparatus"]
    per_cm = 320.0 / CARD_CM
    assert apparatus["px_per_cm"] == pytest.approx(per_cm, abs=0.01)
    assert apparatus["distance_cm"] == pytest.approx(510.0 / per_cm / 0.2400787590801, abs=0.05)
    assert apparatus["canvas_deg"] == pytest.approx(5.0, abs=0.1)
    assert len(apparatus["blind_spot_cm"]) == 3
    trials = [json.loads(line) for line in page.lines if '"trial"' in line and '"steps"' in line]
    assert trials[0]["canvas_px"] == apparatus["canvas_px"] < 600
    assert BLIND_SPOT_DEG == 13.5


def test_without_a_blind_spot_there_is_no_angle() -> None:
    measured = read_calibration({"card_px": 320.0, "travels_px": [], "pixel_ratio": 2.0}, canvas_deg=10.0)
    assert measured.facts(600) == {"px_per_cm": round(640 / CARD_CM, 2), "distance_cm": None}
    assert measured.canvas_px(600) == 600


@pytest.mark.parametrize(
    ("online", "complaint"),
    [
        ("{endings: {full: {redirect: 'https://example.org/?id={STUDY_ID}'}}}", "STUDY_ID"),
        ("{admission: list}", "allow"),
        ("{allow: ids.txt}", "admission: list"),
        ("{calibrate: [distance]}", "card"),
        ("{canvas_deg: 10}", "calibrate"),
        ("{identifier: 'two words'}", "identifier"),
        ("{require: {browsers: [netscape]}}", "browsers"),
    ],
)
def test_what_has_no_meaning_is_refused(tmp_path: Path, online: str, complaint: str) -> None:
    (file := tmp_path / "athome.yaml").write_text(f"{STUDY}online: {online}\n", encoding="utf-8")
    with pytest.raises(ParadigmError, match=complaint):
        load_study(file)


# -- trials that were replaced ---------------------------------------------------------------------


class Restless(Comer):
    """Cuts a trial off four times."""

    cuts = 0

    def _play(self) -> None:
        if self.cuts < 4:
            self.cuts += 1
            self.tell(self._trial["c"], "cut", {"why": "hidden", "report": None})
            return
        super()._play()


@pytest.mark.parametrize("after", ["flag", "end"])
@pytest.mark.slow
def test_too_many_replaced_trials_mark_a_visit_or_end_it(tmp_path: Path, after: str) -> None:
    online = (
        f"online: {{most_replacements: 3, after_replacements: {after}, endings: {{completed: {{code: DONE}},"
        " failed_check: {code: FAILED}}}\n"
    )
    says, wanted = {"participant": "P01"}, {"identifiers": ["participant"], "keep": []}
    with served(tmp_path, online) as (port, folder):
        page, again = come(port, says, wanted, Restless), come(port, says, wanted)
    journal = [json.loads(line) for line in (folder / "P01" / "session-1" / "battery.jsonl").read_text().splitlines()]
    events = {line["event"] for line in journal}
    assert page.end["code"] == again.end["code"] == ("DONE" if after == "flag" else "FAILED")
    assert ("flagged" in events, "ended" in events) == (after == "flag", after == "end")
