"""Every stage of a visit in a real browser: axe-core finds no serious fault, and nothing lies
outside the screen or over something else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import page_tools
import pytest
from chromium import Chromium, Tab
from page_bench import Served, data_folder
from page_stages import walk

from spanlab.core.locale import sentence
from spanlab.extensions.browser.visits.one_paradigm import ParadigmOffer

pytestmark = pytest.mark.slow

SERIOUS = ("serious", "critical")
#: stages that a visit has whatever it looks like
STAGES = {
    *("start", "fields", "fields, with what is wrong", "notice: pause", "end: code", "error: link", "error: lost"),
    *(
        "trial: choice 9",
        "trial: choice 0",
        "trial: cells 9",
        "trial: sequence 5",
        "trial: text 31",
        "trial: rating 7",
        "trial: rating 101",
    ),
    *("trial: continuous 0", "trial: sequence 9"),
}

LAYOUT = """JSON.stringify((() => {
  const faults = [], box = (element) => element.getBoundingClientRect(), within = .5;
  if (document.documentElement.scrollWidth > innerWidth) faults.push("the page is wider than the screen");
  const stage = document.getElementById("stage"), least = matchMedia("(pointer: coarse)").matches ? 44 - within : 24;
  for (const button of document.querySelectorAll("button, a.button, input, select")) {
    const { width, height } = box(button);
    if (width && (width < least || height < least)) faults.push(`${button.textContent || button.name}: ${width} x ${height}`);
  }
  if (stage.hidden || !document.getElementById("notice").hidden) return faults;
  const canvas = box(document.getElementById("canvas"));
  for (const id of ["canvas", "prompt", "line", "legend", "buttons"]) {
    const element = document.getElementById(id), { left, right, top, bottom, width, height } = box(element);
    if (!width || !height || (id !== "canvas" && id !== "buttons" && !element.textContent)) continue;
    if (left < -within || top < -within || right > innerWidth + within || bottom > innerHeight + within) faults.push(`${id} is not all on the screen`);
    if (id !== "canvas" && bottom > canvas.top + within && top < canvas.bottom - within) faults.push(`${id} lies on the canvas`);
  }
  return faults;
})())"""  # noqa: E501


@pytest.fixture(scope="module")
def axe() -> str:
    """The program that looks for faults."""
    package = page_tools.tool("axe-core")
    if package is None:
        pytest.skip("needs axe-core: .venv/bin/python scripts/page_tools.py install")
    return (package / "axe.min.js").read_text(encoding="utf-8")


def faults(tab: Tab, axe: str) -> list[dict[str, Any]]:
    """What axe-core finds: the rule, how serious it is, and where."""
    tab.evaluate(f"typeof axe === 'object' || (() => {{ {axe}; return true; }})()")
    return [
        {"rule": one["id"], "impact": one["impact"], "where": [node["html"][:200] for node in one["nodes"]]}
        for one in json.loads(
            tab.evaluate(
                "axe.run(document, {resultTypes: ['violations']}).then((result) => JSON.stringify(result.violations))"
            )
        )
    ]


@pytest.mark.parametrize(
    ("size", "ratio", "touch"),
    [
        ((1280, 800), 1.0, False),
        ((390, 844), 3.0, True),
        ((2560, 1440), 1.0, False),
    ],
)
def test_no_stage_of_a_visit_has_a_serious_fault(
    tmp_path: Path, browser: Chromium, axe: str, size: tuple[int, int], ratio: float, touch: bool
) -> None:
    found: dict[str, Any] = {}

    def look_at(stage: str, tab: Tab) -> None:
        amiss = [one for one in faults(tab, axe) if one["impact"] in SERIOUS] + json.loads(tab.evaluate(LAYOUT))
        if amiss:
            found[stage] = amiss

    stages = set(walk(tmp_path, browser, look_at, size, ratio, touch))
    assert stages >= STAGES, STAGES - stages
    assert len([stage for stage in stages if stage.startswith("page: ")]) >= 6, stages
    assert found == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1280, 800), (390, 844)])
def test_the_pages_of_assistants_and_of_refused_phones_have_no_serious_fault(
    tmp_path: Path, browser: Chromium, axe: str, scheme: str, size: tuple[int, int]
) -> None:
    offer = ParadigmOffer.checked("vsr", data_folder(tmp_path), trials=1, practice=False, phones=False)
    made = Served(offer, "ideal", board=True)
    assert made.board is not None
    try:
        with browser.window() as phone, browser.window() as tab:
            phone.screen(390, 844, 3.0, touch=True)
            phone.open(made.address("P01"))
            phone.until("document.querySelector('#sheet button') !== null")
            phone.evaluate("document.querySelector('#sheet button').click()")
            title = sentence("online.phone_title", "en")
            phone.until(f"document.title === {json.dumps(title)}")
            assert phone.evaluate("document.querySelector('h1').textContent") == title
            assert [one for one in faults(phone, axe) if one["impact"] in SERIOUS] == []
            phone.screen(1280, 800)
            phone.open(made.address("P02"))
            phone.until("document.querySelector('#sheet button') !== null")
            phone.evaluate("document.querySelector('#sheet button').click()")
            phone.until("document.querySelector('#sheet [data-name=on]') !== null")
            assert phone.evaluate("document.title") == offer.title
            tab.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            tab.screen(*size)
            tab.open(f"http://127.0.0.1:{made.port}/monitor#{made.board.token}")
            tab.until("document.body !== null && document.body.innerText.includes('P02')")
            assert [one for one in faults(tab, axe) if one["impact"] in SERIOUS] == []
            tab.screenshot(tmp_path / "monitor.png")
    finally:
        made.close()


def test_what_axe_finds_is_not_nothing_whatever_the_page(browser: Chromium, axe: str) -> None:
    with browser.window() as tab:
        tab.evaluate(
            'document.body.innerHTML = \'<input><button></button><p style="color: #aaa; background: #bbb">hardly to be'
            " read</p>'"
        )
        assert {one["rule"] for one in faults(tab, axe) if one["impact"] in SERIOUS} >= {
            "label",
            "button-name",
            "color-contrast",
        }
