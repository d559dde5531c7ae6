"""Registered components: stimuli, samplers and response kinds.

A component is one small class that declares its parameters once, as pydantic fields with a type, a default and one line of help. Validation, help, JSON
Schema and documentation follow from that. Third parties add theirs through the entry-point groups ``spanlab.stimuli``, ``spanlab.samplers`` and
``spanlab.responses``.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from importlib.metadata import entry_points
from typing import Annotated, Any, ClassVar, Generic, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, StrictInt

from .errors import SpanLabError


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


#: A list of whole numbers; a YAML list becomes a tuple, so that components stay hashable.
Ints = Annotated[tuple[StrictInt, ...], BeforeValidator(_as_tuple)]
#: A list of strings.
Words = Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]


class Component(BaseModel):
    """A registered class with declared parameters: immutable, hashable, unknown keys refused, no silent conversion."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: ClassVar[str] = ""
    #: the parameter that a bare value stands for: ``{blank: white}``; empty when there is none
    shorthand: ClassVar[str] = ""


C = TypeVar("C", bound=Component)
D = TypeVar("D", bound=Component)


def nearest(name: object, names: Iterable[str]) -> str:
    """The hint ``; did you mean 'colour'?`` for a misspelt name, or nothing."""
    close = difflib.get_close_matches(str(name), list(names), n=1, cutoff=0.6)
    return f"; did you mean '{close[0]}'?" if close else ""


class Registry(Generic[C]):
    """Components of one sort by their name in YAML.

    Parameters
    ----------
    sort : what they are called in messages, such as ``stimulus``
    group : the entry-point group from which third-party components are loaded on first use
    """

    def __init__(self, sort: str, group: str) -> None:
        self.sort = sort
        self.group = group
        self._classes: dict[str, type[C]] = {}
        self._loaded = False

    def register(self, cls: type[D]) -> type[D]:
        """Class decorator; the class's ``name`` is its name in YAML."""
        if not cls.name:
            raise ValueError(f"{cls.__name__} declares no name")
        if self._classes.get(cls.name, cls) is not cls:
            raise ValueError(f"two {self.sort} classes are called '{cls.name}'")
        self._classes[cls.name] = cast("type[C]", cls)
        return cls

    def _load(self) -> None:
        if not self._loaded:
            self._loaded = True
            for point in entry_points(group=self.group):
                self.register(point.load())

    def get(self, name: str) -> type[C]:
        """The class called ``name``.

        Raises
        ------
        SpanLabError
            when there is none; the message lists the nearest name.
        """
        self._load()
        if name not in self._classes:
            raise SpanLabError(f"unknown {self.sort} '{name}'{nearest(name, self._classes)}")
        return self._classes[name]

    def __contains__(self, name: object) -> bool:
        self._load()
        return name in self._classes

    def __iter__(self) -> Iterator[str]:
        self._load()
        return iter(sorted(self._classes))
