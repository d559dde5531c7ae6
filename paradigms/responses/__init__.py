"""What may be answered, and how."""

from .base import RESPONSES, Answer, ItemScore, Region, ResponseKind, Surface
from .cells import Cells
from .choice import Choice

__all__ = ["RESPONSES", "Answer", "Cells", "Choice", "ItemScore", "Region", "ResponseKind", "Surface"]
