"""A stimulus: what is drawn, in pixels and in the window, and what models read."""

from typing import ClassVar, Literal

from pydantic import Field

from spanlab.stimuli import BACKGROUND, COLOURS, Ellipse, Rectangle, Stimulus

GAPS = {"up": (44, 10, 52, 34), "right": (62, 44, 86, 52), "down": (44, 62, 52, 86), "left": (10, 44, 34, 52)}


class GapRing(Stimulus):
    """A ring with a gap on one side, as in tests of vision (Landolt, 1888)."""

    name: ClassVar[str] = "gap_ring"
    shorthand: ClassVar[str] = "gap"

    gap: Literal["up", "right", "down", "left"] = Field(description="the side of the gap")

    def primitives(self):
        yield Ellipse(16, 16, 80, 80, COLOURS["black"])
        yield Ellipse(28, 28, 68, 68, BACKGROUND)
        yield Rectangle(*GAPS[self.gap], BACKGROUND)

    def words(self):
        return f"A ring with a gap: {self.gap}."
