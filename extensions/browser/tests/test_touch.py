"""What a finger or a small window needs, in a real browser: targets of 44 pixels, no words about
keys beside buttons, and the way on without scrolling."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from chromium import Chromium, Tab, chromium
from page_bench import data_folder, hands_of, served

from spanlab.extensions.browser.visits.one_paradigm import ParadigmOffer

pytestmark = pytest.mark.slow
#: of every button that is seen: its words and its box; and the height of the window
BUTTONS = """JSON.stringify([...document.querySelectorAll("button")].filter((button) => button.offsetWidth).map((button) => {
  const { top, bottom, width, height } = button.getBoundingClientRect();
  return { text: button.textContent, top, bottom, width, height, high: innerHeight };
}))"""  # noqa: E501
LEAST, WITHIN = 44, 0.5


@pytest.fixture
def browser(tmp_path: Path) -> Generator[Chromium]:
    with chromium(tmp_path / "chromium") as running:
        yield running


def buttons(tab: Tab) -> list[dict[str, Any]]:
    seen = json.loads(tab.evaluate(BUTTONS))
    for button in seen:
        assert button["top"] >= -WITHIN
        assert button["bottom"] <= button["high"] + WITHIN, f"{button['text']} is below the fold"
    return list(seen)


@pytest.mark.parametrize(
    ("name", "size", "touch"),
    [
        ("vsr", (1280, 800), False),
        ("sternberg", (844, 390), True),
        ("vsr", (844, 390), True),
        ("cd", (390, 844), True),
        ("symmetry_span", (667, 375), True),
    ],
)
def test_buttons_are_large_enough_and_on_the_screen(
    tmp_path: Path, browser: Chromium, name: str, size: tuple[int, int], touch: bool
) -> None:
    with (
        served(ParadigmOffer.checked(name, data_folder(tmp_path), trials=1, practice=False), "ideal") as server,
        browser.tab() as tab,
    ):
        tab.screen(*size, 2 if touch else 1, touch=touch)
        tab.open(server.address("P01"))
        tab.until("document.querySelector('#sheet button') !== null")
        tab.evaluate("document.querySelector('#sheet button').click()")
        tab.until("document.querySelector('#sheet img')?.complete")
        (on,) = buttons(tab)
        assert on["text"] == "Continue"
        more = "document.querySelector('#sheet > .row').classList.contains('more')"
        assert tab.evaluate(more), "what lies below is pointed at"
        tab.evaluate("scrollTo(0, 1e6)")
        tab.until(f"!{more}")
        least = LEAST - WITHIN if touch else 0
        assert min(on["width"], on["height"]) >= least
        hands = hands_of(tab, server, "touch" if touch else "mouse")
        hands.meanwhile = lambda look: look["waits"].startswith("answer")
        hands.go(120)
        answers = buttons(tab)
        assert all(min(button["width"], button["height"]) >= least for button in answers)
        if touch and answers and not tab.evaluate("document.querySelector('#buttons [data-name=done]') !== null"):
            assert tab.evaluate("document.getElementById('legend').textContent") == ""
            assert not [button["text"] for button in answers if "(" in button["text"]], "keys are not named on buttons"
