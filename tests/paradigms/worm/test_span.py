"""Complex span (cs) and spatial task switching (sts): what is drawn, with which probabilities, what
the probes alone tell, what is shown for how long, labels, words."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, pairwise
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import fits, loaded, many, sampler, trials

from spanlab.core.errors import SpanLabError
from spanlab.paradigms import Trial, compile_trial, percept_bytes
from spanlab.paradigms.compile import drawn_values
from spanlab.paradigms.language.schema import DatasetDesign, SessionDesign
from spanlab.paradigms.network_view import labels_of
from spanlab.paradigms.paradigm import GENERATORS, Generator
from spanlab.paradigms.responses import Choice
from spanlab.paradigms.samplers.span import MOVEMENTS, direction_of
from spanlab.stimuli.kinds.arrays import Matrix, eight_corners
from spanlab.stimuli.scene import STEPS

SEEDS = st.integers(0, 2**32 - 1)
QUICK = settings(max_examples=40, deadline=None)

# items: movements ---------------------------------------------------------------------------------

#: The benchmark's movements, as it writes them, and where they go.
BENCHMARK = {
    "right": ("012", "345", "678"),
    "left": ("210", "543", "876"),
    "down": ("036", "147", "258"),
    "up": ("630", "741", "852"),
    "down_right": ("048",),
    "up_left": ("840",),
    "down_left": ("246",),
    "up_right": ("642",),
}


def test_movements_are_the_benchmarks() -> None:
    found = {"".join(map(str, movement)): direction_of(movement) for movement in MOVEMENTS}
    assert found == {digits: direction for direction, several in BENCHMARK.items() for digits in several}


@given(SEEDS, st.integers(1, 8), st.sampled_from(["spatial", "visual"]), st.booleans())
@QUICK
def test_items_are_what_they_are_said_to_be(seed: int, count: int, storage: str, balanced: bool) -> None:
    one = sampler("span_items", storage=storage, count=count, balanced=balanced)
    items = one.draw(np.random.RandomState(seed))
    one.check(items)
    assert len(items) == count
    for item in items:
        assert len(item["options"]) == 8
        right = item["options"][item["slot"]]
        if storage == "spatial":
            assert sorted(item["options"]) == sorted(STEPS)
            assert right == direction_of(item["memory"])
            continue
        assert right == item["memory"] == sorted(set(right))
        apart = [len(set(right) ^ set(other)) for n, other in enumerate(item["options"]) if n != item["slot"]]
        assert apart == [6] * 7
        assert all(len(set(option)) == 8 and set(option) <= set(range(16)) for option in item["options"])
    if balanced:
        kept = [item["options"][item["slot"]] for item in items]
        assert len(set(map(str, kept))) == count, "items differ, movements in their directions"


@pytest.mark.slow
def test_directions_are_balanced_as_corrected_and_axes_come_three_times_as_often_as_published() -> None:
    pairs = {
        generator: [
            tuple(direction_of(item["memory"]) for item in items)
            for items in many("cs", "items", generator, storage="spatial")
        ]
        for generator in GENERATORS
    }
    both = Counter(pairs["corrected"])
    assert len(both) == 8 * 7, "never the same twice"
    assert fits(both.values())
    shares = {direction: len(several) / 16 for direction, several in BENCHMARK.items()}
    both = Counter(pairs["published"])
    assert fits([both[a, b] for a in shares for b in shares], [shares[a] * shares[b] for a in shares for b in shares])
    assert sum(a == b for a, b in pairs["published"]) / 10_000 == pytest.approx(40 / 256, abs=0.015)


# items: patterns ----------------------------------------------------------------------------------


def test_given_items_that_are_none_are_refused() -> None:
    for storage, wrong, message in (
        ("visual", {"slot": 8}, "the slot is one of 0 to 7"),
        ("visual", {"memory": list(range(8))}, "which is not the pattern"),
        ("spatial", {"memory": [0, 1, 5]}, "expected a straight movement"),
        ("spatial", {"slot": None}, "the slot holds"),
    ):
        levels = {"storage": storage, "distractor_domain": "visual", "load": 0}
        draws = drawn_values(loaded("cs"), levels, 1)
        assert compile_trial(loaded("cs"), levels, 1, draws=draws).steps
        first = draws["items"][0]
        wrong = {"slot": (first["slot"] + 1) % 8} if wrong == {"slot": None} else wrong
        with pytest.raises(SpanLabError, match=message):
            compile_trial(loaded("cs"), levels, 1, draws={**draws, "items": [{**first, **wrong}, draws["items"][1]]})


# decisions ----------------------------------------------------------------------------------------


def test_given_decisions_that_are_wrong_are_refused() -> None:
    for domain, wrong, message in (
        ("visual", {"colour": "#00ff00"}, "not a shade of 'red'|not a shade of 'blue'"),
        ("spatial", {}, "mirror"),
    ):
        levels = {"storage": "spatial", "distractor_domain": domain, "load": 1}
        draws = drawn_values(loaded("cs"), levels, 1)
        first, second = draws["distractors"]
        other = {"symmetric": "asymmetric", "asymmetric": "symmetric"}.get(first["answer"], first["answer"])
        with pytest.raises(SpanLabError, match=message):
            compile_trial(
                loaded("cs"), levels, 1, draws={**draws, "distractors": [{**first, "answer": other, **wrong}, second]}
            )


# complex span, whole trials -----------------------------------------------------------------------

#: steps of a network with a decision (from 0), by load
DECISIONS = {0: [], 1: [5, 13], 3: [3, 5, 7, 11, 13, 15], 5: [*range(3, 8), *range(11, 16)]}


def seen_by_machines(trial: Trial) -> list[Any]:
    return [step for step in trial.steps if step.percept.model_step]


@pytest.mark.parametrize("generator", GENERATORS)
def test_complex_span_has_eighteen_steps_and_these_labels(generator: Generator) -> None:
    view = loaded("cs").network_view({})
    assert view is not None
    assert (view.task, view.head, view.filler, view.silent) == ("cs", 21, 20, 20)
    for trial in trials("cs", generator, 4):
        steps = seen_by_machines(trial)
        labels = labels_of(trial, view)
        assert len(steps) == len(labels.targets) == 18
        assert labels.trained == (True,) * 18
        load, visual = trial.levels["load"], trial.levels["distractor_domain"] == "visual"
        assert [n for n, step in enumerate(steps) if step.percept.phase == "distractor"] == DECISIONS[load]
        for n, (step, target) in enumerate(zip(steps, labels.targets, strict=True)):
            answer = step.truth.answer
            if n in DECISIONS[load]:
                assert target == (
                    ["red", "blue"].index(answer) if visual else 2 + ["asymmetric", "symmetric"].index(answer)
                )
                assert step.truth.chance == step.truth.blind == 0.5
            elif n >= 16:
                assert step.percept.phase == "probe"
                assert target == answer + (4 if trial.levels["storage"] == "spatial" else 12)
                assert step.truth.record["serial_position"] == n - 15
                assert step.truth.chance == step.truth.blind == 1 / 8
            else:
                assert (target, answer) == (20, None)
                assert step.percept.phase == ("present" if n in (0, 1, 2, 8, 9, 10) else "gap")
        assert (trial.set_size, trial.list_length) == (2, 2)


def test_gaps_are_equally_long_and_their_decisions_take_the_share_that_is_recorded() -> None:
    for trial in trials("cs", "corrected"):
        durations: dict[int, list[tuple[str, float]]] = {0: [], 1: []}
        gap = -1
        for before, step in pairwise(trial.steps):
            gap += step.percept.phase == "present" and before.percept.phase != "present"
            if step.percept.phase in ("gap", "distractor", "interval"):
                durations[gap].append((step.percept.phase, cast(float, step.percept.displays[0].ms)))
        for parts in durations.values():
            assert sum(ms for _, ms in parts) == 9500
            busy = sum(ms for phase, ms in parts if phase == "distractor")
            assert busy == 1700 * trial.levels["load"]
            assert sum(phase == "interval" for phase, _ in parts) == (4 if trial.levels["load"] == 5 else 0)
            for step in trial.steps:
                if step.percept.ask is not None:
                    assert step.truth.record["cognitive_load"] == pytest.approx(busy / 9500)
        assert [step.percept.displays[0].ms for step in trial.steps if step.percept.phase == "present"] == [500] * 6
        for step in trial.steps:
            if step.percept.phase == "distractor":
                ask = step.percept.ask
                assert ask is not None
                assert (ask.ends, ask.window_ms) == ("on_time", 1700)
            if step.percept.phase == "probe":
                assert step.percept.displays[0].ms is None
            assert ("serial_position" in step.truth.record) == (step.percept.phase == "probe"), (
                "probes have one, distractors have none"
            )


def test_published_figures_show_a_cell_once_that_was_drawn_twice() -> None:
    levels = {"storage": "visual", "distractor_domain": "spatial", "load": 5}
    for seed in range(5):
        drawn = drawn_values(loaded("cs"), levels, seed, "published")["distractors"]
        trial = compile_trial(loaded("cs"), levels, seed, "published")
        shown = [
            cast(Matrix, step.percept.displays[0].stimulus).filled
            for step in trial.steps
            if step.percept.phase == "distractor"
        ]
        assert shown == [tuple(sorted(set(decision["cells"]))) for decision in drawn]


def test_a_click_on_a_pattern_or_an_arrow_chooses_it() -> None:
    choice = next(
        step.percept.ask.kind
        for step in trials("cs", "corrected")[0].steps
        if step.percept.phase == "probe" and step.percept.ask is not None
    )
    assert isinstance(choice, Choice)
    regions = choice.surface().regions
    assert [region.value for region in regions] == list(range(8))
    for (x, y), region in zip(eight_corners(), regions, strict=True):
        assert region.x0 <= x < x + 25 <= region.x1
        assert region.y0 <= y < y + 25 <= region.y1
    assert all(a.x1 <= b.x0 or b.x1 <= a.x0 or a.y1 <= b.y0 or b.y1 <= a.y0 for a, b in combinations(regions, 2))
    assert [key for key, _ in choice.surface().keys] == list("12345678")


def test_layouts_of_rows() -> None:
    rows = Choice.model_validate({"options": 5, "layout": "2+3", "within": [0, 0, 60, 20]}).surface().regions
    assert [(region.x0, region.x1, region.y0) for region in rows] == [
        (10, 30, 0),
        (30, 50, 0),
        (0, 20, 10),
        (20, 40, 10),
        (40, 60, 10),
    ]
    for wrong in ("3+1", "3+0+2", "+3", "3+", "3+-1", "0x9", "3x"):
        with pytest.raises(ValueError, match="layout must be columns x rows with room for 5 options"):
            Choice.model_validate({"options": 5, "layout": wrong})


@pytest.mark.parametrize("name", ["cs", "sts"])
def test_designs_are_those_of_the_papers_and_short_enough_for_people(name: str) -> None:
    human, data = loaded(name).designs["human"], loaded(name).designs["published"]
    assert isinstance(data, DatasetDesign)
    assert (data.train, data.validation, data.test) == (86_400, 9_600, 9_600)
    assert name == "cs" or data.factors == {"switch_probability": [0.2]}
    assert isinstance(human, SessionDesign)
    seconds = 0.0
    for levels in loaded(name).combinations():
        steps = compile_trial(loaded(name), levels, 1).steps
        # three seconds for whatever is self-paced, one for a quick decision, one between trials
        times = [
            3.0 if display.ms is None else 1.0 if step.percept.phase == "probe" else display.ms / 1000
            for step in steps
            for display in step.percept.displays
        ]
        seconds += human.repetitions * human.blocks * (1 + sum(times))
    assert seconds < 40 * 60


# task switching -----------------------------------------------------------------------------------


def test_both_generators_draw_the_same_sequences_and_blocks_without_switches_have_one_cue() -> None:
    for levels in loaded("sts").combinations():
        for seed in range(10):
            one, other = (compile_trial(loaded("sts"), levels, seed, generator) for generator in GENERATORS)
            assert [percept_bytes(step.percept) for step in one.steps] == [
                percept_bytes(step.percept) for step in other.steps
            ]
            cues = [step for step in one.steps if step.percept.phase == "switch"]
            assert len(cues) == 1 or levels["switch_probability"] == 0.2
            assert len(seen_by_machines(one)) == 20


@pytest.mark.parametrize(
    ("place", "wrong", "message"),
    [
        (1, {"answer": 2}, "entry 2: the answer to a marker"),
        (1, {"marker": 4}, "entry 2: the answer to a marker"),
        (1, {"marker": None}, "entry 2: the answer to a marker"),
        (0, {"marker": 1}, "entry 1: the answer to a marker"),
        (0, {"cue": False, "marker": 0, "answer": 0}, "begin with a cue"),
        (19, {"cue": True, "task": "up_down"}, "a probe follows each"),
        (1, {"cue": True, "task": "up_down"}, "a probe follows each"),
        (1, {"task": "diagonal"}, "tasks are up_down and left_right"),
    ],
)
def test_given_sequences_that_are_none_are_refused(place: int, wrong: dict[str, Any], message: str) -> None:
    levels = {"switch_probability": 0}
    sequence = drawn_values(loaded("sts"), levels, 1)["sequence"]
    assert compile_trial(loaded("sts"), levels, 1, draws={"sequence": sequence}).steps
    with pytest.raises(SpanLabError, match=message):
        compile_trial(
            loaded("sts"),
            levels,
            1,
            draws={"sequence": [{**entry, **wrong} if n == place else entry for n, entry in enumerate(sequence)]},
        )


def test_switching_times_labels_and_records() -> None:
    view = loaded("sts").network_view({})
    assert view is not None
    assert (view.task, view.head, view.filler, view.silent) == ("sts", 3, 2, 2)
    met: Counter[tuple[str, str]] = Counter()
    for trial in trials("sts", "corrected", 20):
        labels = labels_of(trial, view)
        assert labels.trained == (True,) * 20
        steps = seen_by_machines(trial)
        assert [target == 2 for target in labels.targets] == [step.percept.phase == "switch" for step in steps]
        assert [target for target in labels.targets if target != 2] == [
            ("top/left", "bottom/right").index(cast(str, step.truth.answer)) for step in steps if step.percept.ask
        ]
        waited, task, before = 0.0, "", ""
        for step in trial.steps:
            phase, (display,) = step.percept.phase, step.percept.displays
            if phase == "probe":
                assert (display.ms, waited) == (1500, 703), "as much time to get ready with a cue as without one"
                assert step.percept.ask is not None
                assert (step.percept.ask.ends, step.percept.ask.window_ms) == ("on_answer", 1500)
                marker = cast(Any, display.stimulus).marker
                told = {"up_down": marker // 2, "left_right": marker % 2}
                assert step.truth.answer == ("top/left", "bottom/right")[told[task]]
                transition = "start" if not before else "repeat" if before == task else "switch"
                wanted = {"task": task, "transition": transition, "congruent": told["up_down"] == told["left_right"]}
                assert step.truth.record == wanted
                assert step.truth.chance == step.truth.blind == 0.5
                met[str(trial.levels["switch_probability"]), transition] += 1
                waited, before = 0.0, task
                continue
            waited += cast(float, display.ms)
            assert step.percept.model_step == (phase == "switch")
            if phase == "switch":
                assert display.ms == 203
                task = cast(Any, display.stimulus).cue
    assert set(met) == {("0.2", "start"), ("0.2", "repeat"), ("0.2", "switch"), ("0", "start"), ("0", "repeat")}
