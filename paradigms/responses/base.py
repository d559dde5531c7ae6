"""Response kinds: what may be answered, how people, chat models and networks give the answer, and
the scores of its items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import atan2, cos, degrees, hypot, radians, sin
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import AfterValidator, BeforeValidator

from ...core.errors import SpanLabError
from ...core.locale import sentence
from ...core.registry import Component, Registry, as_tuple
from ...stimuli import CANVAS
from ..identity import canonical
from .keys import AnswerKeys


def items_of(answer: Answer) -> tuple[int | str | None, ...]:
    """The items of an answer; one that is no list is its only item."""
    return answer if isinstance(answer, tuple) else (answer,)


def _numbers(value: Any) -> Any:
    return (
        tuple(float(v) for v in value)
        if isinstance(value, list) and all(type(v) in (int, float) for v in value)
        else value
    )


def _on_the_canvas(area: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    x0, y0, x1, y1 = area
    if not (0 <= x0 < x1 <= CANVAS and 0 <= y0 < y1 <= CANVAS):
        raise ValueError(
            f"an area is [x0, y0, x1, y1], from its top left to its bottom right corner, within 0 to {CANVAS}; found"
            f" {list(area)}"
        )
    return area


#: A part of the canvas as [x0, y0, x1, y1], in canvas units.
Area = Annotated[tuple[float, float, float, float], BeforeValidator(_numbers), AfterValidator(_on_the_canvas)]
#: Several such parts.
Areas = Annotated[tuple[Area, ...], BeforeValidator(as_tuple)]
WHOLE_CANVAS = (0.0, 0.0, float(CANVAS), float(CANVAS))


@dataclass(frozen=True, slots=True)
class Region:
    """A clickable area of the canvas, in canvas units, and the value that a click in it stands for."""

    value: int | str
    x0: float
    y0: float
    x1: float
    y1: float


def row_regions(
    values: Sequence[int | str | None], rows: Sequence[int], area: tuple[float, float, float, float]
) -> tuple[Region, ...]:
    """One region per value: rows of so many regions of the same size, which fill ``area``; shorter
    rows are centred. None leaves its place empty."""
    x0, y0, x1, y1 = area
    width, height = (x1 - x0) / max(rows), (y1 - y0) / len(rows)
    places = [(column + (max(rows) - many) / 2, row) for row, many in enumerate(rows) for column in range(many)]
    return tuple(
        Region(value, x0 + width * column, y0 + height * row, x0 + width * (column + 1), y0 + height * (row + 1))
        for value, (column, row) in zip(values, places, strict=False)
        if value is not None
    )


#: A value that a kind adds to its scores.
Scalar = int | float | bool | str | None


@dataclass(frozen=True, slots=True)
class ScoreField:
    """A value that the scores of one kind have beside those of all kinds; in the response table it
    is the column ``score_<name>``.

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

    ``serial_position`` and ``output_position`` count from 1; None leaves the step's own recorded
    value in place. ``edit_distance`` is that of the whole answer, for kinds that have one. Answers
    on a continuous scale have an ``error``: the signed distance to the correct answer, the shorter
    way round where the scale closes after its ``period``; ``correct`` then says whether the error
    is at most ``tolerance``. What has no right answer has no ``correct`` either; a rating has the
    ends of its scale, ``scale_from`` and ``scale_to``. ``more`` has the values of the fields that
    the kind itself declares (:attr:`ResponseKind.score_fields`).
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


#: One value (a choice, a text) or several (cells, sequences, in the order of output; None for an
#: item that was left open). Plain Python, fit for JSON.
Answer = int | str | tuple[int | str | None, ...]


@dataclass(frozen=True, slots=True)
class Ordered:
    """The order in which a person's values are kept: each press adds one, and the last one can be
    taken back.

    Parameters
    ----------
    most : so many values at most
    repeats : whether the same value may be given more than once
    unknown : whether "don't know" may stand in the place of a value (as None), or, where values are
        ``joined``, of the whole answer
    joined : whether the values are characters of one text
    line : where on the canvas what was given stands in a line, as (x0, y0, x1, y1); None where each
        value shows at its own place, with its number
    labels : what stands on the areas of the canvas that are keys to press: value and label
    written : whether it is a text that is written freely, and edited, in a box at ``line``; the areas
        of the canvas then put a sign where it is being written
    """

    most: int
    repeats: bool = True
    unknown: bool = False
    joined: bool = False
    line: tuple[float, float, float, float] | None = None
    labels: tuple[tuple[int | str, str], ...] = ()
    written: bool = False


