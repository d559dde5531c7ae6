"""What the files can say: texts that are filled in, null, numbers from distributions, several
stimuli in one display, things at any angle."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from paradigm_texts import asked, load, text, trial
from scipy import stats

from spanlab.core.errors import ParadigmError
from spanlab.paradigms import compile_trial
from spanlab.paradigms.samplers import SAMPLERS
from spanlab.stimuli import STIMULI
from spanlab.stimuli.render.pixels import render


def shown(folder: Path, display: str, **more: str) -> Any:
    return trial(folder, text(asked(f"- {{phase: present, show: {display}}}"), **more)).steps[0].percept.displays[0]


def problems(folder: Path, content: str) -> str:
    with pytest.raises(ParadigmError) as error:
        load(folder, content)
    return str(error.value)


# -- texts and null --------------------------------------------------------------------------------


def test_texts_are_filled_in(tmp_path: Path) -> None:
    draw = "a: =3\nword: =['x', 'y'][1]"
    assert shown(tmp_path, "{text: '{=a + 1} times {=word}'}", draw=draw).stimulus.text == "4 times y"
    assert (
        shown(tmp_path, "{text: 'braces {stay} as they are'}", draw=draw).stimulus.text == "braces {stay} as they are"
    )


def test_a_name_in_braces_is_not_silently_a_text(tmp_path: Path) -> None:
    said = problems(tmp_path, text(asked("- {phase: present, show: {text: '{a} there'}}"), draw="a: =3"))
    assert "'{a} there' would be shown as it stands: write {=a} for the value of 'a'" in said
    assert "'=b' uses 'b', which is not known here (known: a, generator)" in problems(
        tmp_path, text(asked("- {phase: p, show: {text: '{=b}'}}"), draw="a: 3".replace("3", "=3"))
    )


def test_feedback_takes_no_texts_that_are_filled_in(tmp_path: Path) -> None:
    timeline = (
        asked("")
        + "\n- {phase: feedback, feedback: {right: {text: 'it was {=a}', ms: 100}, wrong: {text: no, ms: 100}}}"
    )
    assert "feedback takes no expressions" in problems(tmp_path, text(timeline, draw="a: =3"))


def test_null_true_and_false_are_what_they_are_in_yaml(tmp_path: Path) -> None:
    draw = (
        'items: "=[null, \'b\', null]"\nfull: "=[item for item in items if item is not null]"\nyes: "=true if full else'
        ' false"'
    )
    paradigm = load(
        tmp_path,
        text(
            asked("- {phase: present, show: {text: '{=len(full)}'}}"),
            draw=draw,
            more="set_size: =len(full) if yes else 9",
        ),
    )
    compiled = compile_trial(paradigm, {}, 1)
    assert compiled.steps[0].percept.displays[0].stimulus.text == "1"  # type: ignore[attr-defined]
    assert compiled.set_size == 1
    assert "the name 'null' is reserved" in problems(tmp_path, text(draw='"null": =1'))


def test_unknown_names_list_what_there_is(tmp_path: Path) -> None:
    assert " (known: " in (
        said := problems(tmp_path, text("- {phase: p, show: {zzz: {}}, ask: {choice: {options: 9}, answer: 0}}"))
    )
    assert {"letter", "oriented_bar", "together"} <= set(re.findall(r"\w+", said))


# -- draws -----------------------------------------------------------------------------------------


def drawn(name: str, many: int = 4000, **parameters: Any) -> list[Any]:
    return SAMPLERS.get(name).model_validate({**parameters, "count": many}).draw(np.random.RandomState(3))


def test_numbers_come_from_their_distributions() -> None:
    assert stats.kstest(drawn("uniform", between=[500, 1500]), stats.uniform(500, 1000).cdf).pvalue > 0.01
    assert stats.kstest(drawn("normal", mean=100, sd=15), stats.norm(100, 15).cdf).pvalue > 0.01
    assert (
        stats.kstest(
            drawn("normal", mean=100, sd=15, least=90, most=115), stats.truncnorm(-10 / 15, 1, 100, 15).cdf
        ).pvalue
        > 0.01
    )
    whole = drawn("uniform", 6000, between=[1, 3], decimals=0)
    assert {*map(type, whole)} == {int}
    assert stats.chisquare([*Counter(whole).values()]).pvalue > 0.001, "the limits come as often as others"


@pytest.mark.parametrize(
    ("name", "parameters", "good", "bad"),
    [
        ("uniform", {"between": [5, 10]}, 7.5, 11.0),
        ("normal", {"mean": 0, "sd": 1, "most": 2}, 1.5, 2.5),
    ],
)
def test_given_numbers_are_looked_at(name: str, parameters: dict[str, Any], good: Any, bad: Any) -> None:
    sampler = SAMPLERS.get(name).model_validate(parameters)
    sampler.check(good)
    sampler.check(sampler.draw(np.random.RandomState(1)))
    with pytest.raises(ValueError, match=r"outside|among"):
        sampler.check(bad)


@pytest.mark.parametrize(
    ("name", "parameters", "says"),
    [
        ("uniform", {"between": [9, 5]}, "above the highest"),
        ("normal", {"mean": 0, "sd": 1, "least": 2, "most": 1}, "must be below"),
    ],
)
def test_impossible_draws_are_refused(name: str, parameters: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        SAMPLERS.get(name).model_validate(parameters)


def test_a_drawn_duration_is_shown_and_recorded(tmp_path: Path) -> None:
    timeline = """
    - {phase: retention, show: {blank: {}, ms: =delay}}
    - {phase: probe, show: {blank: {}}, ask: {choice: {options: 9}, answer: 0}, record: {retention_ms: =delay}}
    """
    paradigm = load(tmp_path, text(timeline, draw="delay: {uniform: {between: [500, 1500], decimals: 0}}"))
    for seed in range(5):
        steps = compile_trial(paradigm, {}, seed).steps
        assert steps[0].percept.displays[0].ms == steps[1].truth.record["retention_ms"]


# -- displays --------------------------------------------------------------------------------------


def picture_of(name: str, **parameters: Any) -> np.ndarray:
    return render(STIMULI.get(name).model_validate(parameters).scene(), 4).astype(int)


def orientation(picture: np.ndarray) -> float:
    """Of what is dark, in degrees clockwise from upright: the direction in which it varies most."""
    y, x = np.nonzero(picture.sum(axis=2) < 300)
    values, vectors = np.linalg.eigh(np.cov(x - x.mean(), y - y.mean()))
    across, down = vectors[:, np.argmax(values)]
    return float(np.degrees(np.arctan2(across, -down)) % 180)


@pytest.mark.parametrize("angle", [0, 17, 45, 90, 133.5, 179])
def test_a_bar_lies_at_its_angle(angle: float) -> None:
    assert abs((orientation(picture_of("oriented_bar", angle=angle)) - angle + 90) % 180 - 90) < 1
    assert (picture_of("oriented_bar", angle=angle + 180) == picture_of("oriented_bar", angle=angle)).all()


@pytest.mark.parametrize("angle", [0, 30, 90, 120])
def test_stripes_lie_at_their_angle_and_are_as_many_as_asked_for(angle: float) -> None:
    """The picture's spectrum has its peak where the stripes are."""
    size, cycles = 80, 8
    gray = picture_of("grating", angle=angle, size=size, cycles=cycles).mean(axis=2)
    power = np.abs(np.fft.fft2(gray - gray[0, 0]))
    power[0, 0] = 0
    v, u = np.unravel_index(np.argmax(power), power.shape)
    across, down = (np.fft.fftfreq(len(gray))[n] * len(gray) for n in (u, v))
    assert abs(np.hypot(across, down) - cycles * 96 / size) < 1
    assert abs(((np.degrees(np.arctan2(down, across)) % 180) - angle + 90) % 180 - 90) < 5


