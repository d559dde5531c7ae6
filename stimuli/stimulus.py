"""The base of every stimulus, and the registry of those that a YAML file can show."""

from __future__ import annotations

from collections.abc import Iterable

from ..core.errors import SpanLabError
from ..core.registry import Component, Registry
from .own_files import Files
from .render.fast.tiling import Scatter, Tiling
from .scene import BACKGROUND, Colour, Primitive, Scene


class Stimulus(Component):
    """What is shown, in the terms of the experiment.

    A stimulus says what is where, in an order that depends on positions alone: two stimuli that look the same *are* equal (validators sort cells), so nothing
    about presentation order or role can be read off it.
    """

    def primitives(self) -> Iterable[Primitive]:
        """What to draw, in drawing order, in canvas units."""
        raise NotImplementedError

    def tiling(self) -> Tiling | None:
        """The stimulus as a member of a family of tilings, when it is one; lets many be drawn at once."""
        return None

    def scatter(self) -> Scatter | None:
        """The stimulus as shapes at places, when it is that; lets many be drawn at once."""
        return None

    def words(self) -> str:
        """What a reader without eyes is told: unambiguous and complete."""
        raise NotImplementedError

    @property
    def said_in_words(self) -> bool:
        """Whether its words say all that is to be seen and heard; an image or a sound of a laboratory's own may have none."""
        return True

    def bound(self, files: Files) -> Stimulus:
        """The stimulus within its paradigm, whose images and sounds these are: itself, where it has none.

        Raises
        ------
        ValueError
            when a file is not among them.
        """
        return self

    def single_word(self) -> str | None:
        """The one word that it shows, for networks that read the vectors of words; None when it shows anything else."""
        return None

    def background(self) -> Colour:
        return BACKGROUND

    def scene(self) -> Scene:
        """The stimulus as a scene.

        Raises
        ------
        SpanLabError
            when what it says of itself cannot be drawn: a fault of the stimulus, which ``spanlab check`` finds before a session.
        """
        try:
            return Scene(tuple(self.primitives()), self.background())
        except Exception as error:  # whatever a stimulus of somebody's own raises
            why = str(error) if isinstance(error, SpanLabError) else f"{type(error).__name__}: {error}"
            raise SpanLabError(f"the stimulus '{self.name}' cannot be drawn ({why})") from error


class Tiled(Stimulus):
    """A stimulus that is put together from tiles: it gives its tiling, and what to draw follows."""

    def tiling(self) -> Tiling:
        raise NotImplementedError

    def primitives(self) -> Iterable[Primitive]:
        return self.tiling().primitives()

    def background(self) -> Colour:
        return self.tiling().family.background


class Scattered(Stimulus):
    """A stimulus that is shapes at places: it gives its scatter, and what to draw follows."""

    def scatter(self) -> Scatter:
        raise NotImplementedError

    def primitives(self) -> Iterable[Primitive]:
        return self.scatter().primitives()

    def background(self) -> Colour:
        return self.scatter().background


STIMULI: Registry[Stimulus] = Registry("stimulus", "spanlab.stimuli")
