"""What people type: a word or number, scored, with correction and "don't know"; and an open
question, answered in words of one's own over several lines, which has no right answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from string import ascii_lowercase, digits
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from ...core.locale import sentence
from .base import RESPONSES, Answer, Area, ItemScore, Ordered, ResponseKind, Surface, row_regions
from .sequence import edit_distance
from .wording import OR, negated, undressed

#: What stands for an answer that is not known.
UNKNOWN = "?"
_SETS = {"letters": ascii_lowercase, "digits": digits, "letters_and_digits": ascii_lowercase + digits}
#: Keys whose names are not their signs.
KEY_NAMES = {
    " ": "space",
    "ä": "adiaeresis",
    "ö": "odiaeresis",
    "ü": "udiaeresis",
    "ß": "ssharp",
    ".": "period",
    ",": "comma",
    "'": "apostrophe",
}
#: what may be typed beside small letters and digits
FURTHER = "äöüßéèêàâçñáíóúåøæ .,'"
#: signs by which systems end lines, and what no text has
_LINE_ENDS = re.compile("\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_JSON = re.compile(r'\A\s*\{\s*"answer"\s*:\s*"([^"]*)"\s*\}\s*\Z')
_MARKED = re.compile(r"\*\*([^*\n]+)\*\*|\"([^\"\n]+)\"|“([^”\n]+)”|`([^`\n]+)`")
_NUMBER = re.compile(r"(?<![\w.,])\d+(?![\w]|[.,]\d)")


class _Typed(ResponseKind):
    """Text that people type, or click together from the characters below its line."""

    within: Area = Field(
        (2.0, 2.0, 94.0, 94.0), description="the part of the canvas for the typed text and the characters to click on"
    )
    #: characters in a row of the keys, and the part of the area that the text takes
    pad_shape: ClassVar[tuple[int, float]]

    @property
    def alphabet(self) -> str:
        """Everything that people can type, in the order of the keys on the screen."""
        raise NotImplementedError

    def _room(self) -> tuple[int, bool]:
        """How many characters may be typed, and whether "don't know" may be given instead."""
        raise NotImplementedError

    def label(self, value: int | str) -> str:
        return str(value)

    def surface(self) -> Surface:
        x0, y0, x1, y1 = self.within
        in_a_row, share = self.pad_shape
        most, unknown = self._room()
        top = y0 + share * (y1 - y0)
        rows = [min(in_a_row, len(self.alphabet) - start) for start in range(0, len(self.alphabet), in_a_row)]
        keys = [
            *((KEY_NAMES.get(sign, sign), sign) for sign in self.alphabet),
            *((f"num_{sign}", sign) for sign in self.alphabet if sign in digits),
        ]
        labels = tuple((sign, "_" if sign == " " else sign) for sign in self.alphabet)
        ordered = Ordered(most, unknown=unknown, joined=True, line=(x0, y0, x1, top), labels=labels)
        regions = row_regions(tuple(self.alphabet), rows, (x0, top, x1, y1))
        return Surface(keys=tuple(keys), regions=regions, several=True, ordered=ordered)

    def answer_of(self, values: Sequence[int | str | None]) -> Answer:
        return "".join(UNKNOWN if value is None else str(value) for value in values).strip()

    def write(self, answer: Answer) -> str:
        return str(answer)

    def answer_schema(self) -> dict[str, Any] | None:
        return {"type": "string"}


@RESPONSES.register
class TypedText(_Typed):
    """A typed word or number. Capitals and small letters count as the same. Scored as right or
    wrong, and by edit distance."""

    name: ClassVar[str] = "text"
    not_for_networks: ClassVar[str] = (
        "a network answers with one class at a step; ask with 'choice', which has a class for each answer"
    )

    characters: Literal["letters", "digits", "letters_and_digits"] = Field("letters", description="what can be typed")
    more: str = Field(
        "", description="further characters that can be typed, such as äöüß; a blank among them allows several words"
    )
    most: Annotated[int, Field(ge=1, le=60)] = Field(20, description="largest number of characters")
    unknown: bool = Field(True, description='whether the answer may be "don\'t know", which is recorded as ?')
    pad_shape: ClassVar[tuple[int, float]] = (9, 0.22)

    @model_validator(mode="after")
    def _consistent(self) -> TypedText:
        wrong = next((character for character in self.more if character not in FURTHER), None)
        if wrong is not None or len(set(self.more)) < len(self.more):
            raise ValueError(f"'more' may have these characters, each once: {FURTHER!r}; found {self.more!r}")
        return self

    @property
    def alphabet(self) -> str:
        return _SETS[self.characters] + self.more

    def allows(self, value: Any) -> bool:
        if not isinstance(value, str):
            return False
        if value == UNKNOWN:
            return self.unknown
        return (
            1 <= len(value) <= self.most
            and value == value.strip()
            and "  " not in value
            and all(sign in self.alphabet for sign in value.lower())
        )

    def _room(self) -> tuple[int, bool]:
        return self.most, self.unknown

    @property
    def _sort(self) -> str:
        if self.characters == "digits" and not self.more:
            return "number"
        return "text" if " " in self.more else "word"

    def question(self) -> str:
        unknown = f" Write {UNKNOWN} if you do not know." if self.unknown else ""
        return (
            f"Answer with one {self._sort} of at most {self.most}"
            f" {'digits' if self.characters == 'digits' else 'characters'} and nothing else.{unknown}"
        )

    def allowed_values(self) -> str:
        unknown = f", or '{UNKNOWN}' for one that is not known" if self.unknown else ""
        return f"a text of 1 to {self.most} of the characters {self.alphabet!r}, with no space at either end{unknown}"

    def legend(self, reader: Literal["participant", "words"], language: str = "en") -> str:
        if reader == "words":
            return self.question()
        names = ["text", "sequence_undo", *(["sequence_unknown"] if self.unknown else []), "sequence_done"]
        return " ".join(sentence(f"legend.{name}", language) for name in names)

    def values_of(self, answer: Answer) -> tuple[int | str | None, ...]:
        return (None,) if answer == UNKNOWN else tuple(str(answer).lower())

    def parse(self, text: str) -> Answer | None:
        """Read a reply that is one word (or number) but for what stands around it; else the only
        number, or the only word in bold type or quotes."""
        if (match := _JSON.match(text)) is not None:
            text = match[1]
        if text.strip() == UNKNOWN:
            return UNKNOWN if self.unknown else None
        denied = negated(text) or OR.search(text) is not None
        for form in undressed(text):
            if form != UNKNOWN and self.allows(form) and not (denied and " " in form):
                return form.lower()
        if denied:
            return None
        forms = (
            _NUMBER.findall(text)
            if self.characters == "digits"
            else [next(filter(None, match)) for match in _MARKED.findall(text)]
        )
        different = {form.strip().lower() for form in forms}
        return different.pop() if len(different) == 1 and self.allows(next(iter(different))) else None

    def answer_from_json(self, value: Any) -> Answer | None:
        return value.lower() if self.allows(value) else None

    def guess(self, random: np.random.RandomState) -> Answer:
        """Any text that can be typed, each as likely as any other of its length; the longest are by
        far the most."""
        typed = [sign for sign in self.alphabet if sign != " "]
        length = self.most if self.most > 3 else 1 + int(random.choice(self.most, p=self._lengths(len(typed))))
        return "".join(typed[int(random.randint(len(typed)))] for _ in range(length))

    def _lengths(self, signs: int) -> list[float]:
        """Return the share of all short texts that has 1, 2, ... characters."""
        many = [signs**length for length in range(1, self.most + 1)]
        return [part / sum(many) for part in many]

    def chance(self) -> float:
        return (
            0.0
            if self.most > 3
            else 1 / sum(len(self.alphabet.replace(" ", "")) ** length for length in range(1, self.most + 1))
        )

    def score(self, answer: Answer | None, correct: Answer) -> list[ItemScore]:
        """One score, with the edit distance of the whole text."""
        response, expected = "" if answer in (None, UNKNOWN) else str(answer).lower(), str(correct).lower()
        return [
            ItemScore(
                answer=answer,  # type: ignore[arg-type]
                correct_answer=correct,  # type: ignore[arg-type]
                correct=response == expected,
                edit_distance=edit_distance(response, expected),
            )
        ]


@RESPONSES.register
class OpenText(_Typed):
    """Free text, such as how somebody went about a task. `ask` has no 'answer', and the rows of the
    table have no 'correct'.

    What people write is recorded to the character, in any script: the keyboard's layout and input
    method say what a key writes. It may say who somebody is: data sets for sharing have it only
    with `--free-text`.
    """

    name: ClassVar[str] = "open_text"
    scored: ClassVar[bool] = False
    not_for_networks: ClassVar[str] = "a network answers with one class at a step, and writes no text"

    most: Annotated[int, Field(ge=1, le=4000)] = Field(600, description="largest number of characters")
    more: str = Field(
        "", description="signs that can also be clicked on, such as äöüß, for keyboards that do not have them"
    )

    @model_validator(mode="after")
    def _consistent(self) -> OpenText:
        if len(set(self.more)) < len(self.more) or not self.more.isprintable():
            raise ValueError(f"'more' has signs that can be seen, each once; found {self.more!r}")
        return self

    def allows(self, value: Any) -> bool:
        return isinstance(value, str) and 1 <= len(value) <= self.most and value == self.answer_of([value])

    def surface(self) -> Surface:
        x0, y0, x1, y1 = self.within
        top = y1 - (0.14 * (y1 - y0) if self.more else 0.0)
        regions = row_regions(tuple(self.more), (len(self.more),), (x0, top, x1, y1)) if self.more else ()
        labels = tuple((sign, sign) for sign in self.more)
        ordered = Ordered(self.most, unknown=True, joined=True, line=(x0, y0, x1, top), labels=labels, written=True)
        return Surface(regions=regions, several=True, ordered=ordered)

    def answer_of(self, values: Sequence[int | str | None]) -> Answer:
        """The text as it was written, without space around it; lines end in the same way on every
        system."""
        text = _LINE_ENDS.sub("\n", "".join(UNKNOWN if value is None else str(value) for value in values))
        return _CONTROL.sub("", text.replace("\t", " ")).strip()

    def question(self) -> str:
        return (
            f"Answer in your own words, in at most {self.most} characters. Write {UNKNOWN} if you have nothing to say."
        )

    def allowed_values(self) -> str:
        return f"a text of 1 to {self.most} characters, or '{UNKNOWN}' for no answer"

    def legend(self, reader: Literal["participant", "words"], language: str = "en") -> str:
        if reader == "words":
            return self.question()
        return " ".join(sentence(f"legend.{name}", language) for name in ("open_text", "open_text_nothing"))

    def values_of(self, answer: Answer) -> tuple[int | str | None, ...]:
        return (None,) if answer == UNKNOWN else (str(answer),)

    def parse(self, text: str) -> Answer | None:
        """The whole reply; None where it is empty or too long."""
        return self.allowed("\n".join(line.rstrip() for line in str(self.answer_of([text])).splitlines()))

    def answer_from_json(self, value: Any) -> Answer | None:
        return self.allowed(value)

    def guess(self, random: np.random.RandomState) -> Answer:
        """Some letters, as a simulated participant types them."""
        return "".join(ascii_lowercase[int(random.randint(26))] for _ in range(min(self.most, 5)))

    def unscored_answer(self, sure: bool | None) -> Answer:
        return "i repeated the items"[: self.most].strip()