def test_several_stimuli_are_placed_and_sized(tmp_path: Path) -> None:
    display = (
        "{together: [{show: {matrix: {grid: 2, filled: =cells, colour: red}}, x: 72, y: 24, size: 0.5}, {show:"
        " {oriented_bar: 45}, x: 24, y: 72, size: 0.5}]}"
    )
    stimulus = shown(tmp_path, display, draw="cells: =[0, 3]").stimulus
    whole = STIMULI.get("matrix").model_validate({"grid": 2, "filled": [0, 3], "colour": "red"})
    picture, alone = render(stimulus.scene(), 8).astype(int), render(whole.scene(), 4).astype(int)
    part = picture[:384, 384:]
    assert np.corrcoef(part.ravel(), alone.ravel())[0, 1] > 0.85, (
        "the same, but for lines, which are not thinner than a unit"
    )
    assert (picture[:380, :380] == picture[0, 0]).all(), "nothing at the other places"
    assert "Display 1, at 72 from the left and 24 from the top, size 0.5:" in stimulus.words()
    assert whole.words() in stimulus.words()
    assert type(stimulus).model_validate(stimulus.model_dump(mode="json")) == stimulus


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ("[{show: {leter: A}}]", "did you mean 'letter'?"),
        ("[{show: {letter: {symbol: A, colur: red}}}]", "colur"),
        ("[{show: {noise: 1}}]", "cannot be placed"),
        ("[{show: {blank: {}}}]", "cannot be placed"),
        ("[{show: {letter: A}}, {show: {letter: B}}]", "the same place"),
    ],
)
def test_what_cannot_be_placed_is_refused(tmp_path: Path, parts: str, says: str) -> None:
    assert says in problems(tmp_path, text(asked(f"- {{phase: present, show: {{together: {parts}}}}}")))
