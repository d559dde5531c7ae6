"""The keys of a study file, declared once, validated and documented from here; and the orders of
its paradigms."""

from __future__ import annotations

from random import SystemRandom
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, Discriminator, Field, StrictInt, StrictStr, Tag

from ...agents.human.input.buttons import read_box
from ...agents.human.input.steps import Refractory
from ...core.errors import SpanLabError
from ...core.registry import StrictModel, schema_of
from ...paradigms import Generator
from ...paradigms.identity import MAX_MASTER_SEED, stream
from ...paradigms.language.schema import Levels, Scalar
from ...stimuli.render.palette import PaletteName
from ..key_mapping import Keys, KeySetting
from .fields import COMMON, FieldPart, Name, Texts
from .online import Online


def _a_box(text: str) -> str:
    try:
        read_box(text)
    except SpanLabError as error:
        raise ValueError(str(error)) from None
    return text


Order = Literal["fixed", "latin_square", "shuffled"]


def williams(parts: int) -> list[list[int]]:
    """Williams' design: the rows of one Latin square for an even number of parts, of two for an odd
    one.

    Over all rows, every part stands equally often at every position, and every part follows
    immediately upon every other one equally often (once in the one square, twice in the two).
    """
    zigzag = [0]
    for step in range(1, parts):
        zigzag.append((step + 1) // 2 if step % 2 else parts - step // 2)
    square = [[(part + shift) % parts for part in zigzag] for shift in range(parts)]
    return square if rows(parts) == parts else square + [row[::-1] for row in square]


def rows(parts: int) -> int:
    """Return the number of rows of Williams' design; one for a single part."""
    return max(1, parts) if parts % 2 == 0 or parts == 1 else 2 * parts


def order_of(order: Order, parts: int, study: str, number: int, session: int, seed: int | None) -> list[int]:
    """The parts in the order in which a participant takes them, as their numbers in the file (from
    0).

    Parameters
    ----------
    order : ``latin_square`` takes the row of the participant's number, in every session the same
        one; ``shuffled`` draws anew for each session
    parts : how many
    study, number, session, seed : name of the study, number of the participant, number of the
        session, seed of the study (None: what is shuffled is drawn at random, so that nobody can
        tell a number from an order)
    """
    if order == "latin_square" and parts:
        return williams(parts)[(number - 1) % rows(parts)]
    if order == "shuffled":
        if seed is None:
            return SystemRandom().sample(range(parts), parts)
        return [int(part) for part in stream(study, seed, f"order:{number}:{session}").permutation(parts)]
    return list(range(parts))


Part = TypeVar("Part", bound=BaseModel)
#: A name, or keys with values; so a mistake in one is not told as a mistake in both.
Named = Annotated[
    Annotated[StrictStr, Tag("only-a-name")] | Annotated[Part, Tag("with-settings")],
    Discriminator(lambda value: "only-a-name" if isinstance(value, str) else "with-settings"),
]


class Entry(StrictModel):
    """One paradigm of a study."""

    paradigm: str = Field(description="name in the library, or a YAML file (relative to the study file)")
    as_: Name | None = Field(
        default=None, alias="as", description="its name in the study; needed if a paradigm appears twice"
    )
    design: str | None = Field(default=None, description="design in the paradigm's file; 'human' if not given")
    set_: dict[str, Scalar | Levels] = Field(default_factory=dict, alias="set", description="levels of some factors")
    trials: Annotated[int, Field(ge=1, le=1_000_000)] | None = Field(
        default=None, description="trials instead of the design's repetitions"
    )
    place: Literal["first", "last"] | None = Field(
        default=None,
        description=(
            "first or last: it stays at the beginning or end of its sessions, and the order is that of the others"
        ),
    )
    practice: bool = Field(default=True, description="whether practice comes first, if the paradigm has some")
    generator: Generator = Field(default="corrected", description="corrected or published trials")
    triggers: dict[str, Any] = Field(
        default_factory=dict, description="trigger codes other than those of the paradigm's file, laid out as there"
    )


class Group(StrictModel):
    """A group of participants, who take the same paradigms under the same conditions."""

    name: Name = Field(description="short name, for the record")
    people: Annotated[int, Field(ge=1, le=1_000_000)] | None = Field(
        default=None, description="largest number of participants; no limit if not given"
    )
    paradigms: Annotated[list[StrictStr], Field(min_length=1)] | None = Field(
        default=None, description="what this group takes, by names in the study; all if not given"
    )
    set_: dict[str, dict[str, Scalar | Levels]] = Field(
        default_factory=dict, alias="set", description="levels of some factors in this group, by paradigm"
    )


class Breaks(StrictModel):
    """The break between two paradigms of a session."""

    text: Texts = Field(description="the page, by language")
    seconds: Annotated[float, Field(ge=0, le=3600)] = Field(default=0, description="minimum length of the break")


class RefractoryTimes(StrictModel):
    """The time after its onset from which a self-paced step takes presses, if a press has ended the
    step before."""

    same_ms: Annotated[float, Field(ge=0, le=1000)] = Field(
        default=Refractory().same_ms, description="delay for the same key or mouse button; 0 for none"
    )
    other_ms: Annotated[float, Field(ge=0, le=1000)] = Field(
        default=Refractory().other_ms, description="delay for another one; 0 for none"
    )


class StudyFile(StrictModel):
    """A study file."""

    study: Name = Field(description="short name: small letters, digits, underscores; also the folder of its data")
    title: Annotated[str, Field(min_length=1, max_length=200)] = Field(description="full title")
    languages: Annotated[list[StrictStr], Field(min_length=1)] = Field(
        default=["en"], description="languages of the participants; the first one is the default"
    )
    paradigms: Annotated[list[Named[Entry]], Field(min_length=1, max_length=100)] = Field(
        description="the paradigms: names, or names with settings"
    )
    order: Order = Field(
        default="fixed",
        description=(
            "fixed; latin_square: balanced by participant number; shuffled: drawn for each participant and session"
        ),
    )
    seed: Annotated[int, Field(ge=0, le=MAX_MASTER_SEED)] | None = Field(
        default=None,
        description=(
            "seed from which the trials and shuffled orders of each participant number follow; drawn at random if not"
            " given"
        ),
    )
    sessions: (
        Annotated[StrictInt, Field(ge=1, le=99)] | Annotated[list[list[str]], Field(min_length=1, max_length=99)]
    ) = Field(
        default=1, description="how many sessions, each with all paradigms; or the list of paradigms of each session"
    )
    groups: Annotated[list[Named[Group]], Field(min_length=2, max_length=50)] | None = Field(
        default=None,
        description=(
            "groups of participants, by names, or names with settings; everybody is assigned to one, balanced over who"
            " has come"
        ),
    )
    people: Annotated[int, Field(ge=1, le=1_000_000)] | None = Field(
        default=None, description="largest number of participants; no limit if not given"
    )
    keys: Keys = Field(
        default_factory=KeySetting,
        description="standard, swapped or counterbalanced; or sides and other keys, by answer",
    )
    display: str | None = Field(
        default=None, description="display file (relative to the study file) that sessions cite; options override it"
    )
    buttons: Annotated[str, AfterValidator(_a_box)] = Field(
        default="", description="button box of the laboratory, such as keys:f5+f6; --buttons overrides it"
    )
    font: str | None = Field(
        default=None, description="font file (relative to the study file) for letters that the shipped typeface lacks"
    )
    palette: PaletteName = Field(
        default="published",
        description=(
            "colours of the stimuli: published, or safe for people who cannot tell red from green; options override it"
        ),
    )
    refractory: RefractoryTimes = Field(
        default=RefractoryTimes(),
        description=(
            "{same_ms: 200, other_ms: 100}: when a self-paced step begins to accept the same key, or another one, if a"
            " press ended the step before"
        ),
    )
    breaks: Breaks | None = Field(default=None, description="a page between two paradigms")
    consent: Texts | None = Field(
        default=None,
        description=(
            "page with two buttons before the first paradigm, by language; asked once, and again if the text differs"
        ),
    )
    debrief: Texts | None = Field(
        default=None, description="page after the last paradigm of the last session, by language"
    )
    online: Online | None = Field(
        default=None, description="how people take part in a browser: completion code, redirect, phones, drop-outs"
    )
    fields: Annotated[list[Named[FieldPart]], Field(max_length=100)] = Field(
        default_factory=list[Named[FieldPart]],
        description=f"what is asked about a participant: {', '.join(COMMON)}, or your own fields",
    )


def study_file_schema() -> dict[str, Any]:
    """The JSON Schema of a study file, for editors that complete and check while one types;
    ``spanlab check`` knows more."""
    schema = schema_of(StudyFile)
    definitions, properties = schema["$defs"], schema["properties"]
    # What is written shorter than it is kept.
    setting = definitions["KeySetting"]["properties"]
    setting["own"]["additionalProperties"] = {"type": ["string", "integer"]}
    properties["keys"] = {
        "anyOf": [setting["sides"], {"$ref": "#/$defs/KeySetting"}],
        "description": properties["keys"]["description"],
    }
    properties["fields"]["items"] = {"anyOf": [{"enum": list(COMMON)}, {"$ref": "#/$defs/FieldPart"}]}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "SpanLab study"}
