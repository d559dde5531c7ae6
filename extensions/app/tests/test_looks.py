"""The app's pages in a real browser, at the sizes people use: axe-core finds no fault, nothing is
wider than the page; and no kill loses anything."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from itertools import product
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from chromium import Chromium, Tab, chromium
from study_files import STUDY, take

import spanlab
from spanlab.api.starting import Kind
from spanlab.sessions.record import read_events, read_session
from spanlab.sessions.studies import load_study

from ..index import SessionIndex
from ..jobs import PRINTED, Jobs
from .test_app import CHAT, GOLDEN, cut_short, job_of, let_in
from .test_journey import the_app

sys.path.append(str(Path(__file__).resolve().parents[3] / "scripts"))
import page_tools

pytestmark = pytest.mark.slow


@pytest.fixture
def axe() -> str:
    package = page_tools.tool("axe-core")
    if package is None:
        pytest.skip("needs axe-core: .venv/bin/python scripts/page_tools.py install")
    return (package / "axe.min.js").read_text(encoding="utf-8")


def faults(tab: Tab, axe: str) -> list[tuple[Any, ...]]:
    """What axe-core finds: the rule and where."""
    tab.ask("Page.setBypassCSP", enabled=True)
    tab.evaluate(f"typeof axe === 'object' || (() => {{ {axe}; return true; }})()")
    found = tab.evaluate(
        "axe.run(document, {resultTypes: ['violations'], preload: false})"
        ".then((result) => JSON.stringify(result.violations))"
    )
    return [(one["id"], [node["target"] for node in one["nodes"]]) for one in json.loads(found)]


def a_study_with_people(data: Path) -> None:
    """A study beside its data, in which somebody has taken part, and which is being served."""
    (data.parent / "lab.yaml").write_text(
        STUDY.replace("study: pair", "online: {admission: links}\nstudy: lab"), encoding="utf-8"
    )
    take(load_study(data.parent / "lab.yaml"), data)
    (job_of(data, paradigm="study:lab", address="http://127.0.0.1:9/") / PRINTED).write_text("Serving", "utf-8")


#: opens all that is folded on the page of a study and makes links, once
UNFOLDS = (
    "document.querySelectorAll('#tasks li').length === 3 && !!document.querySelector('#jobs pre')"
    " && !!document.querySelector('#people tbody') && ((form) => {"
    " for (const one of document.querySelectorAll('details')) one.open = true;"
    " if (!form.dataset.sent) form.requestSubmit(); form.dataset.sent = 'yes';"
    " return form.querySelectorAll('img').length === 10; })(document.querySelector('#links'))"
)


@pytest.mark.parametrize(
    ("language", "looks"),
    [("de", [*product((1280, 390), ("light", "dark"))]), ("en", [(1280, "dark"), (390, "light")])],
)
def test_pages_have_no_fault_and_fit_light_and_dark_wide_and_narrow(
    tmp_path: Path, axe: str, language: str, looks: list[tuple[int, str]]
) -> None:
    data = tmp_path / "data"
    shutil.copytree(GOLDEN / CHAT, data / CHAT)
    a_study_with_people(data)
    written = spanlab.new(Kind.PARADIGM, "my_letters", output=tmp_path).file
    spanlab.view(data, output=tmp_path / "bundle")
    app = the_app(data, "--language", language, str(written))
    with chromium(tmp_path / "profile") as browser, app as link, browser.tab() as tab:
        tab.open(link)
        tab.until("!!document.querySelector('h1')")
        base = link.partition("/?")[0]
        waits = {
            "/": "!!document.querySelector('table')",
            "/paradigms": "document.querySelectorAll('.wall li').length > 30",
            "/paradigms/vsr": "document.querySelector('#figure.wide svg a') && document.querySelector('#display').alt"
            " && getComputedStyle(document.querySelector('#figure svg > rect')).fill === 'none'",  # its shade is seen
            "/sessions": "!!document.querySelector('table')",
            "/studies": "!!document.querySelector('#new-study')",
            "/studies/lab": UNFOLDS,
            "/replies": "document.querySelectorAll('#rows tr').length === 4",
            f"/replies#{CHAT}/1/2": "!!document.querySelector('dialog[open] h3')",
            f"/sessions/{CHAT}/trials/1": "document.querySelector('.strip img')"
            " && !document.querySelector('main details[open]')",
            "/writing": "document.querySelectorAll('#frames img').length && ((at) => { at.value = at.max;"
            " at.dispatchEvent(new Event('input')); })(document.querySelector('#moment')) === undefined"
            " && document.querySelector('#phase').textContent.includes(writing.dataset.paced)",
            (tmp_path / "bundle" / "index.html").as_uri(): "document.querySelectorAll('#rows tr').length === 4",
        }
        for width, scheme in looks:
            tab.screen(width, 800)
            tab.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            for address, shown in waits.items():
                tab.open(address if address.startswith("file:") else base + address)
                tab.until(shown, 240)
                assert (address, width, scheme, faults(tab, axe)) == (address, width, scheme, [])
                assert tab.evaluate("document.documentElement.scrollWidth") <= width, (address, width)
        assert tab.complaints == []
        tab.open(f"{base}/writing")
        tab.until("!!document.querySelector('#frames img')", 60)
        written.write_text(written.read_text("utf-8").replace("title:", "titel:", 1), encoding="utf-8")
        tab.until("!!document.querySelector('.faulty .problem') && document.querySelector('#good').hidden", 30)
        tab.open(f"{base}/replies")
        tab.until("document.querySelectorAll('#rows tr').length === 4", 60)
        shutil.copytree(GOLDEN / CHAT, data / "again")
        tab.until("document.querySelectorAll('#rows tr').length === 8", 60)
        cut_short(data / "again")
        tab.open(f"{base}/paradigms/vsr")
        tab.until("((one) => { one?.click(); return !!one; })(document.querySelector('[data-kind=resume]'))", 60)
        tab.until("document.querySelector('[name=server]').value === 'http://127.0.0.1:46025/v1'", 30)
        (tmp_path / "bundle" / "data" / CHAT / "1.js").unlink()
        tab.open(f"{(tmp_path / 'bundle' / 'index.html').as_uri()}#{CHAT}/1/2")
        tab.until("document.querySelector('dialog[open] .problem')?.textContent.includes('cannot be loaded')", 30)


def inside(browser: Chromium) -> Tab:
    """The frame of a report, which the browser keeps apart from the page around it."""
    end = time.monotonic() + 60
    while True:
        with urlopen(f"http://127.0.0.1:{browser.port}/json/list", timeout=60) as answer:
            frames = [
                one["webSocketDebuggerUrl"]
                for one in json.load(answer)
                if one["type"] == "iframe" and "/reports/all/page" in one["url"]
            ]
        if frames:
            return Tab(frames[0])
        assert time.monotonic() < end, "the report has no frame"
        time.sleep(0.2)


MARK = "#vsr_serial_position path[role=link]"
#: One of the first picture.
AT_A_GLANCE = ".glance g[role=link]"
#: each with the figure in which it is
FIGURES = {MARK: "vsr_serial_position", AT_A_GLANCE: "overview"}
#: rules that look at a frame as if it were a whole page; the report's own page is checked with its
#: own tests
OF_FRAMES = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]},
    "resultTypes": ["violations"],
}


def test_a_report_is_made_and_its_points_are_opened_by_mouse_and_keyboard_alone(tmp_path: Path, axe: str) -> None:
    data = tmp_path / "data"
    shutil.copytree(GOLDEN / CHAT, data / CHAT)
    spanlab.replay(
        "vsr", agent="capacity:3", trials=8, levels={"list_length": [3, 5]}, seed=4, data=data, say=lambda _: None
    )
    with chromium(tmp_path / "profile") as browser, the_app(data, "--language", "de") as link, browser.tab() as tab:
        tab.open(link)
        tab.until("!!document.querySelector('.job')")
        base = link.partition("/?")[0]
        tab.open(base + "/sessions")
        tab.until("document.querySelector('#compare code')?.textContent.startsWith('spanlab compare')", 60)
        tab.evaluate("document.querySelector('#compare .main').focus()")
        enter(tab)
        tab.until("!!document.querySelector('#inside')", 240)
        tab.until("document.querySelector('#report code').textContent.startsWith('spanlab compare')")
        for width, height in ((1280, 900), (390, 800)):
            tab.screen(width, height)
            for scheme in ("light", "dark"):
                tab.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
                for address, shown in {
                    "/reports": "!!document.querySelector('tbody a')",
                    "/reports/all": "document.querySelector('#inside')"
                    " && document.documentElement.scrollHeight <= innerHeight",  # only the report scrolls
                }.items():
                    tab.open(base + address)
                    tab.until(shown, 60)
                    assert (address, width, scheme, faults(tab, axe)) == (address, width, scheme, [])
                    assert tab.evaluate("document.documentElement.scrollWidth") <= width, (address, width)
                with nullcontext(inside(browser)) as frame:  # to close it would close the page
                    frame.until(f"!!document.querySelector('{MARK}')", 120)
                    frame.evaluate(f"(() => {{ {axe}; return true; }})()")
                    found = json.loads(
                        frame.evaluate(
                            f"axe.run(document, {json.dumps(OF_FRAMES)}).then((result) =>"
                            " JSON.stringify(result.violations))"
                        )
                    )
                    assert [(one["id"], [node["target"] for node in one["nodes"]][:3]) for one in found] == []
                    assert frame.complaints == []
        tab.screen(1280, 900)
        for hand, mark in (("mouse", MARK), *(("keyboard", mark) for mark in FIGURES)):
            tab.open(base + "/reports")
            tab.until("location.pathname === '/reports'")
            tab.open(base + "/reports/all#vsr_serial_position")
            tab.until("!!document.querySelector('#inside')")
            tab.evaluate("document.querySelector('#inside').scrollIntoView({block: 'start'})")
            with nullcontext(inside(browser)) as frame:  # to close it would close the page
                frame.until("document.documentElement?.dataset.ready === 'yes'", 120)
                box = "document.querySelector('#vsr_serial_position').getBoundingClientRect()"
                frame.until(f"scrollY > 300 && {box}.bottom > 0 && {box}.top < innerHeight", 20)
                if hand == "mouse":
                    frame.evaluate(
                        f"document.querySelector('{MARK}').scrollIntoView({{block: 'center', behavior: 'instant'}})"
                    )
                    for drawn in (
                        frame,
                        tab,
                        frame,
                    ):  # a click is taken to the frame that lies there in what was drawn last
                        drawn.evaluate(
                            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() =>"
                            " setTimeout(done, 300))))"
                        )
                    mine, outer = (
                        frame.middle(MARK),
                        tab.evaluate(
                            "(() => { const { x, y } = document.querySelector('#inside').getBoundingClientRect();"
                            " return [x, y]; })()"
                        ),
                    )
                    assert mine is not None
                    tab.click(outer[0] + mine[0], outer[1] + mine[1])
                else:
                    frame.evaluate(f"document.querySelector('{mark}').focus()")
                    enter(tab)
            tab.until(
                "location.pathname === '/reports/all/points' && document.querySelectorAll('tbody a').length > 0", 60
            )
            assert faults(tab, axe) == []
            tab.evaluate("history.back()")
            tab.until(f"location.hash === '#{FIGURES[mark]}'", 60)
        assert tab.complaints == []


def enter(tab: Tab) -> None:
    """Press the Enter key."""
    tab.ask("Input.dispatchKeyEvent", type="keyDown", key="Enter", code="Enter", windowsVirtualKeyCode=13, text="\r")


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("/paradigms/vsr", "document.querySelector('#display')?.alt && !!document.querySelector('#like [value*=vsr]')"),
        ("/studies/lab", UNFOLDS),
    ],
)
def test_everything_is_reached_by_keyboard_alone(tmp_path: Path, address: str, shown: str) -> None:
    (tmp_path / "data").mkdir()
    a_study_with_people(tmp_path / "data")
    with chromium(tmp_path / "profile") as browser, the_app(tmp_path / "data") as link, browser.tab() as tab:
        tab.open(link)
        tab.until("!!document.querySelector('.job')")
        tab.open(link.partition("/?")[0] + address)
        tab.until(shown, 240)
        wanted = set(
            tab.evaluate(
                "[...document.querySelectorAll('a[href], button:not(:disabled), input:not(:disabled), select,"
                " summary, textarea')].filter((e) => e.checkVisibility()).map((e) => e.outerHTML)"
            )
        )
        reached: set[str] = set()
        for _ in range(3 * len(wanted)):
            tab.ask("Input.dispatchKeyEvent", type="rawKeyDown", key="Tab", code="Tab", windowsVirtualKeyCode=9)
            reached.add(tab.evaluate("document.activeElement.outerHTML"))
        assert wanted <= reached
        assert len(wanted) > 20


def test_no_kill_of_the_app_at_twenty_moments_loses_anything(tmp_path: Path) -> None:
    (data := tmp_path / "data").mkdir()
    alone = spanlab.replay("vsr", agent="capacity:3", trials=40, data=tmp_path / "alone", say=lambda _: None).folder
    for number in range(20):
        port_of = subprocess.Popen(
            [sys.executable, "-c", STARTS, str(data), f"{0.05 * number}"], stdout=subprocess.PIPE, text=True
        )
        port_of.wait(120)
        assert port_of.returncode == -signal.SIGKILL
    jobs = Jobs(data)
    while any(job.state == "runs" for job in jobs.all()):
        time.sleep(0.2)
    assert [job.state for job in jobs.all()] == ["done"] * 20
    lines = SessionIndex(data).lines()
    assert [(line.done, line.planned) for line in lines] == [(40, 40)] * 20
    for line in lines:
        assert answers(data / line.path) == answers(alone)
    assert let_in(data).get("/paradigms/vsr/live").text.count(">40 / 40<") == 20


#: An app that starts a session when a page asks for it, and is killed so many seconds later.
STARTS = """
import os, signal, sys, time
from pathlib import Path
from starlette.testclient import TestClient
from spanlab.extensions.app.server import Gate, application
gate = Gate()
client = TestClient(application(Path(sys.argv[1]), "en", gate), base_url="http://127.0.0.1:8760", client=("127.0.0.1", 50000))
client.get(gate.link(""))
asked = {"paradigm": "vsr", "agents": ["capacity:3"], "trials": "40"}
assert client.post("/jobs/replay", json=asked, headers={"origin": "http://127.0.0.1:8760"}).status_code == 200
time.sleep(float(sys.argv[2]))
os.kill(os.getpid(), signal.SIGKILL)
"""  # noqa: E501


def answers(folder: Path) -> list[Any]:
    """What a session has recorded but for times of the clock, and what is its own: its name."""
    events = [
        {key: value for key, value in event.items() if key not in ("started_at", "onsets", "displays")}
        for event in read_events(folder)
        if event["event"] in ("step", "trial_start", "trial_end")
    ]
    info = read_session(folder)
    return [*events, info["plan"], info["seed"], info["agent_settings_hash"]]