@dataclass(frozen=True, slots=True)
class Dial:
    """A ring on the canvas on which one value is chosen by its direction from the middle, with the
    mouse, a finger or keys.

    Parameters
    ----------
    x, y : its middle, in canvas units
    radius : where the mark of the value lies, in canvas units
    dead : clicks nearer to the middle than this mean nothing, in canvas units
    degrees : degrees clockwise from one value to the next
    values : the values in their order; their indices count round the ring
    turned : direction of the first value, in degrees clockwise from upright
    start : index of the value at which keys begin
    mark : what shows the value: a ``ring`` around its place, a ``dot`` at its place, or a ``bar``
        through the middle
    """

    x: float
    y: float
    radius: float
    dead: float
    degrees: float
    values: tuple[int, ...]
    turned: float = 0.0
    start: int = 0
    mark: Literal["ring", "dot", "bar"] = "ring"

    def value_at(self, x: float, y: float) -> int | None:
        """The value in whose direction a place on the canvas lies; None near the middle and outside
        the canvas."""
        if not (0 <= x <= CANVAS and 0 <= y <= CANVAS) or hypot(x - self.x, y - self.y) < self.dead:
            return None
        return self.values[
            round((degrees(atan2(x - self.x, self.y - y)) - self.turned) / self.degrees) % len(self.values)
        ]

    def direction_of(self, value: int) -> float:
        """The direction of a value, in degrees clockwise from upright."""
        return (self.turned + self.degrees * self.values.index(value)) % 360.0

    def place_of(self, value: int) -> tuple[float, float]:
        """Return the position of a value's mark, in canvas units."""
        angle = radians(self.direction_of(value))
        return self.x + self.radius * sin(angle), self.y - self.radius * cos(angle)


@dataclass(frozen=True, slots=True)
class Scale:
    """The appearance of a scale of numbers; its regions are the places to click.

    Parameters
    ----------
    slider : whether it is a line with ticks; otherwise each number is in a box
    labels : numbers, each with what it means
    below : where the labels stand on the canvas, as (x0, y0, x1, y1)
    """

    slider: bool
    labels: tuple[tuple[int, str], ...]
    below: tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Surface:
    """The keys, regions and dials with which a person answers.

    Parameters
    ----------
    keys : key name (as PsychoPy calls it) to value; several keys may stand for the same value
    regions : clickable areas
    several : whether more than one value makes the answer; marks are then shown and a done button
        (or Return) ends it
    take : the number of values expected when ``several``
    outlined : whether the outlines of the areas are drawn while the question is open
    ordered : how values that are given in order are kept, where they are
    dial : a ring on which one value is chosen, in place of keys and areas
    scale : how a scale of numbers is drawn on the areas, where they are that
    """

    keys: tuple[tuple[str, int | str], ...] = ()
    regions: tuple[Region, ...] = ()
    several: bool = False
    take: int | None = None
    outlined: bool = False
    ordered: Ordered | None = None
    dial: Dial | None = None
    scale: Scale | None = None

    @property
    def clickable(self) -> bool:
        """True if something can be clicked on the canvas."""
        return bool(self.regions) or self.dial is not None


