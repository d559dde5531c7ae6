"""The N-back paradigms: noise, trials as people, readers of words and networks get them, and blocks
from elsewhere."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest
from conditions import some_conditions
from nback_sets import CONSONANTS, FAMILY, LEVELS, MARKS, SETS, blocks
from sampling import fits, loaded, sampler, trials
from stimuli_strategies import stimulus

from spanlab.core.errors import SpanLabError
from spanlab.paradigms import compile_trial
from spanlab.paradigms.network_view import labels_of
from spanlab.stimuli.kinds.lettering import Letter, LetterGrid
from spanlab.stimuli.render.fast.batch import network_frames

# Noise --------------------------------------------------------------------------------------------


def test_letters_among_noise() -> None:
    """3 to 6 different ones of the eight symbols; their number, which they are, and the place of
    the letter are uniform."""
    letters = [letter for letter in CONSONANTS for _ in range(100)]
    one = sampler("letter_noise", letters=letters, marks=list(MARKS), least=3, most=6)
    strings = [text for seed in range(5) for text in one.draw(np.random.RandomState(seed))]
    assert len(strings) == 10_000
    for letter, text in zip(letters * 5, strings, strict=True):
        assert text.count(letter) == 1
        assert set(text) - {letter} <= set(MARKS)
        assert len(set(text)) == len(text)
    lengths = Counter(map(len, strings))
    assert set(lengths) == {4, 5, 6, 7}
    assert fits(lengths.values())
    for length in lengths:
        assert fits(
            Counter(
                text.index(letter) for letter, text in zip(letters * 5, strings, strict=True) if len(text) == length
            ).values()
        )
    # Symbols of one string differ from one another, so their counts vary less than chi-square
    # expects; this can only be too lenient.
    assert fits(Counter(mark for text in strings for mark in text if mark in MARKS).values())


@pytest.mark.slow
def test_noise_is_shown_with_its_items() -> None:
    for name in ("nback_verbal_noise", "nback_spatial_noise"):
        for trial in trials(name, "corrected", 1):
            for step in trial.steps:
                if step.percept.ask is None:
                    continue
                shown = step.percept.displays[0].stimulus
                if isinstance(shown, Letter):
                    assert shown.words() == shown.symbol, "models read the string as published"
                    assert 4 <= len(shown.symbol) <= 7
                else:
                    assert isinstance(shown, LetterGrid)
                    assert 1 <= len(shown.noise) <= 3


# Trials -------------------------------------------------------------------------------------------


def _asked(trial: Any) -> list[Any]:
    return [step for step in trial.steps if step.percept.ask is not None]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", FAMILY)
def test_a_block_is_a_trial(name: str) -> None:
    """The published numbers of items; 500 ms and 2500 ms; answers count for all of the 3 s, and
    silence is not an answer."""
    paradigm = loaded(name)
    assert paradigm.family == "N-back"
    for length, trial in itertools.product((24, 30), [trials(name, "corrected", 1)[-1]]):
        trial = compile_trial(paradigm, {**trial.levels, "block_length": length}, 3)
        asked = _asked(trial)
        assert len(asked) == trial.list_length == length
        assert trial.set_size == trial.levels["n"]
        assert [step.truth.record["serial_position"] for step in asked] == list(range(1, length + 1))
        for step in asked:
            ask = step.percept.ask
            assert [display.ms for display in step.percept.displays] == [500, 2500]
            assert (ask.ends, ask.window_ms, ask.no_answer_means) == ("on_time", 3000, None)
            assert step.truth.record["match"] == (step.truth.answer == "m")
            assert step.truth.record["prefilled"] is False
        feedback = [step for step in trial.steps if step.feedback is not None]
        assert len(feedback) == (length if "feedback" in name else 0)
        for step in feedback:
            assert {
                verdict: (percept.displays[0].stimulus.words(), percept.displays[0].ms)
                for verdict, percept in (step.feedback or {}).items()
            } == {
                "right": ("correct", 500),
                "wrong": ("wrong", 500),
                "missed": ("no answer", 500),
            }


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", FAMILY)
def test_what_a_network_is_trained_towards(name: str) -> None:
    """One task for each n, which cannot be seen; one output, 1 for a match."""
    for trial in trials(name, "corrected", 1):
        view = loaded(name).network_view(trial.levels)
        assert view is not None
        assert (view.task, view.head, view.filler) == (f"{name}_{trial.levels['n']}", 1, 0)
        labels = labels_of(trial, view)
        wanted = [
            int(step.truth.answer == "m") if step.percept.ask else 0 for step in trial.steps if step.percept.model_step
        ]
        assert list(labels.targets) == wanted
        assert list(labels.trained) == [step.percept.ask is not None for step in trial.steps if step.percept.model_step]


def test_networks_can_tell_items_apart() -> None:
    """At 32 x 32: letters, letters in the same place of the same noise, and cells of the largest
    grid differ clearly in some pixels."""
    letters = [stimulus("letter", {"symbol": letter}) for letter in CONSONANTS]
    surroundings = (("%@", "#"), ("", "$&*~^%"), ("#$%&*@", ""))
    noisy = [
        [stimulus("letter", {"symbol": f"{before}{letter}{after}", "columns": 3}) for letter in CONSONANTS]
        for before, after in surroundings
    ]
    cells = [stimulus("letter_grid", {"grid": 7, "at": cell}) for cell in range(49)]
    for stimuli, least in ((letters, 100), *((own, 50) for own in noisy), (cells, 70)):
        frames = network_frames(stimuli).astype(int).max(-1)
        for one, other in itertools.combinations(frames, 2):
            assert np.abs(one - other).max() >= least


# Words --------------------------------------------------------------------------------------------


def test_instructions_say_how_far_back() -> None:
    for name, language in itertools.product(FAMILY, ("en", "de")):
        levels = {"block_length": 24, **some_conditions(loaded(name))[0]}
        told = [loaded(name).instructions_in(language, {**levels, "n": n}) for n in LEVELS]
        assert len(set(told)) == 3
        for n, text in zip(LEVELS, told, strict=True):
            assert f"{n}-back" in text
            assert "{" not in text


# Blocks from elsewhere ----------------------------------------------------------------------------


def test_blocks_from_elsewhere() -> None:
    """Described by their symbols and labels; unlabelled matches are found and let through, as the
    published files have some."""
    one = sampler("nback_block", symbols=list("bcd"), n=1, length=6, matches=2, check_first=False)
    block = one.described(list("bbcdcc"), list("---m-m"), [True] * 2 + [False] * 4)  # type: ignore[attr-defined]
    assert [item["lag"] for item in block] == [None, None, None, None, 2, None]
    assert [item["prefilled"] for item in block] == [True, True, False, False, False, False]
    with pytest.raises(ValueError, match="item 4 is labelled 'm', and does not match the one 1 back"):
        one.check(block)
    block = one.described(list("bbcccb"), list("---mm-"))  # type: ignore[attr-defined]
    one.check(block)
    assert one.unlabelled(block) == [1]  # type: ignore[attr-defined]
    for wrong, says in (
        ({"label": "x"}, "item 3: the label is 'm' or '-'; found 'x'"),
        ({"symbol": "q"}, "item 3: 'q' is not among the symbols"),
        ({"lag": 2}, "item 3: expected lag nothing; found 2"),
        ({"prefilled": 1}, "prefilled: expected true or false"),
        ({"mark": 1}, "unknown field 'mark'"),
    ):
        with pytest.raises(ValueError, match=says):
            one.check([*block[:2], {**block[2], **wrong}, *block[3:]])
    with pytest.raises(ValueError, match="expected 2 matches; found 1"):
        one.check(one.described(list("bbcdcc"), list("-----m")))  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="expected a list of 6"):
        one.check(block[:5])
    for name, n in itertools.product(SETS, LEVELS):
        known = {
            "generator": "corrected",
            "n": n,
            "lures": "high",
            "block_length": 24,
            "matches": 8,
            "grid": SETS[name][1],
        }
        setting = next(draw for draw in loaded(SETS[name][0]).draws if draw.name == "items").sampler
        assert setting is not None
        for block in blocks(name, n, lures="high", times=6):
            setting.build(known).check(block)
        with pytest.raises(ValueError, match=r"expected \d+ lures; found"):
            setting.build({**known, "lures": "low"}).check(blocks(name, n, lures="high", times=6)[0])


def test_a_trial_from_elsewhere() -> None:
    """What the published protocol answered itself is recorded."""
    paradigm, levels = loaded("nback_verbal_noise"), {"n": 2, "lures": "free", "block_length": 24}
    block = blocks("letters", 2, "published")[3]
    items = [{**item, "prefilled": i < 6} for i, item in enumerate(block)]
    shown = [f"%{item['symbol']}#@" for item in items]
    asked = _asked(compile_trial(paradigm, levels, 1, "published", draws={"items": items, "shown": shown}))
    assert [step.truth.record["prefilled"] for step in asked] == [True] * 6 + [False] * 18
    assert [step.percept.displays[0].stimulus.words() for step in asked] == shown
    assert [step.truth.answer for step in asked] == [item["label"] for item in items]
    with pytest.raises(SpanLabError, match="shown"):
        compile_trial(paradigm, levels, 1, "published", draws={"items": items, "shown": shown[::-1]})
