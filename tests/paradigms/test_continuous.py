"""Continuous report: values that close on themselves, how they are read, scored and chosen, and the
wheel of colours."""

from __future__ import annotations

from math import hypot

import numpy as np
import pytest

from spanlab.agents.human.input.answering import TURN_KEYS, AnswerSheet, Press
from spanlab.agents.human.simulation import turning_keys
from spanlab.paradigms import Ask
from spanlab.paradigms.responses import Continuous
from spanlab.stimuli.colour_wheel import lab_of, linear_rgb, wheel_colour


def kind(feature: str = "colour", tolerance: int = 20, **more: object) -> Continuous:
    return Continuous.model_validate({"feature": feature, "tolerance": tolerance, **more})


KINDS = [
    kind(),
    kind("orientation"),
    kind("location"),
    kind(step=2, bins=60),
    kind("orientation", step=5, bins=12),
    kind(turned=77, start=10),
]


def test_every_colour_is_within_srgb_and_all_differ_by_equal_steps() -> None:
    assert len({wheel_colour(number) for number in range(360)}) == 360
    shown = np.array([linear_rgb(*lab_of(number)) for number in range(360)])
    assert shown.min() > 0
    assert shown.max() < 1
    steps = [hypot(*(np.subtract(lab_of(number), lab_of(number + 1)))) for number in range(360)]
    assert np.ptp(steps) < 1e-9


@pytest.mark.parametrize(
    ("feature", "answer", "correct", "error"),
    [
        ("colour", 10, 350, 20),
        ("colour", 350, 10, -20),
        ("colour", 180, 0, 180),
        ("colour", 0, 180, 180),
        ("orientation", 5, 175, 10),
        ("orientation", 175, 5, -10),
        ("orientation", 90, 0, 90),
        ("location", 90, 91, -1),
    ],
)
def test_errors_are_signed_and_go_the_shorter_way_round(feature: str, answer: int, correct: int, error: float) -> None:
    (score,) = kind(feature).score(answer, correct)
    assert (score.error, score.correct) == (error, abs(error) <= 20)
    assert (score.period, score.tolerance) == ({"orientation": 180.0}.get(feature, 360.0), 20.0)
    assert (score.answer, score.correct_answer) == (answer, correct)


def test_without_an_answer_there_is_no_error() -> None:
    (score,) = kind().score(None, 7)
    assert (score.answer, score.error, score.correct) == (None, None, False)


@pytest.mark.parametrize("asked", KINDS, ids=repr)
def test_chance_is_the_share_of_answers_within_the_tolerance(asked: Continuous) -> None:
    answers = range(0, asked.period, asked.step)
    assert asked.chance() == pytest.approx(
        np.mean([bool(asked.score(answer, 0)[0].correct) for answer in answers]), abs=1e-12
    )


@pytest.mark.parametrize("asked", KINDS, ids=repr)
def test_every_answer_is_read_back_and_chosen_by_click_keys_and_class(asked: Continuous) -> None:
    dial, wide = asked.surface().dial, asked.period / (asked.bins or asked.count)
    assert dial is not None
    for value in range(0, asked.period, asked.step):
        assert asked.allows(value)
        assert asked.parse(asked.write(value)) == value
        assert asked.answer_from_json(value) == value
        assert dial.value_at(*dial.place_of(value)) == value
        target = asked.target(value)
        assert isinstance(target, int)
        read = asked.from_logits(np.eye(asked.bins or asked.count)[target])
        assert isinstance(read, int)
        assert abs(asked.error(read, value)) <= wide / 2
    for value in range(0, asked.period, 7 * asked.step):
        sheet = AnswerSheet(Ask(asked), 0.0)
        assert "return" not in TURN_KEYS
        assert sheet.take(Press("key", 0.5, key="return")) == "not yet"
        assert {sheet.take(Press("key", 1.0, key=key)) for key in turning_keys(dial, value)} == {"turn"}
        assert sheet.take(Press("key", 2.0, key="return")) == "answer"
        assert sheet.answer() == value
    assert not any(asked.allows(value) for value in (-1, asked.period, True, 1.0, "1", None))


