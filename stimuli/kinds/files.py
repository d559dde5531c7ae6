"""A laboratory's own images and sounds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field, PlainSerializer
from typing_extensions import override

from ...core.errors import SpanLabError
from ...core.registry import Real
from ..own_files import Files, ImageFacts, SoundFacts, checked_name, facts_named, without_paradigm
from ..scene import CANVAS, Colour, FileImage, Primitive
from ..stimulus import STIMULI, ColourName, Stimulus, rgb
from .bars import Length, Place
from .plain import Blank


class _Heard(Stimulus):
    """The loudness of a sound, and its description."""

    volume: Annotated[Real, Field(gt=0, le=1)] = Field(
        1.0, description="factor on its samples, up to 1; how loud that is depends on the device"
    )
    description: Annotated[str, Field(max_length=2000), AfterValidator(lambda value: " ".join(value.split()))] = Field(
        "",
        alias="words",
        description="what is heard, for models that read words; without this, they cannot take the paradigm",
    )


@STIMULI.register
class SoundOfFile(_Heard):
    """A sound of one's own, from a file beside the paradigm; alone with an empty screen, or beside
    another stimulus. Trials hold its hash, not its name."""

    name: ClassVar[str] = "sound"
    shorthand: ClassVar[str] = "file"

    file: Annotated[str, Field(min_length=1, max_length=400), AfterValidator(checked_name(SoundFacts))] = Field(
        description=(
            "path of the file from the folder of the paradigm, such as sounds/01.wav; an expression or '{=...}' within"
            " it may choose the file"
        )
    )

    @override
    def bound(self, files: Files) -> ShownSound:
        facts = facts_named(files, self.file, SoundFacts)
        return ShownSound.model_validate({**self.model_dump(exclude={"file"}, by_alias=True), **facts.to_record()})

    @override
    def primitives(self) -> Iterable[Primitive]:
        raise without_paradigm(self.file, SoundFacts)

    @override
    def words(self) -> str:
        raise without_paradigm(self.file, SoundFacts)


def written(stimulus: Stimulus) -> dict[str, Any]:
    """A stimulus as a display names it."""
    return {stimulus.name: stimulus.model_dump(mode="json")}


def seen_in(stimulus: Stimulus) -> Stimulus:
    """What is seen of a stimulus: of a sound, what is seen meanwhile."""
    return stimulus.visual if isinstance(stimulus, ShownSound) else stimulus


class ShownSound(_Heard):
    """A sound as trials have it: by the hash of its file, with what is seen meanwhile."""

    name: ClassVar[str] = "sound"

    sha256: str
    frames: int
    rate_hz: int
    channels: int
    visual: Annotated[Stimulus, PlainSerializer(written)] = Blank.model_validate({})

    @property
    def ms(self) -> float:
        """The duration of the sound."""
        return self.frames * 1000 / self.rate_hz

    @override
    def primitives(self) -> Iterable[Primitive]:
        return self.visual.primitives()

    @override
    def background(self) -> Colour:
        return self.visual.background()

    @property
    @override
    def said_in_words(self) -> bool:
        return bool(self.description) and self.visual.said_in_words

    @override
    def words(self) -> str:
        return f"{self.visual.words()}\n{self.sound_words()}"

    def sound_words(self) -> str:
        """Describe the sound for a reader who cannot hear it."""
        return f"A sound is played for {self.ms / 1000:.3g} s{': ' + self.description if self.description else '.'}"


def refuse_sounds(stimuli: Iterable[Stimulus], who: str) -> None:
    """Refuse displays with sounds for somebody without ears.

    Parameters
    ----------
    who : such as ``networks``

    Raises
    ------
    SpanLabError
        which says what to do.
    """
    if any(isinstance(stimulus, ShownSound) for stimulus in stimuli):
        raise SpanLabError(
            f"{who} get pictures or words and hear nothing, and a display that machines get has a sound: leave the"
            " sound out, or, where it is not part of what has to be remembered, put it into a step for people only"
            " (model_steps: 0)"
        )


class _PlacedImage(Stimulus):
    """The file of an image, and its description."""

    x: Place = Field(48.0, description="distance of its centre from the left, in canvas units")
    y: Place = Field(48.0, description="distance of its centre from the top, in canvas units")
    size: Length = Field(
        80.0,
        description=(
            "its longer side, in canvas units (the canvas has 96); the other side follows, so that nothing is stretched"
        ),
    )
    description: Annotated[str, Field(max_length=2000), AfterValidator(lambda value: " ".join(value.split()))] = Field(
        "",
        alias="words",
        description="what is seen in it, for models that read words; without this, they cannot take the paradigm",
    )
    colour: ColourName = Field(
        "gray", description="colour of the screen around it, and behind it where it is see-through"
    )

    @override
    def background(self) -> Colour:
        return rgb(self.colour)


@STIMULI.register
class ImageOfFile(_PlacedImage):
    """An image of one's own, from a file beside the paradigm. Trials hold its hash, not its name."""

    name: ClassVar[str] = "image"
    shorthand: ClassVar[str] = "file"

    file: Annotated[str, Field(min_length=1, max_length=400), AfterValidator(checked_name(ImageFacts))] = Field(
        description=(
            "path of the file from the folder of the paradigm, such as faces/01.png; an expression or '{=...}' within"
            " it may choose the file"
        )
    )

    @override
    def bound(self, files: Files) -> Stimulus:
        facts = facts_named(files, self.file, ImageFacts)
        return ShownImage.model_validate({**self.model_dump(exclude={"file"}, by_alias=True), **facts.to_record()})

    @override
    def primitives(self) -> Iterable[Primitive]:
        raise without_paradigm(self.file, ImageFacts)

    @override
    def words(self) -> str:
        raise without_paradigm(self.file, ImageFacts)


class ShownImage(_PlacedImage):
    """An image as trials have it: by the hash of its file, so that its name says nothing to
    anybody."""

    name: ClassVar[str] = "image"

    sha256: str
    width: int
    height: int

    def _sides(self) -> tuple[float, float]:
        longer = max(self.width, self.height)
        return self.size * self.width / longer, self.size * self.height / longer

    @override
    def primitives(self) -> Iterable[Primitive]:
        wide, high = self._sides()
        x0, y0, x1, y1 = self.x - wide / 2, self.y - high / 2, self.x + wide / 2, self.y + high / 2
        if min(x0, y0) < -0.01 or max(x1, y1) > CANVAS + 0.01:
            raise SpanLabError(
                f"an image of the size {self.size:g} at {self.x:g} from the left and {self.y:g} from the top reaches"
                " beyond the canvas"
            )
        return (FileImage(x0, y0, x1, y1, self.sha256),)

    @property
    @override
    def said_in_words(self) -> bool:
        return bool(self.description)

    @override
    def words(self) -> str:
        wide, high = self._sides()
        place = (
            f"{wide:.3g} units wide and {high:.3g} high, with its middle at {self.x:g} from the left and {self.y:g}"
            f" from the top (of {CANVAS})"
        )
        return f"An image, {place}{': ' + self.description if self.description else '.'}"
