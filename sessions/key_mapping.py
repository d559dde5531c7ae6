"""The keys with which a participant answers: as the paradigm declares, swapped, or counterbalanced
over participants; and a study's own keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from ..core.errors import SpanLabError
from ..core.registry import StrictModel, nearest
from ..paradigms import AnswerKeys, ResponseKind
from ..paradigms.identity import digest
from ..paradigms.language.diagnostics import listed
from ..paradigms.responses.keys import is_button, key_problem

Sides = Literal["standard", "swapped", "counterbalanced"]


def _a_key(name: str) -> str:
    if problem := key_problem(name):
        raise ValueError(problem)
    return name


#: a word of a file, which may be a number
Word = Annotated[str, BeforeValidator(lambda value: str(value) if type(value) is int else value)]
Key = Annotated[Word, AfterValidator(_a_key)]


class KeySetting(StrictModel):
    """The setting ``keys`` of a session or a study."""

    sides: Sides = Field(
        default="standard",
        description=(
            "standard; swapped: the two keys of every question with two words change sides; counterbalanced: they do"
            " for every other participant"
        ),
    )
    own: dict[Word, Key] = Field(
        default_factory=dict,
        description=(
            "keys by answer, in place of those of the paradigms: {same: s, different: d}; button_1 ... are those of a"
            " button box"
        ),
    )


#: The key ``keys`` of a study file: a word, or ``{sides: ..., own: ...}``.
Keys = Annotated[KeySetting, BeforeValidator(lambda value: {"sides": value} if isinstance(value, str) else value)]


def key_setting(sides: str = "standard", pairs: Sequence[str] | None = None) -> KeySetting:
    """The key setting from the command line: ``--keys counterbalanced --key same=s --key
    different=d``.

    Raises
    ------
    SpanLabError
        when it is not understood.
    """
    if sides not in ("standard", "swapped", "counterbalanced"):
        raise SpanLabError(f"is standard, swapped or counterbalanced; found '{sides}'", option="keys")
    answer_keys: dict[str, str] = {}
    for pair in pairs or ():
        answer, sign, key = pair.rpartition("=")
        if not sign or not answer or not key or answer in answer_keys:
            raise SpanLabError(f"takes ANSWER=KEY, each answer once, such as same=s; found '{pair}'", option="key")
        try:
            answer_keys[answer] = _a_key(key)
        except ValueError as error:
            raise SpanLabError(f"{pair}: {error}", option="key") from None
    return KeySetting(sides=sides, own=answer_keys)  # type: ignore[arg-type]


def key_request(setting: KeySetting, participant: str, number: int | None = None, orders: int = 1) -> dict[str, Any]:
    """The entry on keys for the record of a session (``Request.extra["keys"]``): the setting, and
    what it means for this participant.

    Parameters
    ----------
    participant : identifier of the person
    number : of the participant in the study, from 1; one that is all digits is taken from the
        identifier where none is given
    orders : how many orders of paradigms participants go through by their numbers; sides then
        change once all of them have had their turn, so that each order comes with both
    """
    if number is None and participant.isascii() and participant.isdigit():
        number = int(participant)
    if setting.sides != "counterbalanced":
        swapped, why = setting.sides == "swapped", "the same for everybody"
    elif number is not None:
        swapped = (max(number, 1) - 1) // max(orders, 1) % 2 == 1
        why = f"participant number {number}" + (f", after {orders} orders each" if orders > 1 else "")
    else:
        swapped, why = (
            int(digest(["keys", participant], length=8), 16) % 2 == 1,
            f"hash of the identifier '{participant}'",
        )
    return {"sides": setting.sides, "swapped": swapped, "why": why, "own": dict(setting.own)}


def check_keys(keys: AnswerKeys, kinds: Iterable[ResponseKind], others: bool = False) -> None:
    """Check before a session that every question can be answered with these keys.

    Parameters
    ----------
    others : whether keys may be there for answers that these questions do not have, since other
        paradigms of the study do

    Raises
    ------
    SpanLabError
        when no question has an answer that was given a key, or two answers of a question would have
        the same key.
    """
    kinds = list(kinds)
    names = list(dict.fromkeys(name for kind in kinds for name in kind.answer_names()))
    for name, key in keys.custom.items():
        if name not in names and not others:
            hint = nearest(name, names) or (f"; there are {listed(names)}" if names else "")
            raise SpanLabError(
                f"the key '{key}' is given to '{name}', which is not an answer to any question of these trials{hint}"
            )
    for kind in kinds:
        try:
            kind.with_keys(keys)
        except ValueError as error:
            raise SpanLabError(str(error)) from None


def check_answerable(kinds: Iterable[ResponseKind]) -> None:
    """Check before a session that the window reports every key that stands for an answer.
    Characters of a typed text can be clicked on, too, and may have keys that only the keyboards of
    some countries have.

    Parameters
    ----------
    kinds : questions with the keys of the session

    Raises
    ------
    SpanLabError
        with the first key that is none, and the answer that it stands for.
    """
    for kind in kinds:
        surface = kind.surface()
        typed = surface.ordered is not None and surface.ordered.joined
        for key, value in surface.keys:
            if (problem := key_problem(key)) and not typed:
                raise SpanLabError(f"the answer '{kind.label(value)}' could not be given: {problem}")


def check_buttons(
    keys: AnswerKeys,
    box: str,
    kinds: Iterable[ResponseKind] = (),
    pages: Mapping[str, str] = MappingProxyType({}),
    pulse: str = "",
) -> None:
    """Check that answers have buttons if there is a button box, and only then; and that the keys
    that a box types, or a scanner with its ``pulse``, mean nothing else (:func:`.buttons.check_box`).

    Raises
    ------
    SpanLabError
        when either is missing, or a key would mean two things.
    """
    if box or pulse:
        from ..agents.human.input.buttons import check_box

        check_box(box, kinds, pages)
        if pulse:
            check_box(pulse, kinds, pages, pulses=True)
    buttons = {answer: key for answer, key in keys.custom.items() if is_button(key)}
    if buttons and not box:
        answer, key = next(iter(buttons.items()))
        raise SpanLabError(
            f"'{answer}' should be answered with {key}, but there is no button box; name it, such as --buttons"
            " serial:COM3 or --buttons keys:1+2"
        )
    if box and not buttons:
        raise SpanLabError(
            "there is a button box, but no answer has a button; give one to an answer, such as --key same=button_1"
            " --key different=button_2"
        )
