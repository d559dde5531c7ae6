"""Help follows from the declared parameters."""

from __future__ import annotations

import pytest

from spanlab.core.registry import describe
from spanlab.paradigms import RESPONSES
from spanlab.paradigms.samplers import SAMPLERS
from spanlab.stimuli import STIMULI

REGISTRIES = {"stimuli": STIMULI, "response kinds": RESPONSES, "samplers": SAMPLERS}


@pytest.mark.parametrize("which", REGISTRIES)
def test_every_parameter_has_a_type_and_a_line_of_help(which: str) -> None:
    described = describe(REGISTRIES[which])
    assert [description.name for description in described] == list(REGISTRIES[which])
    for description in described:
        assert description.summary, description.name
        for parameter in description.parameters:
            assert parameter.help, f"{description.name}.{parameter.name} has no help"
            assert "anything" not in parameter.type or which == "samplers", (
                f"{description.name}.{parameter.name}: {parameter.type}"
            )
            assert f"  {parameter.name} (" in str(description)


def test_a_page_of_help() -> None:
    boxes = next(description for description in describe(STIMULI) if description.name == "boxes")
    assert str(boxes).splitlines()[1:] == [
        "  count (whole number from 1 to 8; required): number of boxes",
        (
            "  markers (list, each whole number or null; not given by default): the marker's cell in each box (0 to 8,"
            " row by row), or null for a box without one"
        ),
        (
            "  arrow ({box: whole number from 0, direction: up or down or left or right or up_left or up_right or"
            " down_left or down_right}; not given by default): an arrow, as {box: 0, direction: up_left}"
        ),
        "  probed (whole number; not given by default): the red box",
    ]
