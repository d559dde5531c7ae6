"""Pixels: larger pictures agree with the small frame, equal looks are equal objects."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from session_tools import ended_well
from stimuli_strategies import PARAMETERS, any_stimulus, stimulus

from spanlab.stimuli import COLOURS, STIMULI, Arrow, Ellipse, Line, Polygon, Rectangle, Scene
from spanlab.stimuli import Image as Pixels
from spanlab.stimuli.render.pixels import picture, render

RELAXED = settings(
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


def test_every_registered_stimulus_is_tested() -> None:
    assert {*PARAMETERS, "image", "sound"} == set(STIMULI)  # these need files: test_images.py, test_sounds.py


@settings(RELAXED, max_examples=60)
@given(shown=any_stimulus(), scale=st.integers(2, 4))
@pytest.mark.slow
def test_larger_pictures_show_the_same(shown, scale: int) -> None:
    """Brought back to 96 × 96, a larger picture differs from the exact frame along edges only, and
    little on the whole."""
    small, large = render(shown.scene()), render(shown.scene(), scale)
    assert large.shape == (96 * scale, 96 * scale, 3)
    difference = np.abs(np.array(Image.fromarray(large).reduce(scale)).astype(int) - small).max(-1)
    # Lines and letters are aligned to whole pixels, which are larger at scale 1; grids of small
    # cells and rows of letters have many edges.
    assert difference.mean() < 15
    assert (difference > 150).mean() < 0.06


@pytest.mark.parametrize("name", ["squares", "pattern_array", "boxes", "bars"])
@pytest.mark.slow
def test_straight_things_are_only_enlarged(name: str) -> None:
    """What has no curves or slanted lines has the very same pixels, each as a square."""

    @RELAXED
    @given(parameters=PARAMETERS[name].filter(lambda parameters: "arrow" not in parameters))
    def check(parameters: dict) -> None:
        scene = stimulus(name, parameters).scene()
        np.testing.assert_array_equal(render(scene, 3), render(scene).repeat(3, 0).repeat(3, 1))

    check()


@settings(RELAXED, max_examples=10)
@given(shown=any_stimulus(), size=st.integers(20, 500))
def test_pictures_of_any_size(shown, size: int) -> None:
    image = picture(shown.scene(), size)
    assert image.size == (size, size)
    assert image.mode == "RGB"


def test_every_primitive_is_drawn_at_every_scale() -> None:
    red = COLOURS["red"]
    for primitive in (
        Rectangle(10, 10, 50, 50, red),
        Rectangle(10, 10, 50, 50, None, red, 3, 5),
        Line(5, 5, 80, 60, red, 3),
        Line(80, 50, 5, 50, red, 3),
        Ellipse(10, 20, 60, 50, red),
        Polygon(((10, 10), (60, 20), (30, 70)), red),
        Arrow(10, 10, 60, 35, red, 1),
        Arrow(20, 20, 20, 36, red, 2),
        Pixels(40, 40, 2, 2, bytes(red) * 4),
    ):
        counts = [(render(Scene((primitive,)), scale) == red).all(-1).sum() / scale**2 for scale in (1, 4)]
        assert counts[0] > 0, primitive
        assert counts[1] == pytest.approx(counts[0], rel=0.35), primitive


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(PARAMETERS) - {"tone", "text", "letter"}))
def test_equal_looks_are_equal_objects_with_equal_words(name: str) -> None:
    """So nothing about presentation order or role can be read off a stimulus. (A tone has no look;
    lettering may differ in size only.)"""
    seen: dict[bytes, object] = {}

    @settings(RELAXED, max_examples=80)
    @given(parameters=PARAMETERS[name])
    def check(parameters: dict) -> None:
        shown = stimulus(name, parameters)
        look = picture(shown.scene(), 768).tobytes()  # large, so that a wider bar has more pixels
        assert seen.setdefault(look, shown) == shown
        assert hash(seen[look]) == hash(shown)

    check()


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("matrix", {"filled": [3, 1, 2]}, {"filled": [1, 2, 3], "colour": "#3ab54a"}),
        ("matrix", {"filled": [], "colour": "red"}, {"filled": []}),
        ("squares", {"green": [9, 4], "red": [7, 2]}, {"green": [4, 9], "red": [2, 7]}),
        ("pattern_array", {"cells": [[3, 1], *[None] * 8]}, {"cells": [[1, 3], *[None] * 8]}),
        ("pattern_array", {"cells": [None] * 9, "colour": "red", "grid": 4}, {"cells": [None] * 9}),
        ("boxes", {"count": 2, "markers": [None, None]}, {"count": 2}),
        (
            "boxes",
            {"count": 2, "arrow": {"box": 1, "direction": "upleft_downright"}},
            {"count": 2, "arrow": {"box": 1, "direction": "down_right"}},
        ),
        ("figure", {"lines": [[0, 0], [1, 1], [1, 2]]}, {"lines": [[1, 2], [1, 1], [0, 0]]}),
        ("figure", {"lines": [[0, 0], [1, 1], [1, 2]]}, {"lines": [[[1, 1], [0, 0]], [[1, 2], [1, 1]]]}),
        (
            "bars",
            {"bars": [{"at": [5, 5, 20, 5]}, {"at": [40, 40, 40, 49]}]},
            {"bars": [{"at": [40, 49, 40, 40]}, {"at": [5.7, 5.2, 20, 5]}]},
        ),
        ("letter_grid", {"at": 4, "noise": {3: "%", 0: "#"}}, {"at": 4, "noise": {"0": "#", "3": "%"}}),
    ],
)
def test_the_order_of_parameters_leaves_no_trace(name: str, one: dict, other: dict) -> None:
    first, second = stimulus(name, one), stimulus(name, other)
    assert first == second
    assert first.words() == second.words()
    assert first.scene() == second.scene()
    assert first.model_dump_json() == second.model_dump_json()


def test_stimuli_are_drawn_without_a_screen_and_quickly_imported() -> None:
    """Importing the stimuli loads no drawing library; neither PsychoPy nor OpenCV are needed to
    draw."""
    code = (
        "import sys, spanlab.stimuli as s; assert 'PIL' not in sys.modules, 'PIL';from spanlab.stimuli.render.pixels"
        " import render; render(s.STIMULI.get('boxes')(count=3, arrow={'box': 0, 'direction': 'up'}).scene(), 3);assert"
        " not {'cv2', 'psychopy', 'torch'} & set(sys.modules)"
    )
    ended_well(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True))
