"""Scores of answers: what every kind of response tells of an item, and what a kind adds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

#: A value that a kind adds to its scores.
Scalar = int | float | bool | str | None


@dataclass(frozen=True, slots=True)
class ScoreField:
    """A value that the scores of one kind have beside those of all kinds; in the response table it is the column ``score_<name>``.

    Parameters
    ----------
    type : of the value, which may also be None
    meaning : in words, for people who read the table
    unit : of a number
    """

    type: Literal["integer", "number", "boolean", "string"]
    meaning: str
    unit: str = ""


@dataclass(frozen=True, slots=True)
class ItemScore:
    """The score of one item of an answer: one row of the response table.

    ``serial_position`` and ``output_position`` count from 1; None leaves the step's own recorded value in place. ``edit_distance`` is that of the whole answer,
    for kinds that have one. Answers on a continuous scale have an ``error``: the signed distance to the correct answer, the shorter way round where the
    scale closes after its ``period``; ``correct`` then says whether the error is at most ``tolerance``. What has no right answer has no ``correct`` either;
    a rating has the ends of its scale, ``scale_from`` and ``scale_to``. ``more`` has the values of the fields that the kind itself declares
    (:attr:`ResponseKind.score_fields`).
    """

    answer: int | str | None
    correct_answer: int | str | None
    correct: bool | None
    serial_position: int | None = None
    output_position: int | None = None
    edit_distance: int | None = None
    error: float | None = None
    period: float | None = None
    tolerance: float | None = None
    scale_from: int | None = None
    scale_to: int | None = None
    more: Mapping[str, Scalar] = field(default_factory=dict[str, Scalar])
