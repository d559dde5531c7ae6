"""Suites: what a benchmark gives to an agent, which effects it measures, and within which margins a
difference counts as none."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from spanlab.core import SpanLabError
from spanlab.paradigms.language import read, validated

#: The suite that ships.
SHIPPED = "working-memory"
#: Paradigms whose blocks are those of the N-back study; they are measured in d′ and compared with
#: its published answers.
NBACK: Mapping[str, tuple[tuple[str, str | None], ...]] = {
    "nback_verbal": (("verbal(first 30 blocks)", "gpt-3.5-turbo"), ("verbal_other_models", None)),
    "nback_spatial": (("spatial_3x3", "gpt-3.5-turbo"),),
}


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Part(_Strict):
    """Sessions that share a protocol: the content of a set file without its agents."""

    about: str = Field(description="the protocol, in a few words")
    settings: dict[str, Any] = Field(default={}, description="settings of chat models, as with --chat")
    wordings: dict[str, dict[str, Any]] = Field(
        default={}, description="wordings of the task for chat models, as in a set file"
    )
    paradigms: dict[str, dict[str, Any]] = Field(
        min_length=1, description="names in the library, each with set, trials, design and generator"
    )


class Effect(_Strict):
    """A number that is measured, and the margin within which a difference from people counts as
    none."""

    paradigm: str
    effect: str = Field(description="its name")
    measure: Literal["mean", "slope", "first", "last"] = Field(
        description=(
            "mean over conditions; slope of a straight line; first or last level minus the mean of those between"
        )
    )
    margin: float = Field(gt=0, description="in the unit")
    along: str = Field(
        default="", description="the column along which the slope, or the first and last levels, are taken"
    )
    panels: list[str] | None = Field(
        default=None,
        description="columns within whose levels it is computed before it is averaged; by default all other columns",
    )
    unit: str = Field(default="points", description="what its numbers are")
    chances: dict[str, dict[str, tuple[float, float]]] = Field(
        default={},
        description=(
            "by kind of people and who is compared with 24 of them: percent of the verdicts same and differs, simulated"
        ),
    )

    @property
    def name(self) -> str:
        return f"{self.paradigm}: {self.effect}"

    @property
    def scale(self) -> float:
        """Number of the unit that a share of 1 is."""
        return 1.0 if self.paradigm in NBACK else 100.0


class Suite(_Strict):
    """The content of a suite's file."""

    suite: str
    version: int = Field(ge=1)
    title: str
    seed: int = Field(ge=0)
    parts: dict[str, Part] = Field(min_length=1)
    effects: list[Effect] = Field(min_length=1)
    sha256: str = ""

    @property
    def called(self) -> str:
        return f"{self.suite} {self.version}"

    @property
    def paradigms(self) -> list[str]:
        return [name for part in self.parts.values() for name in part.paradigms]


S = TypeVar("S", bound="Suite")


def read_suite(path: Path | None = None, kind: type[S] = Suite) -> S:  # pyright: ignore[reportArgumentType]
    """Return a suite: the one that ships, or that of a file.

    Raises
    ------
    SpanLabError
        when the file cannot be read, with everything that is wrong with it.
    """
    path = path or Path(str(files(__package__ or "").joinpath("suites", f"{SHIPPED}.yaml")))
    document = read(path)
    suite, problems = validated(kind, document.data)
    if problems or not isinstance(suite, kind):
        raise SpanLabError("\n".join(str(document.problem(place, message)) for place, message in problems))
    missing = [effect.name for effect in suite.effects if effect.paradigm not in suite.paradigms]
    if missing:
        raise SpanLabError(f"{path.name}: the effect '{missing[0]}' is of a paradigm that no part of the suite has")
    parts = {name: _beside(part, path.parent) for name, part in suite.parts.items()}
    return suite.model_copy(update={"parts": parts, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()})


def _beside(part: Part, folder: Path) -> Part:
    """A part whose files of paradigms are those beside the suite."""
    placed = ((folder / name, name, options) for name, options in part.paradigms.items())
    paradigms = {str(file.resolve()) if file.is_file() else name: options for file, name, options in placed}
    return part.model_copy(update={"paradigms": paradigms})
