"""Visits in a real browser: the response table is that of the same answers at the window, whatever the paradigm and the way of answering."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

pytest.importorskip("uvicorn", reason="needs the extra 'web': pip install 'spanlab[web]'")

from chromium import Chromium, chromium
from page_bench import AtVirtualWindow, data_folder, hands_of, served
from session_tools import MEASURED, WHO

from spanlab.sessions import Request, Runner, begin, read_responses
from spanlab.sessions.online.offers import ParadigmOffer
from spanlab.sessions.session import planned_as_begun

#: paradigm, way of answering, size of the screen in CSS pixels, pixels in one of them, trials
VISITS = [
    ("vsr", "keys", (1280, 800), 1.0, 2),
    ("vsr", "touch", (390, 844), 3.0, 2),
    ("cd", "keys", (1280, 800), 1.0, 2),
    ("cd", "touch", (390, 844), 3.0, 2),
    ("sfr", "mouse", (1280, 800), 1.0, 2),
    ("nback_verbal", "keys", (1280, 800), 1.0, 1),
    ("nback_spatial_feedback", "keys", (800, 600), 1.25, 1),
    ("digit_span", "keys", (1280, 800), 1.0, 2),
    ("digit_span", "mouse", (1024, 768), 2.0, 2),
    ("continuous_colour", "mouse", (1280, 800), 1.0, 2),
    ("continuous_orientation", "keys", (1280, 800), 1.0, 1),
    ("corsi", "mouse", (1280, 800), 1.0, 2),
    ("running_span", "touch", (390, 844), 2.0, 1),
    ("symmetry_span", "mouse", (1280, 800), 1.0, 1),
    ("operation_span", "keys", (1280, 800), 1.0, 1),
    ("cs", "keys", (1280, 800), 1.0, 1),
    ("sc", "keys", (1280, 800), 1.0, 1),
    ("sts", "keys", (1280, 800), 1.0, 1),
    ("sternberg", "keys", (1280, 800), 1.0, 2),
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Generator[Chromium]:
    with chromium(tmp_path_factory.mktemp("chromium")) as running:
        yield running


def table(folder: Path) -> pd.DataFrame:
    """The columns of a response table that are not measured."""
    responses = read_responses(folder)
    return responses.drop(columns=[name for name in (*MEASURED, *WHO) if name in responses])


def at_window(folder: Path, data: Path, observer: str) -> Path:
    """The session again, at the virtual window, by the same observer."""
    session = planned_as_begun(folder)
    info: dict[str, Any] = dict(session.info)
    agent, extra = AtVirtualWindow(observer), {name: info[name] for name in ("keys", "seed_from")}
    request = Request(
        session.seed, info["generator"], "P01", info["design"], info["language"], practice=info["practice"], source=info["paradigm_source"], extra=extra
    )
    again = begin(data, session.paradigm, agent, session.plan, request)
    Runner(again, agent).run()
    return again.folder


@pytest.mark.slow
@pytest.mark.parametrize(("paradigm", "by", "size", "ratio", "trials"), VISITS, ids=[f"{visit[0]}-{visit[1]}" for visit in VISITS])
def test_the_response_table_is_that_of_the_same_answers_at_the_window(
    tmp_path: Path, browser: Chromium, paradigm: str, by: str, size: tuple[int, int], ratio: float, trials: int
) -> None:
    data, observer = data_folder(tmp_path), "capacity:3"
    offer = ParadigmOffer.checked(paradigm, data, trials=trials, practice=False)
    with served(offer, observer) as server, browser.tab() as tab:
        tab.screen(*size, ratio, touch=by == "touch")
        tab.open(server.address("P01"))
        tab.until("document.querySelector('#sheet button') !== null")
        assert "Thank you" in hands_of(tab, server, by).go()
        assert (tab.complaints, server.said) == ([], [])
    (folder,) = data.iterdir()
    here, there = table(folder), table(at_window(folder, tmp_path / "window", observer))
    assert len(here) > 0
    pd.testing.assert_frame_equal(here, there)
