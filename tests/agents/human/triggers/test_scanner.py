"""Trials that begin with the pulses of a scanner."""

from __future__ import annotations

import statistics
import sys
from pathlib import Path
from typing import Any

import pytest
from processes import bench

from spanlab.agents.human.input.answering import Press
from spanlab.agents.human.input.buttons import open_box, read_pulse
from spanlab.api.studies import check_study
from spanlab.core.errors import ParadigmError, SpanLabError
from spanlab.sessions.participant_flow import volumes
from spanlab.sessions.studies.study import load_study

STUDY = (
    "study: scan\ntitle: Scan\nparadigms:\n  - {paradigm: PARADIGM, practice: false}\nstart: {pulse: 'PULSE', at: 4}\n"
)
TEXT = """
paradigm: remarks
version: 1
title: Remarks
questionnaire: true
timeline: [{phase: remark, show: {blank: {}}, ask: {open_text: {most: 80}, prompt: {en: Anything to say?}}}]
instructions: {en: One question.}
designs: {human: {repetitions: 1}}
"""


def study_in(folder: Path, paradigm: str, pulse: str = "5") -> Path:
    (folder / "remarks.yaml").write_text(TEXT, encoding="utf-8")
    (file := folder / "scan.yaml").write_text(
        STUDY.replace("PARADIGM", paradigm).replace("PULSE", pulse), encoding="utf-8"
    )
    return file


def test_pulses_are_no_buttons() -> None:
    assert read_pulse("5").typed == {"5": "pulse"}
    assert read_pulse("serial:COM3@9600,presses=5").names(b"5") == {53: "pulse"}
    box = open_box(read_pulse("5"), lambda: 0.0)
    assert [press.key for press in box.with_buttons([Press("key", 0.0, key=key) for key in "45"])] == ["4", "pulse"]


def test_what_sends_pulses_is_read_with_the_study(tmp_path: Path) -> None:
    start = load_study(study_in(tmp_path, "cd")).start
    assert start is not None
    assert (start.pulse, start.at, start.each_trial) == ("5", 4, False)
    with pytest.raises(ParadigmError, match="unknown button box"):
        load_study(study_in(tmp_path, "cd", "the scanner"))


@pytest.mark.parametrize(
    ("paradigm", "told"), [("digit_span", "gives the answer '5'"), ("remarks.yaml", "is written in an open question")]
)
def test_a_pulse_that_would_be_an_answer_is_refused(tmp_path: Path, paradigm: str, told: str) -> None:
    file = study_in(tmp_path, paradigm)
    with pytest.raises(SpanLabError, match=told):
        check_study(file)
    file.write_text(file.read_text().replace("practice: false", "practice: false, scanned: false"), encoding="utf-8")
    check_study(file)
    check_study(study_in(tmp_path, paradigm, "serial:COM3,presses=5"))  # no keyboard types it


@pytest.mark.parametrize(("missing", "lost"), [((), 0), ((3,), 1), ((3, 4, 8), 3), ((0, 1), 0), (range(20, 60), 0)])
def test_lost_volumes_are_counted_and_pauses_are_none(missing: Any, lost: int) -> None:
    """But those before the first and after the last, of which nobody knows."""
    pulses = [800.0 * number + number % 3 for number in range(100) if number not in missing]
    counted = volumes(pulses)
    assert counted["lost"] == lost
    assert counted["pulses"] == len(pulses)
    assert counted["every_ms"] == pytest.approx(800, abs=3)
    assert volumes([]) == {"event": "volumes", "pulses": 0, "every_ms": None, "lost": 0}


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Xvfb")
@pytest.mark.parametrize("many", [6, pytest.param(50, marks=pytest.mark.soak)])
def test_starts_on_a_busy_machine_come_with_the_right_pulse(many: int) -> None:
    facts = bench("scanner/scanner_bench", many, seconds=900)
    assert len(facts["keys"] + facts["serial"]) == 2 * many
    for start in facts["keys"] + facts["serial"]:
        at, sent = start["at"], start["sent"]
        assert start["counted"] == at, start
        assert sent[at - 1] < start["begun"] < sent[at]
        assert len(start["recorded"]) == len(sent), "every pulse is on record"
    for kind in ("keys", "serial"):
        late = [
            1000 * (recorded - sent)
            for start in facts[kind]
            for recorded, sent in zip(start["recorded"], start["sent"], strict=True)
        ]
        assert min(late) > -1
        # only a tenth of pulses that wait for the next frame at 60 Hz wait less than 1.7 ms
        assert statistics.quantiles(late, n=10)[0] < 1, "a busy machine is late now and then; frames always"
