"""Whatever paradigm the language can say, sessions take it from the first trial to the table:
random paradigms, valid by construction."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spanlab.agents.registry import make_agent
from spanlab.paradigms import Paradigm, Trial, compile_trial, fingerprint, load_paradigm, plan_session
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.paradigms.preview.sheet import trial_picture
from spanlab.sessions import Request, Runner, begin, read_responses
from spanlab.sessions.replaying import recorded_agent

WORDS = st.sampled_from(["m", "-", "yes", "no", "1", "2", "left arrow", "é", "A"])
ANYTHING = st.one_of(
    st.integers(-3, 9), st.sampled_from(["x", "y z", "", True, False, None, 0.5, "é", "a,b", '"q"', "\n"])
)
WHOLE = ["serial_position", "output_position", "retention_steps", "set_size", "list_length"]
SHOWN = st.sampled_from(
    [
        {"blank": {}},
        {"blank": "white"},
        {"fixation": {}},
        {"tone": {}},
        {"matrix": {"grid": 3, "filled": [0, 4]}},
        {"letter": "B"},
        {"text": "Hé"},
        {"squares": {"grid": 4, "green": [1], "red": "=[2]"}},
        {"boxes": {"count": 3, "markers": [0, None, 4]}},
        {"dot": {"cell": 3}},
        {"colour_field": "red"},
        {"switch_boxes": {"marker": 1}},
        {"pattern_array": {"grid": 2, "cells": [[0], None, [1, 2], *[None] * 6]}},
    ]
)
FEEDBACK = {
    "phase": "feedback",
    "feedback": {"right": {"text": "right", "ms": 50}, "wrong": {"text": "wrong", "ms": 50}},
}


@st.composite
def questions(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["positions", "grid", "words", "cells"]))
    if kind == "positions":
        count = draw(st.integers(2, 12))
        ask: dict[str, Any] = {"choice": {"options": count}, "answer": draw(st.integers(0, count - 1))}
    elif kind == "grid":
        columns, rows = draw(st.integers(2, 4)), draw(st.integers(1, 4))
        ask = {
            "choice": {"options": columns * rows, "layout": f"{columns}x{rows}"},
            "answer": draw(st.integers(0, columns * rows - 1)),
        }
    elif kind == "words":
        words = draw(st.lists(WORDS, min_size=2, max_size=4, unique=True))
        ask = {"choice": {"options": words}, "answer": draw(st.sampled_from(words))}
    else:
        grid = draw(st.integers(2, 5))
        take = draw(st.integers(1, grid**2))
        ask = {"cells": {"grid": grid, "take": take}, "answer": draw(st.permutations(range(grid**2)))[:take]}
    settled = {
        "window_ms": [100, "none", 500.5, "=100 * 3"],
        "counts": ["first", "last"],
        "late": ["record", "ignore"],
        "chance": [0, 1, 0.3],
    }
    for key in draw(st.lists(st.sampled_from(sorted(settled)), unique=True)):
        ask[key] = draw(st.sampled_from(settled[key]))
    return {**ask, "no_answer_means": ask["answer"]} if draw(st.booleans()) else ask


@st.composite
def steps(draw: st.DrawFn, asks: bool) -> dict[str, Any]:
    shown = [
        {**one, "ms": draw(st.sampled_from([100, 16.7, {"uniform": [5, 50]}, "=50 + 1"]))}
        for one in draw(st.lists(SHOWN, min_size=1, max_size=3))
    ]
    timed = draw(st.booleans())
    if not timed:
        del shown[-1]["ms"]
    step: dict[str, Any] = {"phase": draw(st.sampled_from(["present", "probe", "p_1", "größe"])), "show": shown}
    if asks:
        step["ask"] = {**draw(questions()), **({"ends": "on_time"} if timed else {})}
    elif draw(st.integers(0, 3)) == 0:
        step["model_steps"] = 0
    names = draw(
        st.lists(st.sampled_from(["x", "note", "session", "trial", "chance", *WHOLE]), max_size=3, unique=True)
    )
    step["record"] = {
        name: draw(st.one_of(st.integers(1, 5), st.none()) if name in WHOLE else ANYTHING) for name in names
    }
    return step


@st.composite
def items(draw: st.DrawFn, depth: int = 0) -> list[dict[str, Any]]:
    kind = draw(st.sampled_from(["show", "ask", "feedback", *(["for", "repeat", "when"] if depth < 2 else [])]))
    if kind in ("show", "ask", "feedback"):
        return [draw(steps(kind != "show")), *([FEEDBACK] if kind == "feedback" else [])]
    inner = [one for _ in range(draw(st.integers(1, 2))) for one in draw(items(depth + 1))]
    if kind == "for":
        return [{"for": f"v{depth} in range({draw(st.integers(0, 3))})", "do": inner}]
    if kind == "repeat":
        return [{"repeat": draw(st.integers(0, 3)), "do": inner}]
    return [
        {
            "when": draw(st.sampled_from(["=a == 1", True, False, "=generator == 'published'"])),
            "do": inner,
            "else": draw(items(depth + 1)),
        }
    ]


@st.composite
def paradigms(draw: st.DrawFn) -> str:
    factors = {"a": draw(st.sampled_from([[1, 2], [1], ["x", "y"], [0.5, True], {"random": [1, 2, 3]}]))}
    for name in draw(
        st.lists(
            st.sampled_from(["list_length", "set_size", "retention_steps", "session", "größe"]), max_size=2, unique=True
        )
    ):
        levels = (
            [[1, 2], [3], {"random": [1, 4]}]
            if name in WHOLE
            else [["x", "y"], [1.5], [True, False], {"random": ["p", "q"]}]
        )
        factors[name] = draw(st.sampled_from(levels))
    timeline = [one for _ in range(draw(st.integers(1, 3))) for one in draw(items())]
    content = {
        "paradigm": "made",
        "version": draw(st.integers(1, 10**6)),
        "title": "Made é",
        "factors": factors,
        "timeline": [*timeline, draw(steps(asks=True))],
        "instructions": {"en": "Do it."},
        "set_size": draw(st.sampled_from([3, "=1 + 1", 0, -1, None])),
    }
    return yaml.safe_dump(content, allow_unicode=True, sort_keys=False)


def check_percepts(trial: Trial) -> None:
    """Everything that is said of a step can be said, and a written answer is read back."""
    assert fingerprint(trial)
    for step in trial.steps:
        for display in step.percept.displays:
            assert display.stimulus.words()
            display.stimulus.scene()
        if step.percept.ask is not None and step.truth.answer is not None:
            kind = step.percept.ask.kind
            assert kind.question()
            assert kind.legend("words")
            kind.legend("participant")
            kind.surface()
            read = kind.parse(kind.write(step.truth.answer))
            assert read == step.truth.answer or (isinstance(read, tuple) and set(read) == set(step.truth.answer))  # type: ignore[arg-type]


def take(folder: Path, paradigm: Paradigm, agent: Any) -> Path:
    session = begin(folder, paradigm, agent, plan_session(paradigm, 1, SessionDesign(), trials=3), Request(seed=1))
    Runner(session, agent).run()
    return session.folder


def check(folder: Path, content: str) -> None:
    shutil.rmtree(folder / "data", ignore_errors=True)
    (folder / "made.yaml").write_text(content, encoding="utf-8")
    paradigm = load_paradigm(folder / "made.yaml")
    trials = [
        compile_trial(paradigm, planned.levels, planned.seed)
        for planned in plan_session(paradigm, 1, SessionDesign(), trials=3)
    ]
    for trial in trials:
        check_percepts(trial)
    trial_picture(trials[0], paradigm)
    chance, ideal, capacity = (
        take(folder / "data", paradigm, make_agent(name, 1)) for name in ("chance", "ideal", "capacity:2")
    )
    assert read_responses(ideal)["correct"].all()
    again = take(folder / "data", paradigm, recorded_agent(f"recorded:{chance}"))
    assert list(read_responses(again)["answer"]) == list(read_responses(chance)["answer"])
    assert len(read_responses([chance, ideal, capacity, again])) >= 4 * 3


@pytest.mark.slow
@given(content=paradigms())
@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_any_paradigm_can_be_taken(tmp_path: Path, content: str) -> None:
    check(tmp_path, content)


@pytest.mark.slow
@pytest.mark.parametrize("many", [60, pytest.param(600, marks=pytest.mark.soak)])
def test_many_paradigms_can_be_taken(tmp_path: Path, many: int) -> None:
    settings(max_examples=many, deadline=None, suppress_health_check=[HealthCheck.too_slow])(
        given(paradigms())(lambda content: check(tmp_path, content))
    )()
