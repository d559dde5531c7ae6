"""The options of a question as a chat model reads and writes them: in another order, or with
letters or digits for words. What is recorded stays."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field
from typing_extensions import override

from ...core.errors import SpanLabError
from ...paradigms import Answer, ResponseKind
from ...paradigms.responses import Choice
from ...paradigms.responses.choice import read_label

if TYPE_CHECKING:
    from .settings import ChatSettings


class SignedChoice(Choice):
    """A choice between words of which each has a letter or a digit; a reply may have either, but
    not the sign of one and the word of another."""

    name: ClassVar[str] = "choice"
    signs: tuple[str, ...] = Field(description="a sign for each option, in their order")

    @property
    @override
    def labels(self) -> tuple[str, ...]:
        return self.signs

    @property
    def _words(self) -> tuple[str, ...]:
        return tuple(map(str, self.values))

    @override
    def question(self) -> str:
        listed = ", ".join(f"{sign} ({word})" for sign, word in zip(self.signs, self._words, strict=True))
        return f"Answer with one {'number' if self.signs[0].isdigit() else 'letter'}: {listed}."

    @override
    def parse(self, text: str) -> Answer | None:
        found = {number for labels in (self.signs, self._words) if (number := read_label(text, labels)) is not None}
        if found and (opening := text.split()[0].strip("().:,*")) in self.signs:  # "B different", where B is same
            found.add(self.signs.index(opening))
        return self.values[found.pop()] if len(found) == 1 else None

    def names_another(self, text: str, value: Answer) -> bool:
        """Return whether a text has the word of another option than the one that was read in it."""
        number = read_label(text, self._words)
        return number is not None and self.values[number] != value

    @override
    def answer_from_json(self, value: Any) -> Answer | None:
        return self.parse(value) if isinstance(value, str) and value in (*self.signs, *self._words) else None


def as_written(kind: ResponseKind, settings: ChatSettings) -> ResponseKind:
    """Return a kind of question with its options as the settings have them; kinds whose options are
    no words, or are seen at places, stay as they are.

    It depends on nothing but the options and the settings, and so not on what is right.
    """
    if not _between_words(kind) or (settings.option_order, settings.option_signs) == ("declared", "words"):
        return kind
    assert isinstance(kind, Choice)
    words = kind.labels
    order = {"declared": words, "reversed": words[::-1], "rotated": (*words[1:], words[0])}[settings.option_order]
    values = {**kind.model_dump(exclude={"keys"}), "options": order}
    if settings.option_signs == "words":
        return Choice.model_validate(values)
    return SignedChoice.model_validate({**values, "signs": _signs(len(order), settings.option_signs)})


def _signs(count: int, signs: str) -> tuple[str, ...]:
    return tuple(ascii_uppercase[:count]) if signs == "letters" else tuple(str(number + 1) for number in range(count))


def _between_words(kind: ResponseKind) -> bool:
    return type(kind) is Choice and isinstance(kind.options, tuple) and kind.layout is None


def check_options(kinds: Sequence[ResponseKind], settings: ChatSettings) -> None:
    """Make sure that settings of options are for some question, and that no sign is a word of
    another option.

    Raises
    ------
    SpanLabError
        when they are not.
    """
    if (settings.option_order, settings.option_signs) == ("declared", "words") or not kinds:
        return
    if not any(map(_between_words, kinds)):
        raise SpanLabError(
            "chat settings: option_order and option_signs are for questions whose options are words, and these trials"
            " ask none; leave them out"
        )
    for kind in (one for one in kinds if _between_words(one) and settings.option_signs != "words"):
        words = kind.written_answers()
        signs = _signs(len(words), settings.option_signs)
        both = sorted({word.casefold() for word in words} & {sign.casefold() for sign in signs})
        if len(signs) < len(words) or both:
            why = f"'{both[0]}' is an option itself" if both else f"there are {len(words)} options"
            raise SpanLabError(
                f"chat settings: option_signs cannot be {settings.option_signs}: {why}; choose others, or words"
            )