class ResponseKind(Component):
    """The base of every response kind. All positions are numbered from 0 inside, and from 1 in what
    people and models read."""

    #: parameters that are not part of the trial: they say what a laboratory may do with keys
    beside_the_trial: ClassVar[frozenset[str]] = frozenset()
    #: parameters that are drawn for each trial and make no other question
    varying: ClassVar[frozenset[str]] = frozenset()
    #: why networks cannot answer, in a clause, and what to ask instead; empty for kinds that they
    #: can answer
    not_for_networks: ClassVar[str] = ""
    #: whether there is a right answer; ratings have none, and are in no accuracy
    scored: ClassVar[bool] = True
    #: values that the scores of this kind have in ``more``, by name: each is a column
    #: ``score_<name>`` of the response table
    score_fields: ClassVar[Mapping[str, ScoreField]] = {}

    def record_key(self) -> str:
        """Return the key of this kind of question in a record: its name and the parameters that
        differ from their defaults, without what is drawn for each trial."""
        beside = {*self.beside_the_trial, *self.varying}
        return canonical([type(self).name, self.model_dump(mode="json", exclude_defaults=True, exclude=beside)])

    def allows(self, value: Any) -> bool:
        """Return whether ``value`` is an answer that can be given."""
        raise NotImplementedError

    def allowed(self, value: Any) -> Any:
        """An answer that can be given; None for anything else."""
        return value if self.allows(value) else None

    def question(self) -> str:
        """The words of the question at the moment of asking; never hints at the answer.

        They are for readers: places count from 1 in them, and from 0 in the value of a ``Response``
        (:meth:`allowed_values`). :meth:`parse` turns an answer that follows these words into that
        value.
        """
        raise NotImplementedError

    def allowed_values(self) -> str:
        """The values that a ``Response`` to this question can have, in words, with what counts from
        where."""
        return f"what parse() makes of a written answer ({self.question()})"

    def legend(self, reader: Literal["participant", "words"], language: str = "en") -> str:
        """Return how to answer, for the instructions: the keys and clicks (in the participant's
        language, or else in English), or the words to write."""
        raise NotImplementedError

    def finality(self, counts: Literal["first", "last"], language: str = "en") -> str:
        """Return whether an answer can be changed, for the instructions; empty where the legend
        says how, because several presses make one.

        Parameters
        ----------
        counts : which press counts
        """
        surface = self.surface()
        if surface.several:
            return ""
        each_has_a_key = {region.value for region in surface.regions} <= {value for _, value in surface.keys}
        pressed = "presses" if each_has_a_key else "clicks"
        if not surface.regions:
            pressed = "keys"
        if surface.dial is not None:
            pressed = "dial"
        return sentence("legend.last" if counts == "last" else f"legend.first_{pressed}", language)

    def surface(self) -> Surface:
        """The keys, regions and dials with which a person answers."""
        raise NotImplementedError

    def answer_of(self, values: Sequence[int | str | None]) -> Answer:
        """The answer that values make which a person gave one after another."""
        return tuple(values)

    def values_of(self, answer: Answer) -> tuple[int | str | None, ...]:
        """The values that a person gives, one after another, to give an answer."""
        return items_of(answer)

    def with_keys(self, keys: AnswerKeys) -> ResponseKind:
        """The same question with other keys and words, for the window and for what people read;
        answers and scores stay as they are.

        Here itself, as it is for kinds without keys of their own.

        Raises
        ------
        ValueError
            when two answers would have the same key.
        """
        return self

    def label(self, value: int | str) -> str:
        """One value of an answer as a person reads it."""
        return str(value + 1) if isinstance(value, int) else value

    def answer_names(self) -> tuple[str, ...]:
        """The answers to which a session may give keys of its own, as people and models write them:
        here none."""
        return ()

    def parse(self, text: str) -> Answer | None:
        """The answer in a reply, or None when there is no unambiguous allowed one."""
        raise NotImplementedError

    def write(self, answer: Answer) -> str:
        """The reply that a perfect writer would give; ``parse`` reads it back, and nothing else in
        its place."""
        raise NotImplementedError

    def written_answers(self) -> tuple[str, ...]:
        """Every allowed answer as ``write`` writes it, where the answers are few enough to be
        listed: here none."""
        return ()

    def answer_schema(self) -> dict[str, Any] | None:
        """The JSON Schema of an answer, in the words of the question; None for a kind that cannot
        be answered in JSON, as it is here."""
        return None

    def answer_from_json(self, value: Any) -> Answer | None:
        """The answer that a JSON value of this schema stands for; None when it is none that is
        allowed."""
        return None

    def from_logits(
        self, logits: np.ndarray, classes: Sequence[int] | None = None, all_classes: bool = False
    ) -> Answer | None:
        """The answer that a network's outputs (its whole head) stand for.

        ``classes`` says which class each allowed answer is, in the order of the answers (0, 1, ...
        when not given). With ``all_classes`` the whole head is read out, and a class that belongs
        to no allowed answer gives None (an invalid answer).
        """
        raise self._not_for_networks()

    def target(self, answer: Answer) -> int | tuple[int, ...]:
        """The number of the answer among the allowed ones; several numbers for an answer with
        several values."""
        raise self._not_for_networks()

    def _not_for_networks(self) -> Exception:
        if not self.not_for_networks:
            return NotImplementedError(self.name)
        return SpanLabError(f"networks cannot answer a question of the kind '{self.name}': {self.not_for_networks}")

    def guess(self, random: np.random.RandomState) -> Answer:
        """A uniformly random allowed answer."""
        raise NotImplementedError

    def unscored_answer(self, sure: bool | None) -> Answer:
        """Return a simulated observer's answer to a question without a right answer.

        Parameters
        ----------
        sure : whether it knew its answer to the question before; None where there was none
        """
        raise NotImplementedError

    def unscored(self, answer: Answer | None) -> ItemScore:
        """The row of an answer to a question without a right answer; ``answer`` is None when it was
        omitted or invalid."""
        return ItemScore(None if isinstance(answer, tuple) else answer, None, None)

    def chance(self) -> float:
        """The probability that one scored item is correct when guessing."""
        raise NotImplementedError

    def right_by_guessing(self) -> tuple[float, ...]:
        """The probability of 0, 1, 2 ... correct items when guessing: here for one item, as every
        kind has it whose answer is scored as a whole."""
        return 1 - self.chance(), self.chance()

    def score(self, answer: Answer | None, correct: Answer) -> Sequence[ItemScore]:
        """One score per scored item; ``answer`` is None when it was omitted or invalid."""
        raise NotImplementedError


RESPONSES: Registry[ResponseKind] = Registry("response kind", "spanlab.responses")
