"""Open questions: typed at the window, written by chat models, in the record word for word, and
shared only where that is asked for."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from command_line import Run, output_of
from session_tools import AtTheWindow, ended_well, take

import spanlab
from spanlab.agents.base import Response
from spanlab.agents.human.input.answering import AnswerSheet, Press, Writing
from spanlab.paradigms import Percept
from spanlab.paradigms.responses.text import OpenText

DEBRIEFING = """
paradigm: debriefing
version: 1
title: Afterwards
timeline:
  - phase: agree
    show: {blank: {}}
    ask: {rating: {to: 5}, prompt: {en: "Was it hard?", de: "War es schwer?"}}
  - phase: strategy
    show: {blank: {}}
    ask: {open_text: {most: 300, more: äöüß}, prompt: {en: "How did you remember the items?", de: "Wie haben Sie sich die Dinge gemerkt?"}}
instructions: {en: Please answer., de: Bitte antworten Sie.}
designs: {human: {repetitions: 1}}
"""  # noqa: E501
BENCH = Path(__file__).parents[1] / "helpers" / "writing_bench.py"
SAID = "I said them aloud (with anna) - why? It helped 3 times!"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    (path := tmp_path_factory.mktemp("paradigm") / "debriefing.yaml").write_text(DEBRIEFING, encoding="utf-8")
    return path


def _answers(percept: Percept, number: int) -> Response:
    assert percept.ask is not None
    return Response(4 if percept.ask.kind.name == "rating" else SAID, 500.0)


def test_what_is_typed_is_in_the_record_word_for_word_and_nothing_is_scored(file: Path, tmp_path: Path) -> None:
    session = take(tmp_path, spanlab.load_paradigm(file), AtTheWindow(_answers), 1, participant="p01")
    rows = pd.read_parquet(session.folder / "responses.parquet")
    (row,) = rows[rows["phase"] == "strategy"].to_dict("records")
    assert row["answer"].strip('"') == SAID
    assert row["correct"] is None or row["correct"] != row["correct"]


def _strategy(file: Path) -> AnswerSheet:
    (ask,) = [
        step.percept.ask
        for step in spanlab.compile_trial(spanlab.load_paradigm(file), {}, 1).steps
        if step.percept.phase == "strategy"
    ]
    assert ask is not None
    return AnswerSheet(ask, 0.0)


def test_keys_write_and_buttons_end_the_answer(file: Path) -> None:
    sheet = _strategy(file)
    done, nothing = Press("click", 0.1, button="done"), Press("click", 0.1, button="unknown")
    assert sheet.take(done) == "not yet", "nothing is written yet"
    sheet.writing = Writing("  Über uns – 2-back (hard)?\r\nWhy!\u2028 ")
    assert {sheet.take(Press("key", 0.2, key=key)) for key in ("minus", "return", "backspace", "a", "2")} == {"writes"}
    assert sheet.take(done) == "answer"
    assert sheet.answer() == "Über uns – 2-back (hard)?\nWhy!"
    assert sheet.presses[-1] == {"click": [0.0, 0.0], "on": "done", "rt_ms": 100.0, "does": "answer"}
    assert len(sheet.presses) == 2, "the text is on record, its keys are not"
    silent = _strategy(file)
    assert silent.take(nothing) == "answer"
    assert silent.answer() == "?"
    keyed = _strategy(file)
    keyed.writing = Writing("by hand")
    taken = [keyed.take(Press("key", 1.0, key=key)) for key in ("tab", "tab", "tab", "tab", "return")]
    assert taken == ["turn", "turn", "turn", "turn", "answer"], "Tab leads to Done, No answer, the text, and Done"
    assert keyed.answer() == "by hand"


@pytest.mark.parametrize("text", ["日本語", "שלום", "हिन्दी\u200d", "a\u00a0b", "😀", "x" * 300])
def test_any_script_is_an_answer(file: Path, text: str) -> None:
    sheet = _strategy(file)
    sheet.writing = Writing(text)
    assert sheet.take(Press("click", 0.1, button="done")) == "answer"
    assert sheet.answer() == text


def test_a_chat_model_answers_in_its_own_words() -> None:
    kind = OpenText.model_validate({"most": 60})
    assert (
        kind.parse("  I grouped them:\n- first the F,\n- then the rest.  ")
        == "I grouped them:\n- first the F,\n- then the rest."
    )
    assert kind.parse("") is None
    assert kind.parse("x" * 61) is None
    assert kind.parse("?") == "?"


def test_open_answers_are_shared_only_where_it_is_asked_for(file: Path, tmp_path: Path, run: Run) -> None:
    take(tmp_path / "data", spanlab.load_paradigm(file), AtTheWindow(_answers), 1, participant="p01")
    for options, shared in (((), False), (("--free-text",), True)):
        out = tmp_path / f"shared{len(options)}"
        output_of(*run("export", "csv", tmp_path / "data", out, *options))
        assert ("anna" in (out / "responses.csv").read_text(encoding="utf-8")) is shared
        output_of(*run("export", "psych101", tmp_path / "data", f"{out}.jsonl", *options))
        assert ("anna" in Path(f"{out}.jsonl").read_text(encoding="utf-8")) is shared


def test_machines_without_words_are_refused_and_oracles_answer(file: Path, tmp_path: Path) -> None:
    result = spanlab.replay(str(file), agent="ideal", trials=1, data=tmp_path, say=lambda text: None)
    assert (result.responses["outcome"] == "answered").all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "by"),
    [
        ('I said the letters aloud! It was a 2-back (hard). Why? *a* **b** "c": ~', "keys"),
        ("two\nlines - and = more", "mouse"),
        ("?", "keys"),
    ],
)
def test_what_is_typed_at_the_window_is_recorded_to_the_character(tmp_path: Path, text: str, by: str) -> None:
    pytest.importorskip("psychopy", reason="needs the extra 'lab': pip install 'spanlab[lab]'")
    done = ended_well(
        subprocess.run(
            [sys.executable, str(BENCH), str(tmp_path), text, by], capture_output=True, text=True, timeout=300
        )
    )
    step = json.loads(done)
    assert (step["outcome"], step["value"]) == ("answered", text)
    keys = {press.get("key") for press in step["raw"]["presses"]}
    assert keys <= {None, "tab", "return"}, "the text is on record, its keys are not"
