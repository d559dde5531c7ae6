"""The published agent: what a model answered in somebody's published results, trial by trial."""

from __future__ import annotations

from typing import ClassVar

from .recorded import Recorded


class Published(Recorded):
    """A model that is met in its published answers only, such as ``published:gpt-4``. No oracle: it is known by what it answered."""

    kind: ClassVar[str] = "published"
