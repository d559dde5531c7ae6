"""A rating on a scale of whole numbers: how sure one is of the answer before, or how much one
agrees. There is no right answer, so nothing is scored."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import BeforeValidator, Field, model_validator
from typing_extensions import override

from ...core.locale import sentence
from ...core.registry import as_tuples
from ...stimuli.kinds.lettering import drawable
from .base import RESPONSES, Answer, Area, ItemScore, ResponseKind, Scale, Surface, row_regions
from .keys import AnswerKeys
from .wording import dashed, negated

#: scales of at most so many numbers are boxes with keys; longer ones are a slider
_BOXES = 11
#: the part of the area that is the scale itself; what its numbers mean stands below
_HIGH = 0.5
#: numbers in a reply, with whatever makes them another number than the whole one
_NUMBER = re.compile(
    r"(?<![\w.,-])(?P<sign>[-+−]?|[<>≤≥~≈] ?)(?P<whole>\d+)(?P<more>(?:[.,]\d+)?\+?(?: ?%)?)(?!\w)|\d+"
)
#: "4 out of 7", "4/7": a number and the top of the scale, and not how many of something
_OF = re.compile(
    r"(?<![\w.,/])(\d+) ?(?:/ ?|(?:out of|of|von|sur|de|aus) (?:a possible |the )?)\(?(\d+)\)?(?![\w/%])(?![.,]\d)"
    r"(?! (?!(?:on|for|in|because|since|as|but|so|and|i|with|confidence|certainty|confident|certain|sure|rating|scale|points?|here)\b)[^\W\d_])",  # noqa: E501
    re.IGNORECASE,
)
_NUMBER_WORDS = r"(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|null|eins|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn)"  # noqa: E501
#: another number in words, beside the one in digits
_OFFERED = re.compile(
    r"\b(?:or|to|and|maybe|perhaps|rather|between|oder|bis|und|vielleicht|eher|zwischen) (?:an? |the"
    rf" )?{_NUMBER_WORDS}(?!\w)"
    rf"|\d ?[-/,] ?{_NUMBER_WORDS}(?!\w)|\bhalf\b|\bhalb",
    re.IGNORECASE,
)
#: where one thing that is said ends and another begins
_CLAUSE = re.compile(
    r"[.;:,()\n!]|(?<=\w) ?-"
    r" |\b(?:because|since|as|so|thus|therefore|hence|but|though|although|and|weil|da|denn|also|daher|aber|und|parce"
    r" que|donc|mais)\b",
    re.IGNORECASE,
)
#: what makes a number a bound, a condition or a value nearby
_NOT_IT = re.compile(
    r"\b(?:(?:more|less|higher|lower|greater|other|better|worse) than|at (?:least|most)|above|below|over|under|up"
    r" to|minimum|maximum|about|around|roughly|"
    r"approximately|circa|ca|nearly|almost|close to|closer to|nearer|between|if|unless|otherwise|or|mehr als|weniger"
    r" als|mindestens|höchstens|über|unter|"
    r"bis zu|etwa|ungefähr|fast|beinahe|zwischen|wenn|falls|sonst|oder|plus de|moins de|environ|presque|entre|ou)\b",
    re.IGNORECASE,
)
#: what takes a number back that was said before
_TAKEN_BACK = re.compile(
    r"(?<!\w)(?:wait|actually|correction|scratch that|never mind|no|nope|nein|doch|non)(?: *[.,!;:\n]|\s*\Z)",
    re.IGNORECASE,
)


def _pairs(value: Any) -> Any:
    """Labels as a mapping from numbers, or as pairs, the way in which they are kept."""
    if isinstance(value, Mapping):
        return tuple(
            (int(number) if isinstance(number, str) and number.isdecimal() else number, text)
            for number, text in value.items()
        )
    return as_tuples(value)


@RESPONSES.register
class Rating(ResponseKind):
    """A number on a scale, such as how sure one is. It has no right answer: `ask` has no 'answer',
    and the rows of the table have no 'correct'."""

    name: ClassVar[str] = "rating"
    scored: ClassVar[bool] = False
    not_for_networks: ClassVar[str] = (
        "a network has nothing to tell beyond its answer; read its confidence from its outputs"
    )

    first: Annotated[int, Field(ge=0, le=1000)] = Field(1, alias="from", description="the lowest number")
    to: Annotated[int, Field(ge=1, le=1000)] = Field(
        7, description="the highest number; up to 11 numbers are boxes with keys, more are a slider to click on"
    )
    labels: Annotated[tuple[tuple[int, str], ...], BeforeValidator(_pairs)] = Field(
        (), description="what numbers mean, as far as it is said: {1: not sure at all, 7: very sure}"
    )
    within: Area = Field((4.0, 56.0, 92.0, 90.0), description="the part of the canvas for the scale and its labels")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not 2 <= self.to - self.first + 1 <= 101:
            raise ValueError(f"a scale has 2 to 101 numbers; found {self.first} to {self.to}")
        named = [number for number, _ in self.labels]
        outside = [number for number in named if not self.first <= number <= self.to]
        if outside:
            raise ValueError(f"labels belong to numbers from {self.first} to {self.to}; found {outside[0]}")
        if len(set(named)) < len(named) or not all(text.strip() and len(text) <= 60 for _, text in self.labels):
            raise ValueError("each label has a number of its own, and from 1 to 60 characters")
        for _, text in self.labels:
            drawable(text)
        object.__setattr__(self, "labels", tuple(sorted(self.labels)))
        return self

    @property
    def values(self) -> tuple[int, ...]:
        """Every number of the scale."""
        return tuple(range(self.first, self.to + 1))

    @property
    def _numbers(self) -> list[str]:
        return [str(value) for value in self.values]

    @override
    def allows(self, value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and self.first <= value <= self.to

    @override
    def question(self) -> str:
        means = f" ({', '.join(f'{number} = {text}' for number, text in self.labels)})" if self.labels else ""
        return f"Answer with one whole number from {self.first} to {self.to}{means}."

    @override
    def allowed_values(self) -> str:
        return f"a whole number from {self.first} to {self.to}"

    @override
    def legend(self, reader: Literal["participant", "words"], language: str = "en") -> str:
        if reader == "words":
            return self.question()
        keys = self._keys()
        return (
            sentence("legend.rating_keys", language, first=keys[0][0], last=keys[-1][0])
            if keys
            else sentence("legend.rating_click", language)
        )

    def _keys(self) -> list[tuple[str, int]]:
        """A digit for each number, and 0 for ten where the scale begins above 0; none for what
        needs more digits."""
        if len(self.values) > _BOXES or self.to > 10 or (self.to == 10 and self.first == 0):
            return []
        return [(str(value % 10), value) for value in self.values]

    @override
    def surface(self) -> Surface:
        x0, y0, x1, y1 = self.within
        bottom = y0 + _HIGH * (y1 - y0)
        keys = self._keys()
        keys += [(f"num_{key}", value) for key, value in keys]
        regions = row_regions(self.values, [len(self.values)], (x0, y0, x1, bottom))
        return Surface(
            keys=tuple(keys), regions=regions, scale=Scale(len(self.values) > _BOXES, self.labels, (x0, bottom, x1, y1))
        )

    @override
    def with_keys(self, keys: AnswerKeys) -> Rating:
        labels = tuple((number, keys.words.get(text, text)) for number, text in self.labels)
        return self if labels == self.labels else self.model_copy(update={"labels": labels})

    @override
    def label(self, value: int | str) -> str:
        return str(value)

    @override
    def parse(self, text: str) -> Answer | None:
        """The one number of the scale in a reply, with whatever is said of it; None where there is
        another number, or words that make it a bound or deny it.

        A top of the scale beside the number (``4 out of 7``, ``4/7``) is no other number, and
        neither are both ends of the scale (``on a scale from 1 to 7``). Doubts are what a rating is
        about: ``2 - I was mostly guessing`` is a 2.
        """
        plain = re.sub(r"[*`#$]+|(?<!\w)_+|_+(?!\w)", " ", dashed(text))
        plain = re.sub(r"\s*\n\s*", "\n", re.sub(r"[^\S\n]+", " ", plain)).strip()
        if any(int(top) != self.to for _, top in _OF.findall(plain)):
            return None
        plain = _OF.sub(r"\1", self._without_ends(plain))
        numbers = list(_NUMBER.finditer(plain))
        number = numbers[0]["whole"] if numbers else None
        if number is None or len(number) > 4 or any(match["whole"] != number for match in numbers):
            return None
        percent = " %" if (self.first, self.to) == (0, 100) else ""
        if (
            any(match["sign"] or match["more"].strip(percent) for match in numbers)
            or str(int(number)) != number
            or not self.allows(int(number))
        ):
            return None
        end = numbers[-1].end()
        if _OFFERED.search(plain) or _TAKEN_BACK.search(plain, end) or plain[end:].lstrip().startswith("?"):
            return None
        clauses = [clause for clause in _CLAUSE.split(plain) if re.search(rf"(?<!\d){number}(?!\d)", clause)]
        return None if any(negated(clause) or _NOT_IT.search(clause) for clause in clauses) else int(number)

    def _without_ends(self, text: str) -> str:
        """A text without both ends of the scale where they stand for the scale."""
        many, both = len(self.values), rf"{self.first} ?(?:-|to|through|bis|à|a) ?{self.to}"
        before = rf"\b(?:scale|range|skala|échelle|escala)(?: (?:of|from|von|de|is|was|:))* ?\(?{both}\)?"
        named = rf"{before}|\(?(?:from |von |de )?{both}\)?(?= (?:scale|rating|likert|skala))"
        return re.sub(rf"{named}|\b{many}[- ]point(?:s)?\b|\({both}\)", " ", text, flags=re.IGNORECASE)

    @override
    def write(self, answer: Answer) -> str:
        return str(answer)

    @override
    def written_answers(self) -> tuple[str, ...]:
        return tuple(self._numbers)

    @override
    def answer_schema(self) -> dict[str, Any] | None:
        return {"type": "integer", "minimum": self.first, "maximum": self.to}

    @override
    def answer_from_json(self, value: Any) -> Answer | None:
        return self.allowed(value)

    @override
    def guess(self, random: np.random.RandomState) -> Answer:
        return self.first + int(random.randint(len(self.values)))

    @override
    def unscored_answer(self, sure: bool | None) -> Answer:
        """The highest number of an observer that remembered what it answered before, the lowest
        after a guess, the middle where nothing was answered."""
        if sure is None:
            return self.values[len(self.values) // 2]
        return self.to if sure else self.first

    @override
    def unscored(self, answer: Answer | None) -> ItemScore:
        return replace(super().unscored(answer), scale_from=self.first, scale_to=self.to)
