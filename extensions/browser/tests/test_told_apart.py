"""People at pages and people at a window, in one data folder: who reads the report, the Methods
text, the timing or shared data learns who was where."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_line import Run
from scripted_page import ScriptedPage, Wire
from study_files import Guest

import spanlab
from spanlab.analysis.report import folder as report_folder
from spanlab.extensions.browser.visits.one_paradigm import ParadigmOffer
from spanlab.extensions.browser.visits.serving import make_server, running
from spanlab.extensions.browser.visits.visits import VisitDesk
from spanlab.paradigms import load_paradigm
from spanlab.sessions import Request, Runner, begin
from spanlab.sessions.plan import plan_trials
from spanlab.sessions.record.session_info import browser_of

PHONE = (
    "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Mobile Safari/537.36"
)
TABLET = (
    "Mozilla/5.0 (iPad; CPU OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148"
    " Safari/604.1"
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two people at pages, and one at a window."""
    (folder := tmp_path / "data").mkdir()
    desk = VisitDesk(ParadigmOffer.checked("vsr", folder, trials=2, practice=False), print)
    with running(make_server(desk), desk) as port:
        for name, browser in (("P01", PHONE), ("P02", TABLET)):
            page = ScriptedPage(Wire(port, name, browser=browser))
            assert page.over.wait(120)
            page.close()
    chosen = plan_trials("vsr", 7, None, 2, None)
    request = Request(chosen.seed, chosen.generator, "P03", chosen.design, "en", False, False, None, source="vsr")
    Runner(begin(folder, load_paradigm("vsr"), Guest(), chosen.plan, request), Guest()).run()
    return folder


@pytest.mark.slow
def test_report_methods_and_timing_say_who_was_at_a_page(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    monkeypatch.setattr(report_folder, "save", lambda *_: [])
    spanlab.compare(data, tmp_path / "report")
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    for words in (
        "2 people took part in a browser, and 1 at a window. They are together in every figure.",
        "<h2>Timing at the window and in browsers</h2>",
        "1 session at a window and 2 sessions in a browser: ",
        "finished, Chrome 130 on Android",
    ):
        assert words in page
    text = run("methods", data)[1]
    assert (
        "took part at a page in a browser: Chrome 130 on Android (n = 1) and Safari 17 on iOS (n = 1); screens at 60"
        " Hz. 1 person took part" in text
    )
    assert re.search(r"^At the window \d+ displays with a planned duration", text, re.MULTILINE)
    assert re.search(r"^In browsers \d+ displays with a planned duration", text, re.MULTILINE)
    assert "in a browser (1 of 1): " in run("timing", next(data.glob("vsr-p01*")))[1]


@pytest.mark.parametrize(
    ("told", "browser"),
    [
        (
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0"
                " Safari/537.36 Edg/131.0.0.0"
            ),
            "Edge 131 on Windows",
        ),
        (
            (
                "Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0"
                " Safari/537.36"
            ),
            "Chrome 131 on ChromeOS",
        ),
        (
            (
                "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1"
                " Safari/605.1.15"
            ),
            "Safari 18 on macOS",
        ),
        ("Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0", "Firefox 132 on Linux"),
        (
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)"
                " CriOS/131.0 Mobile/15E148 Safari/604.1"
            ),
            "Chrome 131 on iOS",
        ),
        ("something new", "a browser"),
    ],
)
def test_browsers_are_named_as_people_name_them(told: str, browser: str) -> None:
    found = browser_of({"agent_settings": {"window": "browser"}, "apparatus": {"browser": told}})
    assert str(found) == browser
    assert found is not None
    assert browser_of({"apparatus": {"window": "browser", "browser": found.described}}) == found
