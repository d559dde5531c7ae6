"""The stimuli, one family a file. Each file is loaded when one of its stimuli is first asked for."""

from ...core.doors import door
from ..stimulus import STIMULI

STIMULI.declare(
    __name__,
    {
        "arrays": ("matrix", "side_by_side", "pattern_array", "arrow_array", "squares"),
        "bars": ("bars", "oriented_bar", "grating"),
        "boxes": ("boxes", "blocks", "switch_boxes"),
        "figure": ("figure",),
        "files": ("image", "sound"),
        "lettering": ("letter", "text", "letter_grid", "word", "word_array"),
        "plain": ("blank", "fixation", "tone", "noise", "pixel_noise", "dot", "colour_field"),
        "reporting": ("colour_patches", "bar_patches", "report_wheel"),
        "together": ("together",),
    },
)

__getattr__, __dir__, __all__ = door(__name__, __file__)
