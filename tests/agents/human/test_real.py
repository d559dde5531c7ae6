"""Answers as people give them, in the real window: every sort of question of every paradigm,
deadlines, fingers, the signal to begin recall."""

from __future__ import annotations

import shutil
import sys
from typing import Any

import pytest
from processes import bench

from spanlab.paradigms import AnswerKeys, compile_trial, list_paradigms, load_paradigm, plan_session
from spanlab.paradigms.language.schema import SessionDesign

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Xvfb")
FRAME = 1000 / 60
#: cells, and places with two words between them; all others take longer
QUICK = ("sfr", "smu", "cd")


@pytest.fixture(scope="module")
def scenes() -> dict[str, Any]:
    return bench(
        "lab/answers_bench",
        "signal",
        "acknowledged",
        "taps",
        "buttons",
        f"answered:keys,mouse:1:2:{','.join(QUICK)}",
        "boxes",
    )


def answered_as_meant(facts: list[dict[str, Any]], names: tuple[str, ...]) -> None:
    assert {fact["paradigm"] for fact in facts} == set(names)
    for fact in facts:
        response = fact["response"]
        assert response["outcome"] == "answered", fact
        assert response["value"] == fact["told"], fact
        for press in response["raw"]["presses"]:
            if (
                press["does"] == "answer" and "value" in press and "key" in press and fact["keys"]
            ):  # a dial has no key for each value
                assert fact["keys"][press["key"]] == press["value"]
        devices = {"keys": "key", "mouse": "click"}
        if fact["by"] == "mouse" and fact["paradigm"] in ("sfr", "vsr", "smu", "lsr", "lsr_long"):
            assert all(devices["mouse"] in press for press in response["raw"]["presses"])
        if fact["by"] == "keys" and fact["keys"]:
            assert all(devices["keys"] in press for press in response["raw"]["presses"])


def test_every_way_of_answering_works_with_real_keys_and_real_clicks(scenes: dict[str, Any]) -> None:
    answered_as_meant(scenes["answered"], QUICK)


@pytest.mark.slow
@pytest.mark.soaked(10)
@pytest.mark.parametrize("name", list_paradigms())
def test_every_question_of_every_paradigm_takes_every_answer(name: str) -> None:
    facts = bench("lab/answers_bench", f"answered:keys,mouse:3:16:{name}")["answered"]
    answered_as_meant(facts, (name,))
    swapped = [fact for fact in facts if fact["swapped"]]
    paradigm = load_paradigm(name)
    kinds = plan_session(paradigm, 1, design=SessionDesign(), trials=1)[0].compile(paradigm, "corrected").kinds
    assert bool(swapped) == any(kind.with_keys(AnswerKeys(swapped=True)) != kind for kind in kinds)


@pytest.mark.slow  # in real time; on a virtual clock in test_clock.py
def test_deadlines_of_the_speeded_paradigms() -> None:
    facts = bench("lab/answers_bench", "deadlines")["deadlines"]
    for name, window in (("sts", 1500), ("cd", 2000)):
        after = facts[f"{name} after"]
        assert (after[0]["response"]["outcome"], after[0]["response"]["raw"]["presses"]) == ("omitted", [])
        assert abs(after[0]["shown"][0]["shown_ms"] - window) < (2.5 + after[0]["shown"][0]["dropped_frames"]) * FRAME
        # The press that came too late is on record, and neither ends nor answers what came next.
        assert after[-1]["response"]["value"] == {"sts": "bottom/right", "cd": "different"}[name]
        assert after[-1]["response"]["rt_ms"] > 250
    assert [step["response"]["outcome"] for step in facts["sts before"][::2]] == ["answered", "answered"]
    assert 1430 < facts["sts before"][0]["response"]["rt_ms"] < 1500
    assert [press["does"] for press in facts["sts after"][1]["notes"]["presses"]] == ["nothing"]
    (late,) = facts["cd after"][-1]["notes"]["before_trial"]  # it fell into the interval between two trials
    assert late["key"] == "f"
    assert late["rt_ms"] < 0


def test_an_answer_is_acknowledged_on_top_of_what_is_shown(scenes: dict[str, Any]) -> None:
    before, after = scenes["acknowledged"]
    assert before > 5000
    assert after > 0.8 * before


def test_a_finger_counts_where_it_comes_down(scenes: dict[str, Any]) -> None:
    assert [fact["response"]["value"] for fact in scenes["taps"]] == [*range(9), [37, 92]]


def test_button_boxes_answer_like_keys(scenes: dict[str, Any]) -> None:
    """One that types, one on a (pseudo) serial line, one of PsychoPy's device layer (a stand-in)."""
    found = scenes["boxes"]
    for box in ("keys", "serial"):
        assert [one["value"] for one in found[box]] == ["same", "different", None]
        assert found[box][2]["raw"]["presses"][0]["key"] == "button_2"  # stands for nothing, and is on record
        assert all(
            one["rt_ms"] > 195 for one in found[box][:2]
        )  # pressed 200 ms after the onset, or later on a busy computer
        assert found[f"{box} facts"]["timed_by"]


@pytest.mark.slow
def test_button_boxes_answer_in_time(scenes: dict[str, Any]) -> None:
    assert all(195 < given["rt_ms"] < 300 for box in ("keys", "serial") for given in scenes["boxes"][box][:2])


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("setxkbmap") is None, reason="needs setxkbmap")
@pytest.mark.parametrize("layout", ["us", "de", "fr"])
def test_keys_are_what_is_printed_on_them(layout: str) -> None:
    found = bench("lab/answers_bench", f"layouts:{layout}")["layouts"]
    minus = (
        None if layout == "fr" else "-"
    )  # there it lies on the key of the 6, which counts as the digit; the number pad has one
    assert found["answers"] == ["m", minus, "-", *range(9), 0, "A", "Y", "Z", "W"]
    assert found["names"] == f"by sign ({layout})"


@pytest.mark.parametrize(
    ("name", "mm"), [("sfr", 9), ("vsr", 9), ("lsr", 9), ("cs", 9), ("smu", 5)]
)  # smu: the grids are that small in the benchmark
def test_targets_are_large_enough_for_a_finger(name: str, mm: float) -> None:
    """At the size of 10 degrees seen from 57 cm, one canvas unit is about 1 mm."""
    paradigm = load_paradigm(name)
    for levels in paradigm.combinations()[:40]:
        for step in compile_trial(paradigm, levels, seed=1).steps:
            for region in step.percept.ask.kind.surface().regions if step.percept.ask is not None else ():
                assert min(region.x1 - region.x0, region.y1 - region.y0) * 100 / 96 >= mm


def test_without_a_sound_device_the_signal_is_seen_and_the_record_says_so(scenes: dict[str, Any]) -> None:
    found = scenes["signal"]
    (step,) = found["steps"]
    if found["apparatus"]["tones"] == "ring":
        assert step["notes"]["tone"] == "ring"
        assert found["black"] > 100
        assert any("black ring" in sentence for sentence in found["apparatus"]["said"])
    else:
        assert step["notes"]["tone"].startswith("sound")
    assert step["shown"][0]["planned_frames"] == 12
