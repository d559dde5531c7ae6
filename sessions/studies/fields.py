"""Questions about a participant: the fields of a study, and checks of what was typed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, StrictFloat, StrictInt, StrictStr, model_validator

from ...core.locale import by_language, sentence
from ...core.registry import StrictModel, nearest

_WHOLE = re.compile(r"[-+]?[0-9]{1,15}")
#: a comma is as good as a point
_NUMBER = re.compile(r"[-+]?[0-9]{1,15}([.,][0-9]{1,15})?")

Text = Annotated[str, Field(min_length=1, max_length=20_000)]
#: a text in each language of the study
Texts = Annotated[dict[str, Text], Field(min_length=1)]
Bound = StrictInt | StrictFloat
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,40}$")]
_LONGEST = 500


class FieldPart(StrictModel):
    """One question about a participant."""

    name: Name = Field(description="short name, for the record and for --field NAME=VALUE")
    label: Texts = Field(description="what the dialog asks, by language")
    type: Literal["text", "whole", "number", "choice", "yes_no"] = Field(default="text", description="what is expected")
    range: Annotated[list[Bound], Field(min_length=2, max_length=2)] | None = Field(
        default=None, description="lowest and highest value, of numbers"
    )
    choices: Annotated[list[StrictStr], Field(min_length=2, max_length=50)] | dict[str, Texts] | None = Field(
        default=None, description="for type choice: the values, or what the dialog calls each value, by language"
    )
    required: bool = Field(default=True, description="whether a session needs it to begin")
    each_session: bool = Field(default=False, description="whether it is asked in every session, not only once")

    @model_validator(mode="after")
    def _fits(self) -> FieldPart:
        if (self.type == "choice") != (self.choices is not None):
            raise ValueError("'choices' belong to the type choice, and it needs them")
        if self.range is not None and self.type not in ("whole", "number"):
            raise ValueError("a range is for the types whole and number")
        if self.range is not None and self.range[0] > self.range[1]:
            raise ValueError(f"the range begins ({self.range[0]:g}) above its end ({self.range[1]:g})")
        if isinstance(self.choices, list) and len(set(self.choices)) < len(self.choices):
            raise ValueError("a choice occurs twice")
        if any(not value.strip() or value != value.strip() for value in self.choices or ()):
            raise ValueError("a choice is a word, without blanks before or after it")
        return self

    def labels(self, language: str) -> dict[str, str]:
        """The values that can be chosen, each with its label in the dialog."""
        if self.type == "yes_no":
            return {value: sentence(f"fields.{value}", language) for value in ("yes", "no")}
        if isinstance(self.choices, list):
            return {value: value for value in self.choices}
        return {value: called[language] for value, called in (self.choices or {}).items()}

    def expected(self, language: str = "en") -> str:
        """The form of a valid answer, in words."""
        if self.choices is not None:
            return sentence("wrong.one_of", language, values=", ".join(self.choices))
        if self.type in ("text", "yes_no"):
            return sentence("wrong.yes_or_no" if self.type == "yes_no" else "wrong.one_line", language, most=_LONGEST)
        low, high = self.range or (0, 0)
        what, within = "whole" if self.type == "whole" else "a_number", "" if self.range is None else "_range"
        return sentence(f"wrong.{what}{within}", language, low=low, high=high)

    def read(self, typed: str, language: str = "en") -> Any:
        """Read the value from what was typed.

        Raises
        ------
        ValueError
            when it does not fit; says what was expected.
        """
        typed = typed.strip()
        value: Any = typed
        if self.type == "choice":
            fits = typed in (self.choices or ())
        elif self.type == "yes_no":
            fits, value = typed in ("yes", "no"), typed == "yes"
        elif self.type == "text":
            fits = len(typed) <= _LONGEST and typed.isprintable()
        else:
            fits = bool((_WHOLE if self.type == "whole" else _NUMBER).fullmatch(typed))
            value = (int(typed) if self.type == "whole" else float(typed.replace(",", "."))) if fits else 0
            fits = fits and (self.range is None or self.range[0] <= value <= self.range[1])
        if not fits:
            raise ValueError(sentence("wrong.expected", language, what=self.expected(language), found=repr(typed[:60])))
        return value


def _common_choice(name: str, *values: str) -> FieldPart:
    return FieldPart(
        name=name,
        label=by_language(f"fields.{name}"),
        type="choice",
        choices={value: by_language(f"fields.{name}_{value}") for value in values},
    )


#: fields that many studies ask, by a short name
COMMON: dict[str, FieldPart] = {
    "age": FieldPart(name="age", label=by_language("fields.age"), type="whole", range=[1, 120]),
    "sex": _common_choice("sex", "f", "m", "x", "unsaid"),
    "handedness": _common_choice("handedness", "right", "left", "both"),
    "vision": _common_choice("vision", "normal", "corrected", "impaired"),
}


def missing_texts(field: FieldPart, languages: Sequence[str]) -> str | None:
    """The first language of a study in which a field has no words, or None."""
    texts: list[Mapping[str, str]] = [field.label, *(field.choices.values() if isinstance(field.choices, dict) else ())]
    return next((language for language in languages for text in texts if language not in text), None)


def read_typed(
    fields: Sequence[FieldPart], typed: Mapping[str, str], earlier: Mapping[str, Any], language: str = "en"
) -> tuple[dict[str, Any], dict[str, str]]:
    """Read what was typed: the values, and for each field what is wrong with it.

    Parameters
    ----------
    typed : by field; empty text is not an answer
    earlier : values from earlier sessions; a field that is asked once needs no answer when it is
        among them
    language : of who reads what is wrong
    """
    values: dict[str, Any] = {}
    wrong: dict[str, str] = {}
    names = [field.name for field in fields]
    for name in typed:
        if name not in names:
            wrong[name] = (
                "the study does not ask"
                f" '{name}'{nearest(name, names) or ('; it asks ' + ', '.join(names) if names else '; it asks nothing')}"  # noqa: E501
            )
    for field in fields:
        text = typed.get(field.name, "")
        if text.strip():
            try:
                values[field.name] = field.read(text, language)
            except ValueError as error:
                wrong[field.name] = str(error)
        elif field.name in earlier and not field.each_session:
            values[field.name] = earlier[field.name]
        elif field.required:
            wrong[field.name] = sentence("wrong.needed", language)
    return values, wrong
