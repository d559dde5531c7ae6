"""One of several: two-alternative keys, number pads, patterns to click.

In a reply one of several labels is read; what could mean two of them, or the opposite of one, means
none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from ...core.json_values import grouped
from ...core.locale import sentence
from ...core.registry import Places, Words
from .base import RESPONSES, WHOLE_CANVAS, Answer, Area, ItemScore, Region, ResponseKind, Surface, row_regions
from .keys import AnswerKeys, key_label, own_keys
from .wording import DASH_END, HEAD_END, alike, dashed, negated, undressed

#: So many characters may stand around a label that makes a whole reply, or its head.
_ROOM = 60
#: Letters and digits, and what such signs join to one word; the last is what stands for broken
#: characters.
_WORD = re.compile("[^\\W_]+(?:[-‐‑/.'’\ufffd][^\\W_]+|\ufffd)*")
_JOINTS = re.compile("[-‐‑/.'’\ufffd]")
_NUMBER = re.compile(r"(\d+)(?:st|nd|rd|th)?")
#: what takes an answer back
_CORRECTS = re.compile(
    r"(?<![^\W_])(?:wait|actually|correction|sorry|hmm|no,|or|rather|oder|ou|doch|moment)(?![^\W_])", re.IGNORECASE
)
_BEFORE = r"[^\S\n]*[*_`'\"“‘(\[]*"
_AFTER = r"[*_`'\"”’)\]]*"


def read_label(text: str, labels: Sequence[str]) -> int | None:
    """The number of the label that a reply gives, or None.

    It gives one when it is nothing else (whatever the case, quotes and bold type); when it begins
    with one, then a colon, a full stop, a bracket, a new line or *because*, and offers no other one
    after it; or when only one occurs in it, as a word or a number of its own, and nothing is denied
    there. Within a longer reply a single letter or sign means nothing ("a match", "m - maybe").
    """
    number = _whole(text, labels)
    if number is not None:
        return number
    room = max(map(len, labels)) + _ROOM
    start = text.lstrip()
    ends = [HEAD_END] if any(len(label) == 1 and not label.isdigit() for label in labels) else [HEAD_END, DASH_END]
    for end in sorted(
        (end for pattern in ends for end in pattern.finditer(start, 0, room)), key=lambda end: end.start()
    ):
        number = _whole(start[: end.start()], labels)
        if number is not None:
            return None if _offers_another(start[end.end() :], labels, number) else number
    return _only(text, labels)


def _whole(text: str, labels: Sequence[str]) -> int | None:
    """The label that a text is, but for what stands around it."""
    if text in labels:
        return labels.index(text)
    if len(text.strip()) > max(map(len, labels)) + _ROOM:
        return None
    for form in undressed(text):
        if form in labels:
            return labels.index(form)
        if like := _like(tuple(labels)).get(alike(form), ()):
            return like[0] if len(like) == 1 else None
    return None


@lru_cache(maxsize=512)
def _like(labels: tuple[str, ...]) -> dict[str, list[int]]:
    """The numbers of the labels, by what they have in common with all texts that are like them."""
    return grouped((alike(label), number) for number, label in enumerate(labels))


def _only(text: str, labels: Sequence[str]) -> int | None:
    """The only label that occurs as a word or a number."""
    if negated(text, frozenset(label.lower() for label in labels)):
        return None
    options, numbers, unclear = _occurring(text, labels)
    if unclear or len(options) != 1 or (all(label.isdigit() for label in labels) and len(numbers) > 1):
        return None
    return options.pop()


def _offers_another(rest: str, labels: Sequence[str], number: int) -> bool:
    """Return whether what follows a label may mean another one."""
    options, _, unclear = _occurring(rest, labels)
    if unclear or (options - {number} and (all(label.isdigit() for label in labels) or _CORRECTS.search(rest))):
        return True
    rest = dashed(rest)
    # Words, letters and signs occur in reasons; they are offered as answers in a line of their own,
    # before a colon, or after "or".
    others = [re.escape(dashed(label)) for n, label in enumerate(labels) if n != number and label.strip()]
    sign = rf"(?:{'|'.join(others)})"
    offered = rf"(?:\A|\n){_BEFORE}{sign}{_AFTER}[^\S\n]*(?:[:.)]|\n|\Z)|\s{sign}:|\bor\b{_BEFORE}{sign}(?!\w)"
    return re.search(offered, rest) is not None


def _occurring(text: str, labels: Sequence[str]) -> tuple[set[int], set[str], bool]:
    """The labels that occur in a text, all numbers in it, and whether a label is part of a word in
    which it may mean something else."""
    options: set[int] = set()
    numbers: set[str] = set()
    unclear = False
    # Labels of several words are taken out first, the longest first: "left" does not occur in "top
    # left".
    several = sorted((label for label in labels if re.fullmatch(r"\w.*\W.*\w", label)), key=len, reverse=True)
    if several:
        pattern = re.compile("|".join(rf"\b(?i:{label[0]}){re.escape(label[1:])}\b" for label in several))
        options |= {number for match in pattern.finditer(text) if (number := _named(match[0], labels)) is not None}
        text = pattern.sub(" ", text)
    for match in _WORD.finditer(text):
        word = match[0]
        before = text[match.start() - 1] if match.start() else " "
        number = _named(word, labels)
        if any(character.isdigit() for character in word):
            plain = _NUMBER.fullmatch(word)
            if before in "-+−.,\ufffd":
                numbers.add(before + word)
            else:
                numbers.add(plain[1] if plain else word)
                number = _named(plain[1], labels) if plain else number
                if number is not None:
                    options.add(number)
        elif len(word) > 1:
            if number is not None:
                options.add(number)
                unclear |= before == "\ufffd"
            else:
                parts = [_named(part, labels) if len(part) > 1 else None for part in _JOINTS.split(word)]
                unclear |= any(part is not None for part in parts[1:]) or (
                    parts[0] is not None and "\ufffd" in word + before
                )
                if parts[0] is not None:
                    options.add(parts[0])
    return options, numbers, unclear


def _named(word: str, labels: Sequence[str]) -> int | None:
    """Return the label that a word stands for. A longer one may begin with a capital, as at the
    beginning of a sentence."""
    forms = (word, word[:1].lower() + word[1:]) if len(word) > 1 else (word,)
    return next((labels.index(form) for form in forms if form in labels), None)


#: the same sign on a number pad
_ALSO = {"minus": "num_subtract", "plus": "num_add"}
#: main-row digit keys name options in reading order; keypad keys name them by where they lie
_KEYPAD_3X3 = ("num_7", "num_8", "num_9", "num_4", "num_5", "num_6", "num_1", "num_2", "num_3")

Options = int | tuple[str | None, ...]
_LAYOUT = re.compile(r"(\d{1,2})x(\d{1,2})|\d{1,2}(?:\+\d{1,2})+")


def layout_rows(layout: str) -> tuple[int, ...]:
    """The number of places in each row of a layout such as 3x3 (columns x rows) or 3+3+2; empty
    where it is neither."""
    match = _LAYOUT.fullmatch(layout)
    if match is None:
        return ()
    return (int(match[1]),) * int(match[2]) if match[1] else tuple(map(int, layout.split("+")))


@lru_cache(maxsize=1024)
def _places(options: Options) -> tuple[int | str | None, ...]:
    return tuple(range(options)) if isinstance(options, int) else options


@lru_cache(maxsize=1024)
def values_of(options: Options) -> tuple[int | str, ...]:
    """The answers that are chosen from: places by their numbers, or words."""
    return tuple(value for value in _places(options) if value is not None)


@RESPONSES.register
class Choice(ResponseKind):
    """One answer out of several.

    With ``options: 9`` the answers are positions: 0 to 8 in the record, 1 to 9 for people and
    models. With a list of words the answers are these words. With words and a layout, the words are
    what is seen at the places, in the order of these, with null for places where nothing can be
    chosen.
    """

    name: ClassVar[str] = "choice"
    beside_the_trial: ClassVar[frozenset[str]] = frozenset({"swap"})

    options: Annotated[int, Field(ge=2, le=100)] | Places = Field(
        description=(
            "number of positions to choose from, or the list of possible answers (with a layout, null for a place"
            " without one)"
        )
    )
    layout: str | None = Field(
        None,
        description=(
            "where positions are: columns x rows, such as 3x3, or centred rows, such as 3+3+2; makes the canvas"
            " clickable"
        ),
    )
    within: Area | None = Field(
        None, description="the clickable part of the canvas as [x0, y0, x1, y1]; the whole canvas if not given"
    )
    keys: Words | None = Field(
        None,
        description=(
            "one key per option, as PsychoPy names them; if not given, digits in reading order (or the words' own keys)"
        ),
    )
    swap: bool = Field(
        True,
        description="whether a session may swap the keys of two words; false if the words name the sides of the keys",
    )

    @model_validator(mode="after")
    def _consistent(self) -> Choice:
        if isinstance(self.options, tuple):
            if self.count < 2 or len(set(self.values)) != self.count:
                raise ValueError("options must be at least two different words")
            if self.layout is None and None in self.options:
                raise ValueError(
                    "an option may be null only where there is a layout: as a place where nothing can be chosen"
                )
        if self.layout is not None and (not all(self._rows) or sum(self._rows) < len(self._places)):
            room = f"with room for {len(self._places)} options, such as 3x3 (or rows, such as 3+3+2)"
            raise ValueError(f"layout must be columns x rows {room}; found '{self.layout}'")
        if self.within is not None and self.layout is None:
            raise ValueError("within needs a layout")
        if self.keys is not None and self._seen:
            raise ValueError("keys cannot be chosen for words at places: digits are the numbers of the places")
        if self.keys is not None and (len(self.keys) != self.count or len(set(self.keys)) != self.count):
            raise ValueError(f"keys must name {self.count} different keys, one per option; found {len(self.keys)}")
        return self

    @property
    def count(self) -> int:
        """The number of options."""
        return len(self.values)

    @property
    def values(self) -> tuple[int | str, ...]:
        """The answers, as recorded."""
        return values_of(self.options)

    @property
    def _places(self) -> tuple[int | str | None, ...]:
        """The option at each place."""
        return _places(self.options)

    @property
    def _rows(self) -> tuple[int, ...]:
        """The number of places in each row of the layout; empty if there is no readable layout."""
        return layout_rows(self.layout or "")

    @property
    def _seen(self) -> bool:
        """True if the options are words that are seen at their places."""
        return isinstance(self.options, tuple) and self.layout is not None

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

    def allowed_values(self) -> str:
        if isinstance(self.options, int):
            return (
                f"a whole number from 0 to {self.options - 1} (places count from 0, so 1 in the words of the question"
                " is 0 here)"
            )
        return f"one of the texts {', '.join(map(repr, self.values))}"

    def legend(self, reader: Literal["participant", "words"], language: str = "en") -> str:
        # Words that are seen differ from trial to trial, and are not to be known before: these
        # texts do not name them.
        if reader == "words":
            if not isinstance(self.options, int):
                return "Answer with one of the words that are shown." if self._seen else self.question()
            return self.question() + (
                " Positions are numbered row by row, starting at the top left." if self.layout else ""
            )
        if self._seen:
            last, name = len(self._places), "or_digit_keypad" if self.layout == "3x3" else "or_digit"
            number = [sentence(f"legend.{name}", language, last=last)] if last <= 9 else []
            return " ".join([sentence("legend.click_word", language), *number])
        parts = [sentence("legend.click", language)] if self.layout is not None else []
        keys = self._main_keys()
        if keys:
            digits = keys == self.labels and len(keys) > 2 and "".join(keys) == "123456789"[: len(keys)]
            named = [
                (key_label(key, language), self.label(value)) for key, value in zip(keys, self.values, strict=False)
            ]
            pressed = ", ".join(key if key == label else f"{key} = {label}" for key, label in named)
            instead, how = "or_" if parts else "", "digit" if digits else "key"
            how += "_keypad" if digits and parts and self.layout == "3x3" else ""
            parts.append(sentence(f"legend.{instead}{how}", language, last=len(keys), keys=pressed))
        return " ".join(parts)

    def answer_names(self) -> tuple[str, ...]:
        return () if self._seen else self.labels

    def with_keys(self, keys: AnswerKeys) -> Choice:
        kind = self._keyed(keys)
        called = tuple((name, keys.words[name]) for name in self.answer_names() if name in keys.words)
        return CalledChoice.model_validate({**kind.model_dump(), "called": called}) if called else kind

    def _keyed(self, keys: AnswerKeys) -> Choice:
        names = self.answer_names()
        if not names:
            return self
        present = self._main_keys()
        chosen_keys = [
            keys.custom.get(name, key) for name, key in zip(names, present or (None,) * len(names), strict=True)
        ]
        keys_of_options = tuple(key for key in chosen_keys if key is not None)
        if len(keys_of_options) < len(names):
            return self  # there are no keys, and not every answer is given one
        for key in keys_of_options:
            if keys_of_options.count(key) > 1:
                both = " and ".join(
                    f"'{name}'" for name, other in zip(names, keys_of_options, strict=True) if other == key
                )
                raise ValueError(
                    f"the key '{key}' would stand for {both} in one question; give each of them a key of its own"
                )
        # The keys stay in their order, so that a legend begins with the same key for everybody.
        options = self._places[::-1] if keys.swapped and self._may_swap(keys_of_options) else self.options
        return (
            self
            if (options, keys_of_options) == (self.options, present)
            else self.model_copy(update={"options": options, "keys": keys_of_options})
        )

    def _may_swap(self, keys: tuple[str, ...]) -> bool:
        words = isinstance(self.options, tuple) and self.layout is None and self.count == 2
        return words and self.swap and keys != self._letter_keys()

    def _main_keys(self) -> tuple[str, ...]:
        return self.keys if self.keys is not None else self._natural_keys()

    def _natural_keys(self) -> tuple[str, ...]:
        """Digits in reading order, or the words' own keys."""
        if len(self._places) > 9:
            return ()
        return self._letter_keys() or tuple(str(n + 1) for n, word in enumerate(self._places) if word is not None)

    def _letter_keys(self) -> tuple[str, ...]:
        """The words' own keys, where each word is a letter or sign with a key to itself; none where
        one of them has no such key."""
        if self._seen or isinstance(self.options, int):
            return ()
        return own_keys(self.labels)

    def surface(self) -> Surface:
        keys = list(zip(self._main_keys(), self.values, strict=False))
        # In rows of different lengths a key of the number pad could mean its number as well as
        # where it lies.
        if (
            self.keys is None
            and len(set(self._rows)) <= 1
            and (isinstance(self.options, int) or (self._seen and len(self.options) <= 9))
        ):
            keypad = (
                _KEYPAD_3X3 if self.layout == "3x3" else tuple(f"num_{n + 1}" for n in range(min(len(self._places), 9)))
            )
            keys += [(key, value) for key, value in zip(keypad, self._places, strict=False) if value is not None]
        keys += [
            (alias, value) for key, value in keys if (alias := _ALSO.get(key)) is not None and alias not in dict(keys)
        ]
        return Surface(keys=tuple(keys), regions=self._regions(), outlined=self.within is not None)

    def _regions(self) -> tuple[Region, ...]:
        return row_regions(self._places, self._rows, self.within or WHOLE_CANVAS) if self._rows else ()

    def parse(self, text: str) -> Answer | None:
        """Read an answer: the bare label, a label at the head of a reply (then come reasons), or
        the only label in a longer reply that denies nothing."""
        number = read_label(text, self.labels)
        return None if number is None else self.values[number]

    def write(self, answer: Answer) -> str:
        return self.labels[self.values.index(answer)]  # type: ignore[arg-type]

    def written_answers(self) -> tuple[str, ...]:
        return self.labels

    def answer_schema(self) -> dict[str, Any] | None:
        return {"type": "string", "enum": list(self.labels)}

    def answer_from_json(self, value: Any) -> Answer | None:
        return self.values[self.labels.index(value)] if isinstance(value, str) and value in self.labels else None

    def from_logits(
        self, logits: np.ndarray, classes: Sequence[int] | None = None, all_classes: bool = False
    ) -> Answer | None:
        class_numbers = list(range(self.count) if classes is None else classes)
        if len(logits) == 1 and self.count == 2:
            return self.values[class_numbers.index(int(logits[0] > 0))]
        if all_classes:
            chosen = int(np.argmax(logits))
            return self.values[class_numbers.index(chosen)] if chosen in class_numbers else None
        return self.values[int(np.argmax(logits[class_numbers]))]

    def target(self, answer: Answer) -> int | tuple[int, ...]:
        return self.values.index(answer)  # type: ignore[arg-type]

    def guess(self, random: np.random.RandomState) -> Answer:
        return self.values[int(random.randint(self.count))]

    def chance(self) -> float:
        return 1 / self.count

    def score(self, answer: Answer | None, correct: Answer) -> list[ItemScore]:
        return [ItemScore(answer=answer, correct_answer=correct, correct=answer == correct)]  # type: ignore[arg-type]


class CalledChoice(Choice):
    """A choice at the window, whose answers a person reads in other words; what is answered and
    recorded stays as it is."""

    called: tuple[tuple[str, str], ...] = Field(description="answers, each with the text that replaces it")

    def label(self, value: int | str) -> str:
        return dict(self.called).get(str(value)) or super().label(value)