def test_marks_that_nobody_confirmed_are_no_answer() -> None:
    sheet = AnswerSheet(Ask(kind(), window_ms=1000.0), 0.0)
    sheet.take(Press("key", 0.5, key="up"))
    assert sheet.answer() is None
    assert sheet.take(Press("click", 1.1, x=90, y=48)) == "late"
    assert sheet.answer() is None


def test_clicks_near_the_middle_and_outside_the_canvas_mean_nothing() -> None:
    dial = kind().surface().dial
    assert dial is not None
    assert [dial.value_at(x, y) for x, y in ((48, 48), (48, 40), (48, -1), (97, 48))] == [None] * 4
    assert (dial.value_at(48, 1), dial.value_at(95, 48), dial.value_at(48, 95), dial.value_at(1, 48)) == (
        0,
        90,
        180,
        270,
    )
    orientation = kind("orientation").surface().dial
    assert orientation is not None
    assert {orientation.value_at(48, 1), orientation.value_at(48, 95)} == {0}


def test_where_a_wheel_of_colours_lies_is_no_other_question() -> None:
    """A colour moves with the wheel; sentences that a session keeps of a question hold for every
    turn of it."""
    plain, turned = kind(), kind(turned=100, start=50)
    assert plain.record_key() == turned.record_key() != kind(tolerance=21).record_key()
    assert (plain.question(), plain.legend("words")) == (turned.question(), turned.legend("words"))
    dial = turned.surface().dial
    assert dial is not None
    assert [dial.direction_of(value) for value in (0, 10, 300)] == [100, 110, 40]


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("213", 213),
        (" 213.", 213),
        ("**213**", 213),
        ("213°", 213),
        ("213 degrees", 213),
        ("213 deg.", 213),
        ("colour 213", 213),
        ("The colour number is 213.", 213),
        ("213: I remember it well", 213),
        ("212.6", 213),
        ("359.7", 0),
        ("360", None),
        ("0", 0),
        ("45 degrees clockwise", 45),
        ("It was 12 Grad.", 12),
        ("361", None),
        ("-20", None),
        ("−20", None),
        ("20 or 30", None),
        ("20 and 30", None),
        ("about 20-30", None),
        ("20, 30", None),
        ("20/360", None),
        ("20 of 360", None),
        ("not 20", None),
        ("45 degrees counterclockwise", None),
        ("45 degrees counter-clockwise", None),
        ("45° from the horizontal", None),
        ("1.2 rad", None),
        ("0.5 radians", None),
        ("50%", None),
        ("20px", None),
        ("x20", None),
        ("2e2", None),
        ("1.2.3", None),
        ("'12'", 12),
        ("12′", None),
        ("213,5", None),
        ("a dark green", None),
        ("two hundred", None),
        ("", None),
    ],
)
def test_a_number_with_its_unit_is_read_and_nothing_else(reply: str, value: int | None) -> None:
    assert kind().parse(reply) == value


def test_the_scale_of_a_question_decides_what_is_read() -> None:
    assert kind("orientation").parse("179") == 179
    assert kind("orientation").parse("180") is None
    assert kind(step=2).parse("213") == 214
    assert kind(step=2).answer_from_json(213) is None
    assert kind(step=45).answer_schema() == {"type": "integer", "enum": [0, 45, 90, 135, 180, 225, 270, 315]}
    assert kind("orientation").answer_schema() == {"type": "integer", "minimum": 0, "maximum": 179}


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"step": 7}, "not a multiple of it"),
        ({"feature": "orientation", "turned": 10}, "only a wheel of colours"),
        ({"feature": "orientation", "start": 180}, "start must be a possible answer"),
        ({"step": 10, "start": 5}, "start must be a possible answer"),
        ({"bins": 7}, "evenly"),
        ({"feature": "orientation", "tolerance": 90}, "every answer is correct"),
    ],
)
def test_what_cannot_be_is_named(parameters: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        kind(**{"feature": "colour", **parameters})  # type: ignore[arg-type]


def test_a_tolerance_must_be_declared() -> None:
    with pytest.raises(ValueError, match="tolerance"):
        Continuous.model_validate({"feature": "colour"})
