"""What may be answered, and how."""

from .base import RESPONSES, Answer, Dial, ItemScore, Ordered, ResponseKind, Scale, ScoreField, Surface
from .cells import Cells
from .choice import Choice
from .continuous import Continuous
from .keys import AnswerKeys, is_button, key_label
from .rating import Rating
from .regions import Area, Region, grid_regions
from .sequence import SerialOrder
from .text import TypedText

__all__ = [
    "RESPONSES",
    "Answer",
    "AnswerKeys",
    "Area",
    "Cells",
    "Choice",
    "Continuous",
    "Dial",
    "ItemScore",
    "Ordered",
    "Rating",
    "Region",
    "ResponseKind",
    "Scale",
    "ScoreField",
    "SerialOrder",
    "Surface",
    "TypedText",
    "grid_regions",
    "is_button",
    "key_label",
]
