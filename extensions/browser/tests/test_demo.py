"""The demonstration with a participant in a browser: the session is in its report, and is the one
that the participant at the window would have had."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command_line import Run, command_line, complaint

from spanlab.api import demonstration as demo
from spanlab.extensions.browser import demo as demonstration
from spanlab.extensions.browser.participant import chromium as chromium_module
from spanlab.sessions import read_responses
from spanlab.sessions.record.reader import find_sessions, read_session


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return command_line(tmp_path, monkeypatch, capsys)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few trials, and only machines that are there in any installation."""
    for name, value in {"LISTS": 2, "MACHINES": {"smu": ({}, 4)}, "PARTS": {}}.items():
        monkeypatch.setattr(demo, name, value)


def test_without_a_browser_it_is_said_what_to_install_and_nothing_is_made(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(chromium_module.shutil, "which", lambda name: None)
    monkeypatch.setattr(chromium_module, "_PLACES", ())
    assert "install one of them (Debian: apt-get install chromium;" in complaint(
        *run("demo", "--browser", "-o", tmp_path / "new" / "demo")
    )
    assert not (tmp_path / "new").exists()


def test_a_browser_that_does_not_start_leaves_nothing_behind(
    run: Run, small: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for module in (demonstration, chromium_module):
        monkeypatch.setattr(module, "find_chromium", lambda: shutil.which("false"))
    said = complaint(*run("demo", "--browser", "-o", tmp_path / "new" / "demo"))
    assert "does not start; try: " in said
    assert not any((tmp_path / "new").rglob("*.json*"))


@pytest.mark.slow
def test_the_session_in_the_browser_is_in_the_report_and_is_the_one_at_the_window(tmp_path: Path, small: None) -> None:
    from page_bench import at_window, unmeasured

    try:
        chromium_module.find_chromium()
    except demo.SpanLabError as error:
        pytest.skip(str(error))
    demo.demo(browser=True, output=tmp_path / "demo")
    report = tmp_path / "demo" / "report" / "report.html"
    infos: dict[Path, Any] = {folder: read_session(folder) for folder in find_sessions([tmp_path / "demo" / "data"])}
    ((folder, info),) = ((folder, info) for folder, info in infos.items() if info["agent_kind"] == "simulated")
    assert info["agent_settings"]["window"] == "browser"
    text = report.read_text(encoding="utf-8")
    assert folder.name in text
    assert "simulated:capacity" in text
    assert {other["like"] for other in infos.values() if other["paradigm"] == "vsr" and other is not info} == {
        folder.name
    }, "machines took its trials"
    table = read_responses(folder)
    assert len(table) == 2 * demo.LENGTH
    assert table["rt_ms"].between(60, 60_000).all()
    pd.testing.assert_frame_equal(unmeasured(folder), unmeasured(at_window(folder, tmp_path / "window", "capacity")))
