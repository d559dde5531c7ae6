"""The stimuli, one family a file. Each file is loaded when one of its stimuli is first asked for."""

from ...core.doors import door
from ..stimulus import STIMULI

STIMULI.declare(
    __name__,
    {
        "arrays": ("matrix", "side_by_side", "pattern_array", "arrow_array"),
        "bars": ("bars",),
        "blocks": ("blocks",),
        "boxes": ("boxes",),
        "figure": ("figure",),
        "oriented": ("oriented_bar", "grating"),
        "images": ("image",),
        "lettering": ("letter", "text", "letter_grid"),
        "plain": ("blank", "fixation", "tone", "noise", "dot", "colour_field"),
        "reporting": ("colour_patches", "bar_patches", "report_wheel"),
        "sounds": ("sound",),
        "squares": ("squares",),
        "switching": ("switch_boxes",),
        "together": ("together",),
        "vocabulary": ("word", "word_array"),
    },
)

__getattr__, __dir__, __all__ = door(__name__, __file__)
