"""A scene for ``lab_bench.py``: dials in a real window, answered by clicks and by keys."""

from __future__ import annotations

from typing import Any

from spanlab.agents.human.input.xtest import InputEvent
from spanlab.paradigms import Ask, Percept
from spanlab.paradigms.responses import Continuous
from spanlab.paradigms.trial import Display
from spanlab.stimuli.kinds.plain import Blank

BLANK = Blank.model_validate({})
DIALS = {
    "colour": {"turned": 77, "start": 350},
    "orientation": {"start": 170},
    "location": {"start": 3},
}


def dials(bench: Any) -> Any:
    """On each dial: clicks at values all round, near the ring, far out and close to the middle;
    then in the dead middle and at a value; then keys."""
    found = {}
    for feature, drawn in DIALS.items():
        kind = Continuous.model_validate({"feature": feature, "tolerance": 20, **drawn})
        dial = kind.surface().dial
        assert dial is not None
        values = [(step * kind.period // 8 + 3) % kind.period for step in range(8)]
        bench.script = []
        for number, value in enumerate(values):
            reach = (1.0, 0.5, 1.1)[number % 3]
            x, y = dial.place_of(value)
            bench.script.append(
                [
                    (
                        0.3,
                        InputEvent(
                            "", *bench.stage.surface.to_pixels(48 + reach * (x - 48), 48 + reach * (y - 48)), hold=0.03
                        ),
                    )
                ]
            )
        place = bench.stage.surface.to_pixels(*dial.place_of(values[0]))
        bench.script.append(
            [(0.3, InputEvent(x=3, y=2, hold=0.03)), (0.5, InputEvent(x=place[0], y=place[1], hold=0.03))]
        )
        keys = ["return", "up", "up", "right", "left", "left", "f", "down", "return"]
        bench.script.append([(0.35 + 0.1 * number, InputEvent(key, hold=0.02)) for number, key in enumerate(keys)])
        steps = bench.trial([Percept("test", (Display(BLANK),), Ask(kind)) for _ in range(10)])
        found[feature] = {"values": [*values, values[0], (drawn["start"] + 9) % kind.period], "steps": steps}
    return found
