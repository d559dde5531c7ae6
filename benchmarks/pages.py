"""How well a page of `spanlab serve` keeps time in headless Chromium on this computer: displays on
plan, and keys that go down at known moments.

Keys are pressed through Chromium's DevTools protocol at moments on the computer's monotonic clock,
which both programs read. The error of a key is its time in the session's record minus the moment
just before it was asked for; it contains the way of the request to the browser.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

HELPERS = Path(__file__).resolve().parents[1] / "tests" / "helpers"
sys.path[:0] = [str(HELPERS), str(HELPERS / "browser"), str(HELPERS / "lab")]

from chromium import chromium  # noqa: E402
from page_timing import measured, spread  # noqa: E402

TRIALS = 8


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, chromium(Path(folder) / "chromium") as browser:
        (work := Path(folder) / "work").mkdir()
        kept = measured(work, browser, TRIALS)
    timed = kept.timing.displays.timed
    off = [display for display in timed if display.off]
    print(
        f"load {kept.load[0]:.1f} at the beginning, {kept.load[1]:.1f} at the end; refresh rate measured as"
        f" {kept.timing.hz:.2f} Hz"
    )
    print(f"displays on plan\t{100 * (1 - len(off) / len(timed)):.2f}\t% of {len(timed)}")
    print(
        f"displays off plan that no late frame accounts for\t{sum(not display.owned_up for display in off)}\tdisplays"
    )
    print(
        f"late frames\t{100 * kept.timing.displays.dropped / kept.timing.displays.frames:.2f}\t% of"
        f" {kept.timing.displays.frames}"
    )
    for name, values in (
        ("error of a key", kept.late_ms),
        ("answer of the browser to a key", kept.bracket_ms),
        ("the page hears of a key", kept.heard_ms),
    ):
        for word, value in zip(("median", "95th percentile", "largest"), spread(values), strict=True):
            print(f"{name}, {word} of {len(values)}\t{value:.2f}\tms")


if __name__ == "__main__":
    main()
