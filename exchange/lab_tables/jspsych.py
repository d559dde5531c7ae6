"""jsPsych's data: an object for each trial (``trial_type``, ``response``, ``correct``, ``rt`` in
ms), in JSON or in CSV."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from typing_extensions import override

from ...core.errors import SpanLabError
from ..format import Place, Side
from .answers import LabAnswer, LabFormat, LabOptions, LabRow, answer_of, read_csv, time_of, truth_of

#: by what names experiments usually call the right answer
_EXPECTED = ("correct_response", "correct_answer", "correctResponse", "correctAnswer", "correct_key", "correct_choice")


class JsPsych(LabFormat):
    """Data of jsPsych: ``data.csv()`` or ``data.json()``, also as JATOS keeps it (a line for each
    participant)."""

    name = "jspsych"
    reads = Side(
        "table",
        "Answers in jsPsych's CSV or JSON files as one response table, for spanlab compare, figure and stats.",
        LabOptions,
        Place("files of jsPsych (.csv, .json, .txt)", "FILE", many=True),
    )
    participants = (
        "participant",
        "participant_id",
        "subject",
        "subject_id",
        "PROLIFIC_PID",
        "prolific_pid",
        "worker_id",
        "workerId",
    )
    runs = ("session_id",)
    own = frozenset(
        (
            *_EXPECTED,
            "trial_type",
            "trial_index",
            "time_elapsed",
            "internal_node_id",
            "plugin_version",
            "rt",
            "response",
            "correct",
            "key_press",
        )
    )

    @override
    def rows(self, file: Path) -> list[LabRow]:
        rows = list(read_csv(file)) if file.suffix.lower() in (".csv", ".tsv") else _json_rows(file)
        names = {name for row in rows for name in row.values}
        if rows and "trial_type" not in names:
            raise SpanLabError(f"{file} is not jsPsych's: no trial has a 'trial_type'")
        if rows and "correct" not in names:
            raise SpanLabError(f"{file}: no trial has 'correct', so no answer is scored; set data.correct in on_finish")
        return rows

    @override
    def answers(self, row: LabRow, options: LabOptions) -> list[LabAnswer]:
        correct = truth_of("correct", row.values.get("correct"))
        if correct is None:
            return []
        expected = next((name for name in _EXPECTED if name in row.values), "")
        response = answer_of(row.values.get("response", row.values.get("key_press")))
        return [
            LabAnswer(
                "", response, answer_of(row.values.get(expected)), correct, time_of("rt", row.values.get("rt"), 1.0)
            )
        ]


def _json_rows(file: Path) -> list[LabRow]:
    """The trials of a JSON file: one list, or a list in each line.

    Raises
    ------
    SpanLabError
        when it is neither.
    """
    try:
        text = file.read_text(encoding="utf-8-sig")
        lists = _lists(text)
    except (OSError, ValueError, RecursionError) as error:
        raise SpanLabError(f"{file} cannot be read as JSON: {error}") from None
    trials = [trial for trials in lists for trial in (trials if isinstance(trials, list) else [trials])]
    if not all(isinstance(trial, dict) for trial in trials):
        raise SpanLabError(f"{file} is not jsPsych's: expected a list of trials, each an object")
    return [LabRow(file, number, trial) for number, trial in enumerate(trials, start=1)]


def _lists(text: str) -> list[Any]:
    try:
        whole = json.loads(text)
    except ValueError:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    nested = isinstance(whole, list) and whole and all(isinstance(one, list) for one in whole)
    return whole if nested else [whole]
