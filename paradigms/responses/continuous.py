"""A value on a continuous scale that closes on itself: an orientation, a colour of the wheel, a
location on a circle. Scored by how far it is off."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from ...core.locale import sentence
from ...stimuli import CANVAS
from ...stimuli.colour_wheel import wheel_colour
from .base import RESPONSES, Answer, Dial, ItemScore, ResponseKind, Surface
from .wording import negated

Feature = Literal["orientation", "colour", "location"]
#: after how many degrees each repeats
PERIODS: dict[Feature, int] = {"orientation": 180, "colour": 360, "location": 360}
#: what shows a value on the wheel
_MARKS: dict[Feature, Literal["ring", "dot", "bar"]] = {"orientation": "bar", "colour": "ring", "location": "dot"}
_COUNTED: dict[Feature, str] = {
    "orientation": (
        "Degrees are counted clockwise from upright; a bar that lies level has 90, and 0 is the same as 180."
    ),
    "colour": "Colours are numbered round a wheel in equal steps, and 0 follows on 359.",
    "location": "Degrees are counted clockwise from the top; the right has 90.",
}
#: every so many numbers a colour is named for readers who see
_NAMED_EVERY = 30

_UNIT = r"(?: ?(?:°|º)| ?-?(?:degrees?|degs?\.?|grad|degrés?|grados?)(?![^\W\d_]))?"
_NUMBER = re.compile(rf"(?<![\w.,+\-−–])(\d{{1,4}}(?:\.\d{{1,6}})?){_UNIT}(?![\w%,]|\.\d|[′″])", re.IGNORECASE)
_DIGITS = re.compile(r"\d")
#: what turns a number of degrees into another one, or makes two of it
_OTHERWISE = re.compile(
    r"(?<![^\W_])(?:or|oder|ou|o|counter ?-?clockwise|anti ?-?clockwise|gegen|linksherum|rad|radians?|minus|to the"
    r" left|from (?:the )?horizontal|from (?:the )?"
    r"(?:x|right|east)|between|zwischen|entre)(?![^\W_])|或|逆时针",
    re.IGNORECASE,
)


@RESPONSES.register
class Continuous(ResponseKind):
    """One value on a scale that closes on itself, in degrees: an orientation (0 to 179), a colour
    of the wheel or a location on a circle (0 to 359).

    People choose it by its direction from the middle of the screen: the error is signed, the
    shorter way round. Whoever needs right and wrong (feedback, practice, staircases, accuracy) gets
    whether the error is at most the declared ``tolerance``.
    """

    name: ClassVar[str] = "continuous"
    shorthand: ClassVar[str] = ""
    #: where the wheel lies and where keys begin
    varying: ClassVar[frozenset[str]] = frozenset({"turned", "start"})

    feature: Feature = Field(
        description=(
            "what is reported: orientation (repeats after 180 degrees), colour of the wheel or location on a circle"
            " (after 360)"
        )
    )
    tolerance: Annotated[int, Field(ge=0, le=90)] = Field(
        description=(
            "the largest error, in degrees, at which an answer counts as correct: for feedback, practice, staircases"
            " and accuracy (errors are recorded)"
        )
    )
    step: Annotated[int, Field(ge=1, le=45)] = Field(
        1, description="degrees from one possible answer to the next; clicks count for the nearest"
    )
    turned: Annotated[int, Field(ge=0, lt=360)] = Field(
        0,
        description=(
            "how far a wheel of colours is turned clockwise, in degrees, as in the display; draw it, so that places say"
            " nothing about colours"
        ),
    )
    start: Annotated[int, Field(ge=0, lt=360)] = Field(
        0, description="the value at which keys begin, in degrees; draw it, so that it says nothing about the answer"
    )
    bins: Annotated[int, Field(ge=2, le=360)] | None = Field(
        None,
        description=(
            "how many classes of equal width a network reads out, each standing for its middle; one for each possible"
            " answer when not given"
        ),
    )
    radius: Annotated[float, Field(ge=4, le=CANVAS / 2)] = Field(
        42.5, description="where the value is marked, in canvas units from the middle"
    )
    dead: Annotated[float, Field(ge=0, le=CANVAS / 2)] = Field(
        10.0, description="clicks nearer to the middle than this mean nothing, in canvas units"
    )

    @model_validator(mode="after")
    def _consistent(self) -> Continuous:
        if self.period % self.step:
            raise ValueError(f"steps of {self.step} degrees do not go round: {self.period} is not a multiple of it")
        if self.turned and self.feature != "colour":
            raise ValueError(f"only a wheel of colours can be turned, not one of {self.feature}")
        if self.start >= self.period or self.start % self.step:
            raise ValueError(
                f"start must be a possible answer: 0 to {self.period - self.step} in steps of {self.step}; found"
                f" {self.start}"
            )
        if self.bins is not None and self.count % self.bins:
            raise ValueError(f"{self.bins} bins do not hold {self.count} possible answers evenly")
        if 2 * self.tolerance >= self.period:
            raise ValueError(
                f"with a tolerance of {self.tolerance} every answer is correct: no error is larger than"
                f" {self.period // 2}"
            )
        return self

    @property
    def period(self) -> int:
        """After how many degrees values repeat."""
        return PERIODS[self.feature]

    @property
    def count(self) -> int:
        """The number of possible answers."""
        return self.period // self.step

    @property
    def _classes(self) -> int:
        return self.bins or self.count

    def allows(self, value: Any) -> bool:
        return (
            isinstance(value, int)
            and not isinstance(value, bool)
            and 0 <= value < self.period
            and value % self.step == 0
        )

    def question(self) -> str:
        what = {
            "orientation": "its orientation in degrees",
            "colour": "the number of its colour",
            "location": "its location in degrees",
        }[self.feature]
        steps = "" if self.step == 1 else f" in steps of {self.step}"
        return f"Answer with {what}: one whole number from 0 to {self.period - self.step}{steps}."

    def allowed_values(self) -> str:
        return (
            "a whole number of degrees from 0 to"
            f" {self.period - self.step}{'' if self.step == 1 else f' in steps of {self.step}'}"
        )

    def legend(self, reader: Literal["participant", "words"], language: str = "en") -> str:
        if reader == "words":
            named = ""
            if self.feature == "colour":
                listed = ", ".join(f"{number} is rgb{wheel_colour(number)}" for number in range(0, 360, _NAMED_EVERY))
                named = f" In sRGB, {listed}."
            return f"{self.question()} {_COUNTED[self.feature]}{named}"
        return sentence(f"legend.{self.feature}", language, step=self.step, ten=10 * self.step)

    def surface(self) -> Surface:
        values = tuple(range(0, self.period, self.step))
        dial = Dial(
            CANVAS / 2,
            CANVAS / 2,
            self.radius,
            self.dead,
            self.step,
            values,
            self.turned,
            values.index(self.start),
            _MARKS[self.feature],
        )
        return Surface(dial=dial)

    def label(self, value: int | str) -> str:
        return f"{value}°"

    def parse(self, text: str) -> Answer | None:
        """The one number in a reply, with its unit or without; None where there is another number,
        one outside the scale, or words that change its meaning."""
        numbers = list(_NUMBER.finditer(text))
        if len(numbers) != 1 or negated(text) or _OTHERWISE.search(text):
            return None
        (number,) = numbers
        if _DIGITS.search(text[: number.start()] + text[number.end() :]):
            return None
        value = float(number[1])
        if not 0 <= value < self.period:
            return None
        return self.step * (int(value / self.step + 0.5) % self.count)

    def write(self, answer: Answer) -> str:
        return str(answer)

    def answer_schema(self) -> dict[str, Any] | None:
        if self.step > 1:
            return {"type": "integer", "enum": list(range(0, self.period, self.step))}
        return {"type": "integer", "minimum": 0, "maximum": self.period - 1}

    def answer_from_json(self, value: Any) -> Answer | None:
        return self.allowed(value)

    def from_logits(
        self, logits: np.ndarray, classes: Sequence[int] | None = None, all_classes: bool = False
    ) -> Answer | None:
        """The middle of the class with the highest output."""
        allowed = list(range(self._classes) if classes is None else classes)
        if all_classes:
            chosen = int(np.argmax(logits))
            return self._middle(allowed.index(chosen)) if chosen in allowed else None
        return self._middle(int(np.argmax(logits[allowed])))

    def _middle(self, number: int) -> int:
        """The possible answer in the middle of a class; of two, the lower one."""
        wide = self.count // self._classes
        return self.step * (number * wide + (wide - 1) // 2)

    def target(self, answer: Answer) -> int | tuple[int, ...]:
        assert isinstance(answer, int)
        return answer // self.step // (self.count // self._classes)

    def guess(self, random: np.random.RandomState) -> Answer:
        return self.step * int(random.randint(self.count))

    def chance(self) -> float:
        return (2 * (self.tolerance // self.step) + 1) / self.count

    def error(self, answer: int, correct: int) -> float:
        """Return the signed error of an answer, clockwise positive, the shorter way round: above
        minus half a period, up to half a period."""
        half = self.period / 2
        return half - (half - (answer - correct)) % self.period

    def score(self, answer: Answer | None, correct: Answer) -> list[ItemScore]:
        assert isinstance(correct, int)
        reported = answer if isinstance(answer, int) else None
        error = None if reported is None else self.error(reported, correct)
        right = error is not None and abs(error) <= self.tolerance
        return [
            ItemScore(reported, correct, right, error=error, period=float(self.period), tolerance=float(self.tolerance))
        ]
