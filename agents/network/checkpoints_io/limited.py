"""Networks with a limited memory: those that ship, with noise in their memory; how much of it
follows from a rule (``scripts/limited.py``)."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from importlib import resources
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from ....core.errors import SpanLabError
from ....paradigms.language import yaml_source

#: The name that stands for all of them.
LIMITED = "limited"
_WITH_NOISE = re.compile(r"(?P<name>.+)@(?P<noise>\d+(?:\.\d+)?)(?P<relative>%?)")


@dataclass(frozen=True)
class MemoryNoise:
    """Normal noise in the cells of a network's memory at each step.

    Parameters
    ----------
    strength : its standard deviation
    relative : whether that is in proportion to what a cell holds
    """

    strength: float
    relative: bool = False

    @property
    def typed(self) -> str:
        """As it follows the name of a network: ``0.2``, or ``20%`` of what a cell holds."""
        return f"{100 * self.strength:g}%" if self.relative else f"{self.strength:g}"


class NoiseLimit(BaseModel):
    """Noise of a network in the tasks of a paradigm."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    paradigm: str = Field(description="paradigm for whose trials the noise was chosen")
    tasks: list[str] = Field(description="tasks of networks in which it is used")
    network: str = Field(description="name of the network that ships")
    noise: Annotated[float, Field(ge=0)] = Field(
        description="standard deviation of the noise in each cell at each step, as a share of what the cell holds"
    )


def limits() -> list[NoiseLimit]:
    """The limits that ship, in the order of their file."""
    file = resources.files("spanlab.agents.network") / "checkpoints" / f"{LIMITED}.yaml"
    return TypeAdapter(list[NoiseLimit]).validate_python(
        yaml_source.parse(file.read_text(encoding="utf-8"), f"{LIMITED}.yaml").data
    )


def name_and_noise(name: str) -> tuple[str, MemoryNoise | None]:
    """A network's name and the noise that is given with it: ``laptop@0.2`` adds 0.2 to ``laptop``,
    ``laptop@20%`` has 20% of what a cell holds.

    Examples
    --------
    >>> name_and_noise("laptop@20%"), name_and_noise("laptop")
    (('laptop', MemoryNoise(strength=0.2, relative=True)), ('laptop', None))
    """
    found = _WITH_NOISE.fullmatch(name)
    if not found:
        return name, None
    relative = bool(found["relative"])
    return found["name"], MemoryNoise(float(found["noise"]) / (100 if relative else 1), relative)


def limit_for(tasks: Collection[str]) -> NoiseLimit:
    """The limit that is used in these tasks.

    Raises
    ------
    SpanLabError
        when there is none, or the tasks have different ones.
    """
    known = limits()
    found = [limit for limit in known if set(tasks) & set(limit.tasks)]
    if len(found) == 1 and set(tasks) <= set(found[0].tasks):
        return found[0]
    names = ", ".join(limit.paradigm for limit in known)
    task = ", ".join(sorted(tasks)) or "(none)"
    problem = (
        "these trials have several tasks with different limits"
        if len(found) > 1
        else f"no strength of noise is known for the task {task}"
    )
    raise SpanLabError(
        f"network:{LIMITED} takes one of {names} at a time, and {problem}; choose one of these, or another network with"
        " noise (laptop@20%)"
    )
