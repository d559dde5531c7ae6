"""What may be answered, and how."""

from .base import RESPONSES, Answer, ItemScore, ResponseKind, Surface
from .cells import Cells
from .choice import Choice
from .regions import Area, Region, grid_regions

__all__ = ["RESPONSES", "Answer", "Area", "Cells", "Choice", "ItemScore", "Region", "ResponseKind", "Surface", "grid_regions"]
