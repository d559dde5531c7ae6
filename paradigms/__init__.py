"""The YAML timelines, and the compiler that turns one into trials."""

from .network_view import NetworkView
from .responses import RESPONSES, Answer, ItemScore, Region, ResponseKind, Surface
from .trial import Ask, Display, Percept, Step, Trial, Truth, Verdict

__all__ = [
    "RESPONSES",
    "Answer",
    "Ask",
    "Display",
    "ItemScore",
    "NetworkView",
    "Percept",
    "Region",
    "ResponseKind",
    "Step",
    "Surface",
    "Trial",
    "Truth",
    "Verdict",
]
