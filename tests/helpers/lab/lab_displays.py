"""Displays as they would be measured."""

from __future__ import annotations

from typing import Any

from spanlab.agents.human.display.file import DisplayFile, Flips, described

FOUND: dict[str, Any] = {
    "psychopy": "2026",
    "screen": 0,
    "screen_px": [1920, 1080],
    "screen_width_cm": 53.0,
    "distance_cm": 60.0,
    "vsync": True,
    "measured_hz": 59.9,
    "hz": 59.9,
    "keyboard": "ptb",
    "opengl": {"vendor": "v", "renderer": "r", "version": "4"},
}


def measured(hz: float = 60.0, vsync: bool = True, missed: int = 0) -> DisplayFile:
    """A display as it would be measured: flips every 1 / hz s, ``missed`` refreshes without one."""
    times, passed = [0.0], []
    for number in range(299):
        passed.append(2 if number < missed else 1)
        times.append(times[-1] + passed[-1] / hz)
    polls = [number * 0.001 for number in range(3000)]
    return described(
        (FOUND | {"vsync": vsync, "measured_hz": hz, "hz": hz}),
        Flips(times, passed, polls),
        "ptb",
        1,
        "" if vsync else "no beat",
        5.0,
    )
