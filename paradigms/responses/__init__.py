"""What may be answered, and how."""

from .base import RESPONSES, Answer, ItemScore, ResponseKind, Surface
from .cells import Cells
from .choice import Choice
from .keys import AnswerKeys
from .regions import Area, Region, grid_regions

__all__ = ["RESPONSES", "Answer", "AnswerKeys", "Area", "Cells", "Choice", "ItemScore", "Region", "ResponseKind", "Surface", "grid_regions"]
