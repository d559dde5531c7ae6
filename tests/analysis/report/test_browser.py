"""The report in headless Chromium, at the width of a desk and of a telephone, light and dark,
without a network."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from analysis_tables import mixed, responses
from chromium import visited

from spanlab.agents.oracles import CapacityAgent, Chance, IdealAgent
from spanlab.analysis.report.page import compare
from spanlab.paradigms import load_paradigm, plan_session
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.sessions import Request, Runner, begin

pytestmark = pytest.mark.slow

#: What the page is asked, from inside, when it has drawn everything: sent to the page around it.
ASKED = """
<script>addEventListener("securitypolicyviolation", (event) => { errors.push(event.blockedURI + " " + event.violatedDirective); });
const errors = [];
addEventListener("error", (event) => { errors.push(String(event.message)); });
const asked = setInterval(() => {
  if (!document.documentElement.dataset.ready) return;
  clearInterval(asked);
  document.querySelectorAll("details").forEach((one) => { one.open = true; });
  let looks = 0;
  const drawn = setInterval(() => {
    if (++looks < 100 && document.querySelectorAll(".chart svg.marks").length < document.querySelectorAll(".chart").length) return;
    clearInterval(drawn);
    parent.postMessage({
    ready: document.documentElement.dataset.ready, errors, width: innerWidth,
    wide: document.documentElement.scrollWidth, paper: getComputedStyle(document.body).backgroundColor,
    charts: document.querySelectorAll(".chart").length, drawn: document.querySelectorAll(".chart svg.marks").length,
    overflowing: [...document.querySelectorAll("main *")].filter((one) => !one.closest(".scroll") && one.getBoundingClientRect().right > innerWidth + 1)
      .map((one) => one.tagName + "." + one.className).slice(0, 5),
    cut: [...document.querySelectorAll(".scroll")].filter((one) => one.scrollWidth > one.clientWidth + 1)
      .map((one) => one.closest("details")?.querySelector("summary").textContent ?? ""),
    scaled: [...document.querySelectorAll(".chart svg")].filter((svg) => Number(svg.getAttribute("width")) > 1.1 * svg.getBoundingClientRect().width)
      .map((svg) => [svg.closest("section, figure, details")?.textContent.trim().slice(0, 60), svg.getAttribute("width"), svg.getBoundingClientRect().width]),
    requests: performance.getEntriesByType("resource").map((one) => one.name).filter((name) => !name.startsWith("data:")),
  }, "*"); }, 100);
}, 50);</script>
"""  # noqa: E501


def framed(width: int) -> str:
    """A page around another one, ``inside.html``, that has this width; it shows what that one
    sends."""
    return (
        f"<!doctype html><body><iframe src='inside.html' width={width} height=900 style='border:0'></iframe><pre"
        " id=said></pre><script>addEventListener('message', (event) => { document.getElementById('said').textContent"
        " = JSON.stringify(event.data); });</script>"
    )


def said(run: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """What the page within a page has sent."""
    sent = re.search(r'<pre id="said">(\{.*?\})</pre>', run.stdout, re.S)
    assert sent, run.stderr[-2000:]
    return json.loads(sent[1].replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">"))


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """People with reaction times, simulated observers, N-back, names of panels that are long, and
    rules."""
    folder = tmp_path_factory.mktemp("browser")
    for name in ("vsr", "cs", "sfr", "sts", "nback_spatial"):
        paradigm = load_paradigm(name)
        plan = plan_session(
            paradigm, 2, SessionDesign(), trials=12, levels={"grid": [3, 7]} if name == "nback_spatial" else None
        )
        for agent in (CapacityAgent(), Chance()):
            Runner(begin(folder / "data", paradigm, agent, plan, Request(2)), agent).run()
    people = [
        responses(
            lambda length, position: 0.95 - 0.1 * position,
            agent="participant",
            kind="participant",
            participant=name,
            repetitions=6,
            seed=seed,
        )
        for seed, name in enumerate(("A", "B", "A participant with a long name"))
    ]
    table = mixed(*people)
    table.assign(rt_ms=[500 + 37 * number % 900 for number in range(len(table))]).to_csv(
        folder / "people.csv", index=False
    )
    return compare([folder / "data", folder / "people.csv"], folder / "report")


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_everything_is_drawn_and_fits(report: Path, tmp_path: Path, width: int, colours: str) -> None:
    inside, around = tmp_path / "inside.html", tmp_path / "around.html"
    inside.write_text(report.read_text(encoding="utf-8").replace("<body>", f"<body>{ASKED}", 1), encoding="utf-8")
    around.write_text(framed(width), encoding="utf-8")
    run = visited(
        around,
        tmp_path / "profile",
        "--window-size=1400,1000",
        *(["--blink-settings=preferredColorScheme=0"] if colours == "dark" else []),
    )
    found = said(run)
    assert found["ready"] == "yes"
    assert found["errors"] == []
    assert [line for line in run.stderr.splitlines() if "CONSOLE" in line] == []
    assert found["width"] == width
    assert found["wide"] <= width
    assert found["overflowing"] == []
    if width > 1000:  # of all tables only the one with a column for everybody is wider than the page
        assert set(found["cut"]) <= {"Side by side"}
    assert found["charts"] == found["drawn"] > 15
    assert found["scaled"] == []
    assert found["requests"] == []
    assert found["paper"] == ("rgb(252, 251, 248)" if colours == "light" else "rgb(21, 23, 27)")


#: The height of the page as it is read first: what is folded stays folded.
HEIGHT = """
<script>const asked = setInterval(() => {
  if (!document.documentElement.dataset.ready) return;
  clearInterval(asked);
  parent.postMessage({ height: document.documentElement.scrollHeight, charts: document.querySelectorAll(".chart").length,
    drawn: document.querySelectorAll(".chart svg.marks").length }, "*");
}, 50);</script>
"""  # noqa: E501


def test_a_page_of_two_paradigms_is_at_most_6000_px_high(tmp_path: Path) -> None:
    for name, levels in (("vsr", {"list_length": [4, 6]}), ("nback_spatial", {"lures": ["free"], "grid": [3]})):
        paradigm = load_paradigm(name)
        plan = plan_session(paradigm, 7, SessionDesign(), trials=12, levels=levels)
        for agent in (IdealAgent(), CapacityAgent(), Chance()):
            Runner(begin(tmp_path / "data", paradigm, agent, plan, Request(7)), agent).run()
    people = [
        responses(
            lambda length, position: 0.95 - 0.05 * position,
            agent="participant",
            kind="participant",
            participant=f"P{seed}",
            repetitions=6,
            seed=seed,
        )
        for seed in range(4)
    ]
    mixed(*people).to_csv(tmp_path / "people.csv", index=False)
    report = compare([tmp_path / "data", tmp_path / "people.csv"], tmp_path / "report")
    inside, around = tmp_path / "report" / "inside.html", tmp_path / "report" / "around.html"
    inside.write_text(report.read_text(encoding="utf-8").replace("<body>", f"<body>{HEIGHT}", 1), encoding="utf-8")
    around.write_text(framed(1280), encoding="utf-8")
    measured = said(visited(around, tmp_path / "profile", "--window-size=1400,1000"))
    assert measured["drawn"] >= 2  # the first figure of each paradigm is drawn
    assert measured["charts"] > measured["drawn"]  # and others are folded
    assert measured["height"] <= 6000
