"""A laboratory's own images."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field
from typing_extensions import override

from ...core.errors import SpanLabError
from ..image_files import ImageFacts
from ..own_files import Files, checked_name, facts_named, without_paradigm
from ..scene import CANVAS, Colour, FileImage, Primitive
from ..stimulus import STIMULI, ColourName, Stimulus, rgb
from .oriented import Length, Place


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
