"""How long a session takes: times of the file, counted by hand, and assumed ones, which are
declared."""

from __future__ import annotations

from pathlib import Path

import pytest
from paradigm_texts import load, text

from spanlab.paradigms import load_paradigm, plan_session
from spanlab.paradigms.design import session_design
from spanlab.paradigms.duration import ASSUMED, design_duration, duration_of, trial_duration
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.paradigms.responses.base import RESPONSES

TIMELINE = """
- {phase: fixation, model_steps: 0, show: {fixation: {}, ms: 500}}
- {phase: ready, show: {blank: {}}}
- {phase: flash, show: [{letter: A, ms: 100}, {blank: {}, ms: 900}], ask: {choice: {options: [x, z]}, answer: x, ends: on_time}}
- {phase: quick, show: {blank: {}, ms: 2500}, ask: {choice: {options: [x, z]}, answer: x}}
- {phase: probe, show: {blank: {}}, ask: {choice: {options: 9}, answer: 0}}
- {phase: places, show: {blank: {}}, ask: {sequence: {options: 9, take: 3, layout: 3x3}, answer: "=[1, 2, 3]"}}
- {phase: feedback, feedback: {right: {text: y, ms: 300}, wrong: {text: n, ms: 500}, missed: {text: n, ms: 400}}}
"""  # noqa: E501


def test_times_of_the_file_are_counted_and_others_assumed(tmp_path: Path) -> None:
    paradigm = load(
        tmp_path, text(TIMELINE, more="practice: {trials: 4}\ndesigns: {human: {repetitions: 10, interval: 1500}}")
    )
    plan = plan_session(paradigm, 1, SessionDesign(repetitions=1))
    one = trial_duration(plan[0].compile(paradigm, "corrected"))
    answers = ASSUMED["choice"][0] + ASSUMED["sequence"][0] + 3 * ASSUMED["sequence"][1]
    assert one.given_s == pytest.approx(0.5 + 1.0 + 2.5 + 0.4)
    assert one.assumed_s == pytest.approx(2.0 + answers)
    assert (one.trials, one.answers, one.steps, one.windows) == (1, 2, 1, 1)
    session, practice = design_duration(paradigm)
    assert session.trials == 10
    assert session.seconds == pytest.approx(10 * (one.seconds + 1.5))
    assert practice.seconds == pytest.approx(4 * (one.seconds + 1.0))
    assert (
        session.grounds
        == "59 s of displays, windows and intervals; 20 self-paced answers, assumed to take 3.8 s each on average; 10"
        " self-paced steps, assumed to take 2 s each; 10 answers can end their window sooner"
    )


def test_every_kind_of_answer_has_an_assumed_time() -> None:
    assert set(ASSUMED) == set(RESPONSES)


def test_every_condition_counts_as_often_as_it_comes() -> None:
    vsr = load_paradigm("vsr")
    plan = plan_session(vsr, 1, session_design(vsr).unchosen, {"list_length": [2, 9]}, trials=10)
    lengths = [planned.levels["list_length"] for planned in plan]
    found = duration_of(vsr, plan)
    assert found.given_s == pytest.approx(sum(lengths) * 1.55 + sum(planned.interval_ms for planned in plan) / 1000)
    assert found.answers == sum(lengths)
    assert found.assumed_s == pytest.approx(2.0 * sum(lengths))
