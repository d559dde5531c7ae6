"""PsychoPy's tables: a row for each trial, answers in the columns of components (``key_resp.keys``,
``key_resp.corr``, ``key_resp.rt`` in seconds)."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from typing_extensions import override

from ...core.errors import SpanLabError
from ..format import Place, Side
from .answers import LabAnswer, LabFormat, LabOptions, LabRow, LabTableError, answer_of, read_csv, time_of, truth_of

_SCORE = ".corr"
#: where a component keeps its answer, and its time
_ANSWERS, _TIMES = ("keys", "clicked_name", "response", "text"), ("rt", "time")
#: by what names experiments usually call the right answer
_EXPECTED = ("corrAns", "correctAns", "correct_answer", "correctAnswer", "corr_ans", "correct_ans")


class PsychoPy(LabFormat):
    """Tables of PsychoPy's Builder and Coder (the wide CSV of ``saveAsWideText``)."""

    name = "psychopy"
    reads = Side(
        "table",
        "Answers in PsychoPy's wide CSV files as one response table, for spanlab compare, figure and stats.",
        LabOptions,
        Place("CSV files of PsychoPy, one for each session", "FILE", many=True),
    )
    participants = ("participant",)
    runs = ("session", "date")
    own = frozenset((*_EXPECTED, "expName", "expStart", "psychopyVersion", "frameRate", "OS", "notes"))

    @override
    def rows(self, file: Path) -> list[LabRow]:
        rows = list(read_csv(file))
        if rows and not any(name.endswith(_SCORE) for name in rows[0].values):
            raise SpanLabError(
                f"{file}: no column ends in '{_SCORE}', so no answer is scored; in Builder, let the component 'store"
                " correct'"
            )
        return rows

    @override
    def answers(self, row: LabRow, options: LabOptions) -> list[LabAnswer]:
        wanted = [name.strip() for name in options.response.split(",") if name.strip()]
        there = [name.removesuffix(_SCORE) for name in row.values if name.endswith(_SCORE)]
        if lacking := [name for name in wanted if name not in there]:
            raise SpanLabError(
                f"{row.file} has no column {lacking[0]}{_SCORE}; components with scores are {', '.join(there)}"
            )
        answers: list[LabAnswer] = []
        for part in wanted or there:
            correct = truth_of(part + _SCORE, row.values.get(part + _SCORE))
            if correct is not None:
                answers.append(self._answer(row, part, correct))
        return answers

    def _answer(self, row: LabRow, part: str, correct: bool) -> LabAnswer:
        answer, rt = (
            next((f"{part}.{name}" for name in names if f"{part}.{name}" in row.values), "")
            for names in (_ANSWERS, _TIMES)
        )
        expected = next((name for name in _EXPECTED if name in row.values), "")
        time = time_of(rt, _single(rt, row.values.get(rt)), 1000.0)
        return LabAnswer(
            part, answer_of(_single(answer, row.values.get(answer))), answer_of(row.values.get(expected)), correct, time
        )

    @override
    def paradigm_of(self, row: LabRow) -> str:
        return row.text("expName")

    @override
    def is_practice(self, row: LabRow, rows: str) -> bool:
        if "=" in rows:
            return super().is_practice(row, rows)
        loop = f"{rows}.thisN"
        if loop not in row.values:
            loops = sorted(name.removesuffix(".thisN") for name in row.values if name.endswith(".thisN"))
            raise SpanLabError(f"--practice {rows}: {row.file} has no such loop; it has {', '.join(loops) or 'none'}")
        return row.text(loop) != ""


def _single(column: str, value: Any) -> Any:
    """The only element of a list, as components write it that store several presses; what is no
    list stays as it is.

    Raises
    ------
    MalformedError
        when there are several: nobody knows which one counts.
    """
    if not isinstance(value, str) or not value.strip().startswith("["):
        return value
    try:
        elements = ast.literal_eval(value.strip())
    except (ValueError, SyntaxError):
        return value
    if not isinstance(elements, list) or len(elements) > 1:
        raise LabTableError(
            column, f"several presses are stored ({value[:60]}), and it is unclear which one counts: let it store one"
        )
    return elements[0] if elements else None
