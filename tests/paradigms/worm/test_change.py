"""Change detection (cd, and cd_noise): arrays of both generators, that nothing in the second array
alone tells, what is shown for how long, labels, words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import Any, cast

import numpy as np
import pytest
from chat_trials import converse
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import RARE, fits, loaded, many, sampler, trials, unrelated
from scipy import stats
from words_solver import solve

from spanlab.core.errors import SpanLabError
from spanlab.human_data import published
from spanlab.paradigms import compile_trial, drawn_values
from spanlab.paradigms.language.schema import DatasetDesign, SessionDesign
from spanlab.paradigms.network_view import WORM_TASKS, labels_of
from spanlab.paradigms.paradigm import GENERATORS, Generator
from spanlab.stimuli import COLOURS, Line, Scene
from spanlab.stimuli.kinds.bars import Bars, meet
from spanlab.stimuli.kinds.plain import Blank, Noise
from spanlab.stimuli.render.pixels import network_frame, render

FEATURES = ("colour", "orientation", "size", "gap")
SEEDS = st.integers(0, 2**32 - 1)
QUICK = settings(max_examples=40, deadline=None)

Bar = dict[str, Any]


def upright(bar: Bar) -> bool:
    return bar["at"][0] == bar["at"][2]


def length(bar: Bar) -> float:
    return max(bar["at"][2] - bar["at"][0], bar["at"][3] - bar["at"][1])


def features(bar: Bar) -> tuple[bool, bool, bool, bool]:
    """In the order of FEATURES; large is what is longer than twelve units."""
    return bar["colour"] == "green", upright(bar), length(bar) > 12, bar["gap"] is not None


def changed(arrays: dict[str, Any]) -> list[int]:
    return [
        n for n, (before, after) in enumerate(zip(arrays["memory"], arrays["probe"], strict=True)) if before != after
    ]


def shown(bars: Sequence[Bar]) -> Bars:
    return Bars.model_validate({"bars": list(bars)})


#: where the gap of a horizontal bar of nine or fifteen units is that starts at 0, 0
GAPS = {9: [3, 0, 6, 0], 15: [6, 0, 9, 0]}


def seen_from(bar: Bar, ends: Sequence[float] | None) -> list[float] | None:
    """Ends relative to the start of a bar, as if it were horizontal."""
    if ends is None:
        return None
    relative = [end - bar["at"][n % 2] for n, end in enumerate(ends)]
    return [relative[n] for n in (1, 0, 3, 2)] if upright(bar) else relative


# both generators ----------------------------------------------------------------------------------


@given(SEEDS, st.sampled_from([2, 4, 6, 8]), st.sampled_from([*FEATURES, "conjunction"]), st.booleans())
@QUICK
@pytest.mark.slow
def test_arrays_are_what_they_are_said_to_be(seed: int, bars: int, feature: str, matched: bool) -> None:
    one = sampler("change_arrays", bars=bars, feature=feature, matched=matched)
    arrays = one.draw(np.random.RandomState(seed))
    one.check(arrays)
    assert len(arrays["memory"]) == len(arrays["probe"]) == bars
    assert len(changed(arrays)) == (arrays["answer"] == "different")
    for n in changed(arrays):
        before, after = features(arrays["memory"][n]), features(arrays["probe"][n])
        assert [name for name, old, new in zip(FEATURES, before, after, strict=True) if old != new] == [
            arrays["changed"]
        ]
        assert feature in (arrays["changed"], "conjunction")
    assert (arrays["changed"] == "none") == (arrays["answer"] == "same")
    assert (shown(arrays["memory"]) == shown(arrays["probe"])) == (arrays["answer"] == "same"), (
        "and a change can be seen"
    )


@pytest.mark.slow
@pytest.mark.parametrize("generator", GENERATORS)
def test_answers_changed_bars_and_features_favour_nothing(generator: Generator) -> None:
    drawn = many("cd", "arrays", generator, set_size=4, feature="conjunction")
    assert fits(Counter(arrays["answer"] for arrays in drawn).values())
    features_changed = Counter(arrays["changed"] for arrays in drawn if arrays["answer"] == "different")
    assert sorted(features_changed) == sorted(FEATURES)
    assert fits(features_changed.values())
    which = Counter(changed(arrays)[0] for arrays in drawn if arrays["answer"] == "different")
    assert sorted(which) == [0, 1, 2, 3]
    assert fits(which.values())
    assert (
        unrelated((changed(arrays)[0], arrays["changed"]) for arrays in drawn if arrays["answer"] == "different") > RARE
    )


@pytest.mark.slow
@pytest.mark.parametrize("generator", GENERATORS)
def test_every_array_can_be_shown(generator: Generator) -> None:
    """Published bars may overlap, and end one unit beyond the canvas."""
    for feature in FEATURES:
        for arrays in many("cd", "arrays", generator, 300, set_size=6, feature=feature):
            assert len(shown(arrays["probe"]).bars) == 6
    beyond = [
        arrays
        for arrays in many("cd", "arrays", generator, 3000, set_size=6, feature="size")
        if any(max(bar["at"]) >= 96 for bar in arrays["probe"])
    ]
    assert bool(beyond) == (generator == "published")


# corrected ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("drawn_bars", [6_000, pytest.param(20_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("bars", [2, 6, 12])
@pytest.mark.slow
def test_half_of_the_bars_are_large_red_upright_and_broken_at_every_set_size(bars: int, drawn_bars: int) -> None:
    drawn = many("cd", "arrays", "corrected", drawn_bars // bars, set_size=bars, feature="size")
    for array in ("memory", "probe"):
        together = Counter(features(bar) for arrays in drawn for bar in arrays[array])
        assert len(together) == 16
        assert fits(together.values())


@pytest.mark.slow
def test_places_have_room_and_favour_nothing() -> None:
    """A place is where a bar is, half a unit before its middle; 10 to 86 in both directions."""
    drawn = [
        *many("cd", "arrays", "corrected", 10_000, set_size=2, feature="orientation"),
        *many("cd", "arrays", "corrected", 300, set_size=12, feature="orientation"),
    ]
    places = [
        [tuple((bar["at"][n] + bar["at"][n + 2] + 1) // 2 for n in (0, 1)) for bar in arrays["memory"]]
        for arrays in drawn
    ]
    assert all(max(abs(x - a), abs(y - b)) >= 20 for own in places for (x, y), (a, b) in combinations(own, 2))
    for n in (0, 1):
        assert fits(Counter((own[0][n] - 10) // 7 for own in places[:10_000]).values()), "the first one is uniform"
    assert {value for own in places for place in own for value in place} == set(range(10, 87))


@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.slow
def test_changed_bars_stay_on_the_canvas_apart_from_others_and_as_long_as_others(feature: str) -> None:
    for arrays in many("cd", "arrays", "corrected", 300, set_size=12, feature=feature):
        for bars in (arrays["memory"], arrays["probe"]):
            assert {length(bar) for bar in bars} <= {9, 15}, "10 and 16 units on the screen, ends included"
            assert all(2 <= value <= 93 for bar in bars for value in bar["at"])
            gaps = [(seen_from(bar, bar["gap"]), int(length(bar))) for bar in bars if bar["gap"] is not None]
            assert all(gap == GAPS[long] for gap, long in gaps), "three units in the middle"
            seen = shown(bars).bars
            assert not any(meet(one.box, other.box) for one, other in combinations(seen, 2))
        for n in changed(arrays):
            before, after = arrays["memory"][n], arrays["probe"][n]
            middles = [[bar["at"][k] + bar["at"][k + 2] for k in (0, 1)] for bar in (before, after)]
            assert max(abs(a - b) for a, b in zip(*middles, strict=True)) <= 1, "it does not move"


# what the second array alone tells ----------------------------------------------------------------


def looks(arrays: Sequence[Sequence[Bar]]) -> np.ndarray:
    """What somebody could go by who sees one array only, a row for each: how many bars of each
    length and kind, and how near they come to one another and to the edges."""
    at = np.array([[[int(value) for value in bar["at"]] for bar in bars] for bars in arrays])
    at = np.concatenate([np.minimum(at[..., :2], at[..., 2:]), np.maximum(at[..., :2], at[..., 2:])], -1)
    kinds = np.array([[features(bar) for bar in bars] for bars in arrays])
    lengths = (at[..., 2:] - at[..., :2]).max(-1)
    gaps = np.array([[abs(sum(bar["gap"] or bar["at"]) - sum(bar["at"])) for bar in bars] for bars in arrays])
    one, other = np.array(list(combinations(range(at.shape[1]), 2))).T
    near = [
        np.sort(np.abs(points[:, one] - points[:, other]).max(-1))[:, :3]
        for points in (at[..., :2], at[..., :2] + at[..., 2:])
    ]
    numbers = [
        *(lengths == n for n in range(8, 19)),
        *np.moveaxis(kinds, -1, 0),
        *(at[..., :2].min(-1) < n for n in (3, 5, 7, 10)),
        *(at[..., 2:].max(-1) > n for n in (90, 92, 93, 94)),
        gaps > 0.5,
    ]
    counts = np.stack([number.sum(1) for number in numbers], 1)
    return np.concatenate(
        [counts, counts % 2, *near, near[0] < 20, kinds[:, 0], at.min((1, 2))[:, None], at.max((1, 2))[:, None]], 1
    ).astype(float)


def told(feature: str, generator: Generator) -> float:
    """The p at which a reader of second arrays alone, who has learned from other trials, is right
    more often than every second time."""
    drawn = many("cd", "arrays", generator, 3000, set_size=6, feature=feature)
    seen = looks([arrays["probe"] for arrays in drawn])
    seen = (seen - seen.mean(0)) / np.maximum(seen.std(0), 1e-9)
    seen = np.concatenate([seen, seen**2, np.ones((len(seen), 1))], 1)
    different = np.array([arrays["answer"] == "different" for arrays in drawn])
    weights = np.linalg.lstsq(seen[:2000], 2.0 * different[:2000] - 1, rcond=None)[0]
    right = int((((seen[2000:] @ weights) > 0) == different[2000:]).sum())
    return float(cast(Any, stats.binomtest(right, 1000, alternative="greater")).pvalue)


@pytest.mark.slow
@pytest.mark.sampled(2)
@pytest.mark.parametrize("feature", [*FEATURES, "conjunction"])
def test_the_second_array_alone_tells_nothing(feature: str) -> None:
    assert told(feature, "corrected") > RARE


@pytest.mark.slow
def test_published_sizes_and_orientations_are_told_by_the_second_array_alone() -> None:
    """So the reader above would find out."""
    assert told("size", "published") < 1e-100
    assert told("orientation", "published") < 1e-6
    for arrays in many("cd", "arrays", "published", 3000, set_size=6, feature="size"):
        odd = [
            int(bar["at"][2]) - int(bar["at"][0]) + int(bar["at"][3]) - int(bar["at"][1]) not in (9, 15)
            for bar in arrays["probe"]
        ]
        assert any(odd) == (arrays["answer"] == "different"), "17 or 11 units, ends included, instead of 16 or 10"


# published ----------------------------------------------------------------------------------------

#: What happens to a horizontal bar of nine or fifteen units that starts at 0, 0 (of a vertical one,
#: x and y change places): its ends, and the ends of its gap if it has one. As in the benchmark's
#: own trial files.
PUBLISHED_CHANGES = {
    ("colour", 9): ([0, 0, 9, 0], [3, 0, 6, 0]),
    ("colour", 15): ([0, 0, 15, 0], [6, 0, 9, 0]),
    ("orientation", 9): ([4.5, -4.5, 4.5, 4.5], [4.5, -1.5, 4.5, 1.5]),
    ("orientation", 15): ([7.5, -7.5, 7.5, 7.5], [7.5, -1.5, 7.5, 1.5]),
    ("size", 9): ([-3.75, 0, 12.75, 0], [3, 0, 6, 0]),
    ("size", 15): ([2.25, 0, 12.75, 0], [6, 0, 9, 0]),
    ("gap", 9): ([0, 0, 9, 0], [3, 0, 6, 0]),
    ("gap", 15): ([0, 0, 15, 0], [6, 0, 9, 0]),
}


@pytest.mark.slow
def test_published_changes_are_the_benchmarks() -> None:
    met: Counter[Any] = Counter()
    for feature in FEATURES:
        for arrays in many("cd", "arrays", "published", 3000, set_size=6, feature=feature):
            for bar in arrays["memory"]:
                assert seen_from(bar, bar["gap"]) in (None, GAPS[int(length(bar))])
            for n in changed(arrays):
                before, after = arrays["memory"][n], arrays["probe"][n]
                ends, gap = PUBLISHED_CHANGES[feature, int(length(before))]
                assert seen_from(before, after["at"]) == ends
                broken = (before["gap"] is None) == (feature == "gap")
                assert seen_from(before, after["gap"]) == (gap if broken else None)
                met[feature, int(length(before)), upright(before), broken] += 1
    assert len(met) == 4 * 2 * 2 * 2


def simple_reference(bars: int, random: np.random.RandomState) -> list[tuple[int, int, int]]:
    """Starts and sizes of the bars of an array as the benchmark is described: attempt by attempt,
    at most 101 of them."""
    while True:
        placed: list[tuple[int, int, int]] = []
        for _ in range(101):
            size = (9, 15)[random.randint(2)]
            x, y = (int(random.randint(size // 2 + 3, 96 - size - 3 + 1)) for _ in range(2))
            if all(abs(x - a) >= size + 11 or abs(y - b) >= size + 11 for a, b, _ in placed):
                placed.append((x, y, size))
            if len(placed) == bars:
                return placed


@pytest.mark.slow
def test_published_arrays_are_placed_as_in_the_benchmark() -> None:
    random = np.random.RandomState(3)
    references = [simple_reference(6, random) for _ in range(700)]
    drawn = [
        [(*bar["at"][:2], int(length(bar))) for bar in arrays["memory"]]
        for arrays in many("cd", "arrays", "published", set_size=6, feature="gap")
    ]
    for what in (
        lambda own: sum(size == 15 for _, _, size in own),
        lambda own: (own[0][0] - 7) // 13,
        lambda own: (own[5][1] - 7) // 13,
        lambda own: own[5][2],
        lambda own: min(max(abs(x - a), abs(y - b)) for (x, y, _), (a, b, _) in combinations(own, 2)),
    ):
        assert (
            unrelated([("reference", what(own)) for own in references] + [("ours", what(own)) for own in drawn]) > RARE
        )


MANY = [pytest.param(bars, share, 10_000, 0.01, marks=pytest.mark.slow) for bars, share in ((2, 0.47), (6, 0.34))]


@pytest.mark.parametrize(
    ("bars", "share", "times", "within"), [(2, 0.47, 2_500, 0.02), (6, 0.34, 1_500, 0.02), (12, 0.15, 80, 0.03), *MANY]
)
@pytest.mark.slow
def test_published_bars_are_small_in_large_arrays(bars: int, share: float, times: int, within: float) -> None:
    drawn = many("cd", "arrays", "published", times, set_size=bars, feature="gap")
    large = np.mean([[length(bar) == 15 for bar in arrays["memory"]] for arrays in drawn])
    assert large == pytest.approx(share, abs=within)


def test_a_bar_that_ends_beyond_the_canvas_is_cut_off() -> None:
    red = COLOURS["red"]
    for x0, y0, x1, y1 in ((80.25, 50, 96.75, 50), (50, 80, 50, 96)):
        bars = shown([{"at": [x0, y0, x1, y1]}])
        assert bars == shown([{"at": [x0, y0, min(x1, 95), min(y1, 95)]}])
        np.testing.assert_array_equal(render(bars.scene()), render(Scene((Line(x0, y0, x1, y1, red, 3),))))
    for outside in ([80, 50, 97, 50], [95, 50, 96, 50], [80, 96, 90, 96], [-1, 3, 9, 3]):
        with pytest.raises(ValueError, match="outside the 96 x 96 canvas"):
            shown([{"at": outside}])


# trials -------------------------------------------------------------------------------------------

TASKS = {
    "colour": "cd_color",
    "orientation": "cd_orientation",
    "size": "cd_size",
    "gap": "cd_gap",
    "conjunction": "cd_conj",
}


@pytest.mark.parametrize("name", ["cd", "cd_noise"])
def test_steps_times_and_labels(name: str) -> None:
    seen = set()
    for number, levels in enumerate(loaded(name).combinations()):
        trial = compile_trial(loaded(name), levels, number)
        retention = trial.levels["retention_steps"]
        seen.add(retention)
        phases = ["fixation", "present", *["retention"] * retention, "probe"]
        assert [step.percept.phase for step in trial.steps] == phases
        assert [step.percept.displays[0].ms for step in trial.steps] == [500, 100, *[150] * retention, 2000]
        assert [step.percept.model_step for step in trial.steps] == [False] + [True] * (retention + 2)
        ask = trial.steps[-1].percept.ask
        assert ask is not None
        assert (ask.ends, ask.window_ms) == ("on_answer", 2000)
        assert {type(step.percept.displays[0].stimulus) for step in trial.steps[2:-1]} <= {
            Noise if name == "cd_noise" else Blank
        }
        assert (
            trial.set_size
            == trial.levels["set_size"]
            == len(cast(Bars, trial.steps[1].percept.displays[0].stimulus).bars)
        )
        different = trial.steps[1].percept.displays[0].stimulus != trial.steps[-1].percept.displays[0].stimulus
        assert trial.steps[-1].truth.answer == ("different" if different else "same")
        assert (trial.steps[-1].truth.record["changed_feature"] != "none") == different
        view = loaded(name).network_view(trial.levels)
        assert view is not None
        assert (view.task, view.shared_head, view.head, view.filler) == (TASKS[trial.levels["feature"]], "cd", 1, 2)
        assert view.task in WORM_TASKS
        labels = labels_of(trial, view)
        assert labels.targets == (*[2] * (retention + 1), int(different))
        assert labels.trained == (*[False] * (retention + 1), True)
    assert seen == {0, 6, 12, 18}


@pytest.mark.parametrize("name", ["cd", "cd_noise"])
@pytest.mark.parametrize("generator", GENERATORS)
@pytest.mark.slow
def test_a_reader_of_words_is_always_right(name: str, generator: Generator) -> None:
    for trial in trials(name, generator):
        for step, _, value in converse(trial, loaded(name), solve):
            assert value == step.truth.answer


def test_people_and_models_are_told_what_may_change() -> None:
    words = {
        "colour": "colour",
        "orientation": "turned",
        "size": "longer or shorter",
        "gap": "black gap",
        "conjunction": "its colour, its orientation",
    }
    for feature, word in words.items():
        levels = {"feature": feature, "set_size": 2, "retention_steps": 0}
        assert word in loaded("cd").instructions_in("en", levels)
        assert sum(other in loaded("cd").instructions_in("en", levels) for other in words.values()) == (
            3 if feature == "conjunction" else 1
        )
        assert "{" not in loaded("cd").instructions_in("de", levels)


@pytest.mark.parametrize("name", ["cd", "cd_noise"])
def test_designs_are_those_of_the_papers_and_short_enough_for_people(name: str) -> None:
    human, data = loaded(name).designs["human"], loaded(name).designs["published"]
    assert isinstance(data, DatasetDesign)
    assert (data.train, data.validation, data.test) == (86_400, 9_600, 9_600)
    assert isinstance(human, SessionDesign)
    mean = 1.0 + 0.5 + 0.1 + 9 * 0.15 + 1.2
    assert len(loaded(name).combinations()) * human.repetitions * mean < 40 * 60


def test_published_people_are_named_as_the_factor_is() -> None:
    assert set(published("cd")["factor_feature"]) == set(loaded("cd").factors["feature"].levels)
    assert loaded("cd").source.human == "cd"
    assert loaded("cd_noise").source.human is None


def test_given_arrays_whose_answer_is_wrong_are_refused() -> None:
    levels = {"feature": "gap", "set_size": 4, "retention_steps": 0}
    arrays = drawn_values(loaded("cd"), levels, 1)["arrays"]
    assert compile_trial(loaded("cd"), levels, 1, draws={"arrays": arrays}).steps
    wrong = {**arrays, "answer": "same" if arrays["answer"] == "different" else "different"}
    with pytest.raises(SpanLabError, match="bars changed"):
        compile_trial(loaded("cd"), levels, 1, draws={"arrays": wrong})


# noise --------------------------------------------------------------------------------------------


def test_noise_is_another_in_every_step_and_has_nothing_to_do_with_the_answer() -> None:
    levels = {"feature": "size", "set_size": 2, "retention_steps": 18}
    drawn = [compile_trial(loaded("cd_noise"), levels, seed) for seed in range(150)]
    noise = [[cast(Noise, step.percept.displays[0].stimulus).seed for step in trial.steps[2:-1]] for trial in drawn]
    assert all(len(set(own)) == 18 for own in noise[:20])
    assert unrelated((own[0] % 2, trial.steps[-1].truth.answer) for own, trial in zip(noise, drawn, strict=True)) > RARE
    assert fits(Counter(seed * 10 // 100_000 for own in noise for seed in own).values())


def test_noise_is_uniform_and_always_the_same() -> None:
    picture = render(Noise(seed=7).scene())
    np.testing.assert_array_equal(picture, render(Noise(seed=7).scene()))
    cells = picture[1::3, 1::3]
    np.testing.assert_array_equal(picture, cells.repeat(3, 0).repeat(3, 1))
    assert cells.shape == (32, 32, 3)
    assert fits(Counter((cells // 16).ravel().tolist()).values())
    assert cells[0, 0].tolist() == [175, 240, 136], "on every machine, with every numpy"
    assert abs(network_frame(Noise(seed=7).scene()).astype(float).mean() - 127.5) < 4
    assert (picture != render(Noise(seed=8).scene())).mean() > 0.9
