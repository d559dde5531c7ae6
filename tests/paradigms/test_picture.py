"""The picture of a trial: every display is there, in its place, with its answer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from paradigm_texts import load, text
from PIL import Image

from spanlab.paradigms import Trial, compile_trial, load_paradigm
from spanlab.paradigms.preview.sheet import film_frames, frames_of, trial_picture, write_film
from spanlab.stimuli.render.pixels import picture

ACCENT = (24, 92, 170)
DRAFTS = Path(__file__).resolve().parents[1] / "drafts"


def trial_of(source: str | Path, levels: dict, seed: int = 1) -> Trial:
    return compile_trial(load_paradigm(source), levels, seed)


@pytest.mark.parametrize(
    ("name", "levels", "side", "displays"),
    [
        ("vsr", {"list_length": 3}, 335, 6),
        ("smu", {"set_size": 8}, 208, 17),
    ],
)
def test_every_display_is_in_the_picture(name: str, levels: dict, side: int, displays: int) -> None:
    trial = trial_of(name, levels)
    page = trial_picture(trial, load_paradigm(name))
    assert page.width == 2400
    assert page.info["dpi"] == (300, 300)
    pixels = np.asarray(page)
    shown = [display.stimulus for step in trial.steps for display in step.percept.displays]
    assert len(shown) == displays
    # a display without a mark on it occurs to the pixel: its middle line lies in one of the columns
    for step in trial.steps:
        if step.percept.ask is None and step.percept.model_step:
            middle = np.asarray(picture(step.percept.displays[0].stimulus.scene(), side))[side // 2, 4:-4]
            columns = [pixels[:, left + 4 : left + side - 4] for left in range(84, 2400 - side, side + 44)]
            assert any((column == middle).all((1, 2)).any() for column in columns), f"step {step.index} is missing"


def accent(page: Image.Image) -> int:
    return int((np.asarray(page) == ACCENT).all(-1).sum())


def test_a_question_with_a_window_is_not_called_self_paced_and_is_quoted_as_people_read_it(tmp_path: Path) -> None:
    ask = "choice: {options: [yes, no]}, answer: 'no', prompt: {en: Was it there?}"
    for window, time in (("", "self-paced"), (", window_ms: 3000", "up to 3000 ms")):
        paradigm = load(tmp_path, text(f"- {{phase: probe, show: {{letter: A}}, ask: {{{ask}{window}}}}}"))
        (frame,) = frames_of(compile_trial(paradigm))
        assert frame.time == time
        assert frame.question == "“Was it there?”"
    (frame,) = frames_of(compile_trial(load(tmp_path, text())))
    assert frame.question == "Press a key from 1 to 9.", "how people answer, and not what a model is asked"


def test_the_correct_answer_is_marked() -> None:
    trial = trial_of("vsr", {"list_length": 2})
    page = np.asarray(trial_picture(trial)).astype(int)
    answers = [step.truth.answer for step in trial.steps if step.percept.ask is not None]
    side, top = 420, 250 + 40
    for number, answer in enumerate(answers, start=2):
        assert isinstance(answer, int)
        left = 84 + number * (side + 44)
        counts = [
            (
                page[
                    top + side * (cell // 3) // 3 : top + side * (cell // 3 + 1) // 3,
                    left + side * (cell % 3) // 3 : left + side * (cell % 3 + 1) // 3,
                ]
                == ACCENT
            )
            .all(-1)
            .sum()
            for cell in range(9)
        ]
        assert int(np.argmax(counts)) == answer
        assert sorted(counts)[-1] > 4 * sorted(counts)[-2]


def test_the_same_trial_gives_the_same_picture_and_another_seed_another() -> None:
    one, again, other = (trial_picture(trial_of("smu", {"set_size": 2}, seed)).tobytes() for seed in (1, 1, 2))
    assert one == again != other


@pytest.mark.parametrize(
    ("draft", "levels"), [("nback", {"n": 2}), ("sts", {}), ("cs", {"storage": "spatial", "distractors": 3})]
)
def test_trials_of_any_make_have_a_picture(draft: str, levels: dict) -> None:
    """Display sequences, feedback, people-only displays, keys without places."""
    page = trial_picture(trial_of(DRAFTS / f"{draft}.yaml", levels), title="A title")
    assert page.width == 2400
    assert accent(page) > 300


def test_a_film_takes_as_long_as_the_trial(tmp_path: Path) -> None:
    """Times are rounded to hundredths of a second, as GIF has them, and their errors do not add up."""
    trial = trial_of(DRAFTS / "sts.yaml", {})
    displays = [display for step in trial.steps for display in step.shown_after("right").displays]
    planned = sum(1500.0 if display.ms is None else display.ms for display in displays)
    frames = film_frames(trial)
    assert len(frames) == len(displays)
    assert abs(sum(ms for _, ms in frames) - planned) <= 10
    assert np.array_equal(np.asarray(frames[0][0]), np.asarray(picture(displays[0].stimulus.scene(), 480)))
    write_film(trial, tmp_path / "trial.gif")
    with Image.open(tmp_path / "trial.gif") as film:
        times = []
        for number in range(getattr(film, "n_frames", 1)):
            film.seek(number)
            times.append(film.info["duration"])
    assert sum(times) == sum(ms for _, ms in frames)
