"""An open question: what somebody answers in words of their own, over several lines. There is no
right answer, so nothing is scored."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase, digits
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator
from typing_extensions import override

from ...core.locale import sentence
from .base import RESPONSES, Answer, Ordered, ResponseKind, Surface
from .regions import Area, row_regions
from .text import FURTHER, KEY_NAMES, UNKNOWN

#: The part of the area that the text takes; the keys to click on lie below it.
_TEXT, _IN_A_ROW = 0.62, 14
_SIGNS = ".,' "


@RESPONSES.register
class OpenText(ResponseKind):
    """Free text, such as how somebody went about a task. `ask` has no 'answer', and the rows of the
    table have no 'correct'.

    At the window and in a browser people type small letters; chat models write as they like. It may
    say who somebody is: data sets for sharing have it only with `--free-text`.
    """

    name: ClassVar[str] = "open_text"
    scored: ClassVar[bool] = False
    not_for_networks: ClassVar[str] = "a network answers with one class at a step, and writes no text"

    most: Annotated[int, Field(ge=1, le=4000)] = Field(600, description="at most so many characters")
    more: str = Field("", description="further letters that can be typed, such as äöüß")
    within: Area = Field(
        (2.0, 2.0, 94.0, 94.0), description="the part of the canvas for the text and the characters to click on"
    )

    @model_validator(mode="after")
    def _consistent(self) -> OpenText:
        wrong = next((sign for sign in self.more if sign not in FURTHER or sign in _SIGNS), None)
        if wrong is not None or len(set(self.more)) < len(self.more):
            letters = "".join(sign for sign in FURTHER if sign not in _SIGNS)
            raise ValueError(f"'more' may have these letters, each once: {letters!r}; found {self.more!r}")
        return self

    @property
    def alphabet(self) -> str:
        """Everything that people can type, in the order of the keys on the screen."""
        return ascii_lowercase + self.more + digits + _SIGNS

    @override
    def allows(self, value: Any) -> bool:
        return (
            isinstance(value, str)
            and 1 <= len(value) <= self.most
            and value == value.strip()
            and all(sign.isprintable() or sign == "\n" for sign in value)
        )

    @override
    def label(self, value: int | str) -> str:
        return str(value)

    @override
    def question(self) -> str:
        return (
            f"Answer in your own words, in at most {self.most} characters. Write {UNKNOWN} if you have nothing to say."
        )

    @override
    def allowed_values(self) -> str:
        return f"a text of 1 to {self.most} characters, or '{UNKNOWN}' for no answer"

    @override
    def legend(self, reader: Literal["participant", "words"], language: str = "en") -> str:
        if reader == "words":
            return self.question()
        return " ".join(
            sentence(f"legend.{name}", language)
            for name in ("open_text", "sequence_undo", "open_text_nothing", "sequence_done")
        )

    @override
    def surface(self) -> Surface:
        x0, y0, x1, y1 = self.within
        top = y0 + _TEXT * (y1 - y0)
        rows = [min(_IN_A_ROW, len(self.alphabet) - start) for start in range(0, len(self.alphabet), _IN_A_ROW)]
        keys = [(KEY_NAMES.get(sign, sign), sign) for sign in self.alphabet] + [
            (f"num_{sign}", sign) for sign in digits
        ]
        labels = tuple((sign, "_" if sign == " " else sign) for sign in self.alphabet)
        ordered = Ordered(self.most, unknown=True, joined=True, line=(x0, y0, x1, top), labels=labels, lines=8)
        return Surface(
            keys=tuple(keys),
            regions=row_regions(tuple(self.alphabet), rows, (x0, top, x1, y1)),
            several=True,
            ordered=ordered,
        )

    @override
    def answer_of(self, values: Sequence[int | str | None]) -> Answer:
        return "".join(UNKNOWN if value is None else str(value) for value in values).strip()

    @override
    def values_of(self, answer: Answer) -> tuple[int | str | None, ...]:
        return (None,) if answer == UNKNOWN else tuple(sign for sign in str(answer).lower() if sign in self.alphabet)

    @override
    def parse(self, text: str) -> Answer | None:
        """The whole reply; None where it is empty or too long."""
        plain = "\n".join(line.rstrip() for line in text.replace("\t", " ").strip().splitlines())
        return plain if self.allows(plain) else None

    @override
    def write(self, answer: Answer) -> str:
        return str(answer)

    @override
    def answer_schema(self) -> dict[str, Any] | None:
        return {"type": "string"}

    @override
    def answer_from_json(self, value: Any) -> Answer | None:
        return value if self.allows(value) else None

    @override
    def guess(self, random: np.random.RandomState) -> Answer:
        """Some letters, as a simulated participant types them."""
        return "".join(ascii_lowercase[int(random.randint(26))] for _ in range(min(self.most, 5)))

    @override
    def unscored_answer(self, sure: bool | None) -> Answer:
        return "i repeated the items"[: self.most].strip()
