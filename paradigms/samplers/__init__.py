"""Samplers of random draws. Each file is loaded when one of its samplers is first used."""

from ...core.doors import door
from .base import SAMPLERS

SAMPLERS.declare(
    __name__,
    {
        "change": ("change_arrays",),
        "lists": (
            *("permutation", "one_of", "several", "place", "uniform", "normal"),
            *("matrix_patterns", "pattern_distractors", "nouns", "noun_numbers"),
        ),
        "integration": ("integration_figure",),
        "nback": ("nback_block", "letter_noise", "cell_noise"),
        "span": ("span_items", "span_distractors", "coordination_figure"),
        "updating": ("marker_walk", "marker_odds", "box_areas", "task_sequence"),
    },
)

__getattr__, __dir__, __all__ = door(__name__, __file__)
