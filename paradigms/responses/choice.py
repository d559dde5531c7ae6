"""One of several: two-alternative keys, number pads, patterns to click."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from ...components import Words
from .base import RESPONSES, Answer, ItemScore, ResponseKind, Surface
from .regions import WHOLE_CANVAS, Area, Region, grid_regions

_LAYOUT = re.compile(r"^(\d+)x(\d+)$")
#: main-row digit keys name options in reading order; keypad keys name them by where they lie
_KEYPAD_3X3 = ("num_7", "num_8", "num_9", "num_4", "num_5", "num_6", "num_1", "num_2", "num_3")


_LEGEND: dict[str, dict[str, str]] = {
    "en": {
        "click": "Click on the position.",
        "digit": "Press a key from 1 to {last}.",
        "or_digit": "Or press a key from 1 to {last}.",
        "key": "Press one of these keys: {keys}.",
        "or_key": "Or press one of these keys: {keys}.",
    },
    "de": {
        "click": "Klicken Sie auf den Platz.",
        "digit": "Drücken Sie eine Taste von 1 bis {last}.",
        "or_digit": "Oder drücken Sie eine Taste von 1 bis {last}.",
        "key": "Drücken Sie eine dieser Tasten: {keys}.",
        "or_key": "Oder drücken Sie eine dieser Tasten: {keys}.",
    },
}


@RESPONSES.register
class Choice(ResponseKind):
    """One answer out of several.

    With ``options: 9`` the answers are positions: 0 to 8 in the record, 1 to 9 for people and models. With a list of words the answers are these words.
    """

    name: ClassVar[str] = "choice"

    options: Annotated[int, Field(ge=2, le=100)] | Words = Field(description="how many positions there are to choose from, or the list of possible answers")
    layout: str | None = Field(None, description="positions as a grid of columns x rows, such as 3x3: makes the canvas clickable")
    within: Area | None = Field(None, description="the clickable part of the canvas as [x0, y0, x1, y1]; the whole canvas when not given")
    keys: Words | None = Field(None, description="one key per option, as PsychoPy names them; digits in reading order (or the words' own keys) when not given")

    @model_validator(mode="after")
    def _consistent(self) -> Choice:
        if isinstance(self.options, tuple) and (len(self.options) < 2 or len(set(self.options)) != len(self.options)):
            raise ValueError("options must be at least two different words")
        if self.layout is not None:
            match = _LAYOUT.match(self.layout)
            if match is None or int(match[1]) * int(match[2]) < self.count:
                raise ValueError(f"layout must be columns x rows with room for {self.count} options, such as 3x3; found '{self.layout}'")
        if self.within is not None and self.layout is None:
            raise ValueError("within needs a layout")
        if self.keys is not None and (len(self.keys) != self.count or len(set(self.keys)) != self.count):
            raise ValueError(f"keys must name {self.count} different keys, one per option; found {len(self.keys)}")
        return self

    @property
    def count(self) -> int:
        """The number of options."""
        return self.options if isinstance(self.options, int) else len(self.options)

    @property
    def values(self) -> tuple[int | str, ...]:
        """The answers, as recorded."""
        return tuple(range(self.options)) if isinstance(self.options, int) else self.options

    @property
    def labels(self) -> tuple[str, ...]:
        """The answers, as people and models write them."""
        return tuple(str(value + 1) if isinstance(value, int) else value for value in self.values)

    def allows(self, value: Any) -> bool:
        return isinstance(value, (int, str)) and not isinstance(value, bool) and value in self.values

    def question(self) -> str:
        if isinstance(self.options, int):
            return f"Answer with one number from 1 to {self.options}."
        return "Answer with one of: " + ", ".join(self.labels) + "."

    def legend(self, reader: Literal["participant", "words"], language: str = "en") -> str:
        if reader == "words":
            if not isinstance(self.options, int):
                return self.question()
            return self.question() + (" Positions are numbered row by row, starting at the top left." if self.layout else "")
        texts = _LEGEND.get(language, _LEGEND["en"])
        parts = [texts["click"]] if self.layout is not None else []
        keys = self._main_keys()
        if keys:
            digits = keys == self.labels and len(keys) > 2 and "".join(keys) == "123456789"[: len(keys)]
            pressed = ", ".join(key if key == label else f"{key} = {label}" for key, label in zip(keys, self.labels, strict=False))
            parts.append(texts["or_digit" if parts else "digit"].format(last=len(keys)) if digits else texts["or_key" if parts else "key"].format(keys=pressed))
        return " ".join(parts)

    def _main_keys(self) -> tuple[str, ...]:
        if self.keys is not None:
            return self.keys
        if isinstance(self.options, int):
            return tuple(str(n + 1) for n in range(self.options)) if self.options <= 9 else ()
        if all(len(word) == 1 for word in self.options):
            return tuple({"-": "minus", "+": "plus", " ": "space"}.get(word, word) for word in self.options)
        return tuple(str(n + 1) for n in range(self.count)) if self.count <= 9 else ()

    def surface(self) -> Surface:
        keys = list(zip(self._main_keys(), self.values, strict=False))
        if self.keys is None and isinstance(self.options, int):
            keypad = _KEYPAD_3X3 if self.layout == "3x3" else tuple(f"num_{n + 1}" for n in range(min(self.count, 9)))
            keys += list(zip(keypad, self.values, strict=False))
        return Surface(keys=tuple(keys), regions=self._regions())

    def _regions(self) -> tuple[Region, ...]:
        match = _LAYOUT.match(self.layout or "")
        return grid_regions(self.values, int(match[1]), int(match[2]), self.within or WHOLE_CANVAS) if match is not None else ()

    def parse(self, text: str) -> Answer | None:
        """Read an answer: the bare label, or the only label in a longer reply."""
        stripped = text.strip().strip("'\"`*.()[] ").strip() or text.strip()
        if stripped in self.labels:
            return self.values[self.labels.index(stripped)]
        # Within a longer reply a single letter or sign means nothing ("a match", "m - maybe"): only numbers and words of some length are looked for.
        tokens = re.findall(r"\d+|[^\W\d_]{2,}", text)
        found = {token for token in tokens if token in self.labels}
        numbers = {token for token in tokens if token.isdigit()}
        if len(found) == 1 and (not isinstance(self.options, int) or len(numbers) == 1):
            return self.values[self.labels.index(found.pop())]
        return None

    def write(self, answer: Answer) -> str:
        return self.labels[self.values.index(answer)]  # type: ignore[arg-type]

    def from_logits(self, logits: np.ndarray, classes: Sequence[int] | None = None, all_classes: bool = False) -> Answer | None:
        own = list(range(self.count) if classes is None else classes)
        if len(logits) == 1 and self.count == 2:
            return self.values[own.index(int(logits[0] > 0))]
        if all_classes:
            chosen = int(np.argmax(logits))
            return self.values[own.index(chosen)] if chosen in own else None
        return self.values[int(np.argmax(logits[own]))]

    def target(self, answer: Answer) -> int | tuple[int, ...]:
        return self.values.index(answer)  # type: ignore[arg-type]

    def guess(self, random: np.random.RandomState) -> Answer:
        return self.values[int(random.randint(self.count))]

    def chance(self) -> float:
        return 1 / self.count

    def score(self, answer: Answer | None, correct: Answer) -> list[ItemScore]:
        return [ItemScore(answer=answer, correct_answer=correct, correct=answer == correct)]  # type: ignore[arg-type]
