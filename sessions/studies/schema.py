"""The keys of a study file, declared once, validated and documented from here: paradigms and the
orders in which they come, groups, questions about a participant, and how people come to a study
online."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from random import SystemRandom
from typing import Annotated, Any, Literal, TypeVar, get_args
from urllib.parse import quote

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Discriminator,
    Field,
    StrictFloat,
    StrictInt,
    StrictStr,
    Tag,
    model_validator,
)

from ...agents.human.input.buttons import read_box, read_pulse
from ...core.errors import SpanLabError
from ...core.json_values import as_object
from ...core.locale import by_language, sentence
from ...core.registry import StrictModel, nearest
from ...paradigms import Generator
from ...paradigms.identity import MAX_MASTER_SEED, stream
from ...paradigms.language.schema import Levels, Scalar
from ...stimuli.render.palette import PaletteName
from ..key_mapping import Keys, KeySetting

# -- questions about a participant -----------------------------------------------------------------

_WHOLE = re.compile(r"[-+]?[0-9]{1,15}")
#: a comma is as good as a point
_NUMBER = re.compile(r"[-+]?[0-9]{1,15}([.,][0-9]{1,15})?")

Text = Annotated[str, Field(min_length=1, max_length=20_000)]
#: a text in each language of the study


def _by_language(value: object) -> object:
    if isinstance(value, str):
        raise ValueError("expected a text for each language, such as en: ...; found one text")
    return value


Texts = Annotated[dict[str, Text], BeforeValidator(_by_language), Field(min_length=1)]
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
            pattern, number = (_WHOLE, int) if self.type == "whole" else (_NUMBER, float)
            fits = bool(pattern.fullmatch(typed))
            value = number(typed.replace(",", ".")) if fits else 0
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
    "colour_vision": _common_choice("colour_vision", "normal", "red_green", "other", "unsure"),
}


def missing_texts(field: FieldPart, languages: Sequence[str]) -> str | None:
    """The first language of a study in which a field has no words, or None."""
    texts: list[Mapping[str, str]] = [field.label, *as_object(field.choices).values()]
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
                f" '{name}'{nearest(name, names) or '; it asks ' + (', '.join(names) or 'nothing')}"
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


# -- people at home ---------------------------------------------------------------------------------

_Code = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,40}$")]
_Address = Annotated[str, Field(pattern=r"^https?://[^\s\"'<>]+$", max_length=500)]
_Parameter = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,39}$")]
#: How a visit may end.
EndingName = Literal["completed", "implausible", "no_consent", "screened_out", "failed_check", "time_out", "full"]
#: What a placeholder may stand for besides parameters of the link.
_OWN_PLACEHOLDERS = ("participant", "code")
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


class Ending(StrictModel):
    """The end of a visit, as its participant sees it."""

    code: _Code | None = Field(default=None, description="code that is shown")
    redirect: _Address | None = Field(
        default=None,
        description=(
            "address to which the participant is sent; {participant}, {code} and the parameters under keep are replaced"
            " by their values"
        ),
    )

    post: bool = Field(
        default=False,
        description=(
            "whether the redirect is sent as a form (POST), as MTurk needs it; what follows its question mark becomes"
            " fields"
        ),
    )

    def filled(self, participant: str, link: Mapping[str, str]) -> tuple[str, str]:
        """The code and the address for a participant, empty where there is none.

        Parameters
        ----------
        link : parameters of the link that are kept
        """
        values = {**link, "participant": participant, "code": self.code or ""}
        return self.code or "", _PLACEHOLDER.sub(
            lambda match: quote(values.get(match[1], ""), safe=""), self.redirect or ""
        )


class Endings(StrictModel):
    """The ways in which visits end, each with a code and an address of its own."""

    completed: Ending | None = Field(default=None, description="the session is finished")
    implausible: Ending | None = Field(
        default=None,
        description="with completion: only_if_plausible, the session is finished, with times that cannot be true",
    )
    no_consent: Ending | None = Field(default=None, description="the participant does not agree to take part")
    screened_out: Ending | None = Field(default=None, description="the computer does not have what the study requires")
    failed_check: Ending | None = Field(
        default=None, description="a quiz was not passed, or too many trials had to be replaced"
    )
    time_out: Ending | None = Field(default=None, description="nothing has happened at the page for drop_out_minutes")
    full: Ending | None = Field(default=None, description="there is no place left")


class Requirements(StrictModel):
    """Requirements on a participant's computer. It is checked before anything is asked, and before
    a place is taken."""

    hz: Annotated[float, Field(ge=5, le=500)] | None = Field(
        default=None, description="minimum refresh rate of the screen"
    )
    width_px: Annotated[int, Field(ge=100, le=10_000)] | None = Field(
        default=None, description="minimum width of the page in CSS pixels"
    )
    height_px: Annotated[int, Field(ge=100, le=10_000)] | None = Field(
        default=None, description="minimum height of the page in CSS pixels"
    )
    browsers: (
        Annotated[list[Literal["chrome", "edge", "firefox", "safari", "opera", "samsung"]], Field(min_length=1)] | None
    ) = Field(default=None, description="only these browsers: chrome, edge, firefox, safari, opera or samsung")
    fullscreen: bool = Field(default=False, description="whether the page must fill the screen")
    phones: Literal["allowed", "refused"] = Field(default="allowed", description="whether participants may use a phone")


class Online(StrictModel):
    """Settings of taking part in a browser (spanlab serve)."""

    endings: Endings = Field(
        default_factory=Endings, description="how visits end, each with a code and a redirect of its own"
    )
    identifier: _Parameter | None = Field(
        default=None,
        description=(
            "parameter of the link that says who takes part, such as PROLIFIC_PID; participant or PROLIFIC_PID if not"
            " given"
        ),
    )
    keep: Annotated[list[_Parameter], Field(max_length=20)] = Field(
        default=[], description="further parameters of the link that are recorded"
    )
    admission: Literal["open", "links", "list"] = Field(
        default="open",
        description=(
            "open: whoever has the address; links: signed links (spanlab study links); list: the identifiers of the"
            " file under allow"
        ),
    )
    allow: str | None = Field(
        default=None, description="file (relative to the study file) with one identifier in a line, for admission: list"
    )
    require: Requirements = Field(default_factory=Requirements, description="what a participant's computer needs")
    calibrate: list[Literal["card", "distance"]] = Field(
        default=[],
        description=(
            "card: measure the screen with a bank card; distance: measure the distance of the eyes by the blind spot"
        ),
    )
    canvas_deg: Annotated[float, Field(gt=0, le=60)] | None = Field(
        default=None,
        description=(
            "width of the canvas in degrees of visual angle, where the screen fits it; needs calibrate: [card,"
            " distance]"
        ),
    )
    most_replacements: Annotated[int, Field(ge=0, le=10_000)] | None = Field(
        default=None, description="largest number of trials of a session that may be cut off and replaced"
    )
    after_replacements: Literal["flag", "end"] = Field(
        default="flag", description="what happens to a session with more of them: it is marked (flag) or ends (end)"
    )
    completion: Literal["always", "only_if_plausible"] = Field(
        default="always",
        description=(
            "always: every finished session ends as completed; only_if_plausible: only if its times can be true by the"
            " server's clock"
        ),
    )
    drop_out_minutes: Annotated[float, Field(ge=1, le=100_000)] | None = Field(
        default=None,
        description=(
            "minutes without any activity after which an unfinished session counts as a drop-out, and its place"
            " becomes free"
        ),
    )

    @model_validator(mode="after")
    def _sensible(self) -> Online:
        if (self.admission == "list") != (self.allow is not None):
            raise ValueError("admission: list and allow: FILE go together")
        if "distance" in self.calibrate and "card" not in self.calibrate:
            raise ValueError(
                "calibrate: the distance is measured in centimetres of the screen, so it needs card, too: [card,"
                " distance]"
            )
        if self.canvas_deg is not None and "distance" not in self.calibrate:
            raise ValueError(
                "canvas_deg needs calibrate: [card, distance], because nobody knows the screens of people at home"
                " otherwise"
            )
        known = (*_OWN_PLACEHOLDERS, *self.keep)
        for name in get_args(EndingName):
            for placeholder in _PLACEHOLDER.findall(self.ending(name).redirect or ""):
                if placeholder not in known:
                    raise ValueError(
                        f"a redirect has {{{placeholder}}}, which stands for nothing: there are {', '.join(known)}; add"
                        " it to keep"
                    )
        return self

    def ending(self, name: str) -> Ending:
        """An ending (:data:`EndingName`); one without code and redirect where the file has none."""
        ending: Ending | None = getattr(self.endings, name)
        return ending or Ending()


# -- the file ---------------------------------------------------------------------------------------


def _read_by(read: Callable[[str], object]) -> AfterValidator:
    """A name that a function reads."""

    def check(text: str) -> str:
        try:
            read(text)
        except SpanLabError as error:
            raise ValueError(str(error)) from None
        return text

    return AfterValidator(check)


Order = Literal["fixed", "latin_square", "shuffled"]


def williams(parts: int) -> list[list[int]]:
    """Williams' design: the rows of one Latin square for an even number of parts, of two for an odd
    one.

    Over all rows, every part stands equally often at every position, and every part follows
    immediately upon every other one equally often (once in the one square, twice in the two).
    """
    zigzag = [0, *((step + 1) // 2 if step % 2 else parts - step // 2 for step in range(1, parts))]
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
    scanned: bool = Field(
        default=True, description="whether its trials wait for the pulses of the scanner, if the study has one (start)"
    )
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


class Start(StrictModel):
    """The pulses of a scanner with which trials begin."""

    pulse: Annotated[str, _read_by(read_pulse)] = Field(
        description="what sends the pulses: a key, such as '5', or a serial port, such as serial:COM3@9600,presses=5"
    )
    at: Annotated[int, Field(ge=1, le=10_000)] = Field(
        default=1, description="number of the pulse with which the trials of a paradigm begin"
    )
    each_trial: bool = Field(default=False, description="whether every further trial waits for the next pulse")


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
    shared: bool = Field(
        default=False,
        description="whether other users of the computer may read its data, as the permissions of the system have it",
    )
    keys: Keys = Field(
        default_factory=KeySetting,
        description="standard, swapped or counterbalanced; or sides and other keys, by answer",
    )
    display: str | None = Field(
        default=None, description="display file (relative to the study file) that sessions cite; options override it"
    )
    buttons: Annotated[str, _read_by(read_box)] = Field(
        default="", description="button box of the laboratory, such as keys:f5+f6; --buttons overrides it"
    )
    start: Start | None = Field(
        default=None, description="the pulses of a scanner, with which the trials of each paradigm begin after practice"
    )
    font: str | None = Field(
        default=None, description="font file (relative to the study file) for letters that the shipped typeface lacks"
    )
    palette: PaletteName = Field(
        default="safe",
        description=(
            "colours of the stimuli: safe, which people also know who cannot tell red from green, or published; options"
            " override it"
        ),
    )
    focus: Literal["needed", "any"] = Field(
        default="needed",
        description="needed: keys that are pressed while another window has the focus answer nothing; any: they count",
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
