"""Registered components: stimuli, samplers and response kinds.

A component is one small class that declares its parameters once, as pydantic fields with a type, a
default and one line of help. Validation, help, JSON Schema and documentation follow from that.
Third parties add theirs through the entry-point groups ``spanlab.stimuli``, ``spanlab.samplers``
and ``spanlab.responses``.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import EntryPoint
from itertools import islice
from typing import Annotated, Any, ClassVar, Generic, Protocol, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, StrictInt
from typing_extensions import override

from .doors import entry_points_of
from .errors import SpanLabError


def as_tuple(value: Any) -> Any:
    """A list as a tuple, and anything else as it is."""
    return tuple(cast("list[Any]", value)) if isinstance(value, list) else value


def as_tuples(value: Any) -> Any:
    """A list of lists as a tuple of tuples."""
    return tuple(map(as_tuple, cast("list[Any]", value))) if isinstance(value, list | tuple) else value


#: A number of any sort, which YAML may write without a point.
Real = Annotated[float, BeforeValidator(lambda value: float(value) if type(value) is int else value)]
#: A list of whole numbers; a YAML list becomes a tuple, so that components stay hashable.
Ints = Annotated[tuple[StrictInt, ...], BeforeValidator(as_tuple)]
#: A list of strings.
Words = Annotated[tuple[str, ...], BeforeValidator(as_tuple)]
#: What is at each place: a string, or nothing.
Places = Annotated[tuple[str | None, ...], BeforeValidator(as_tuple)]


class StrictModel(BaseModel):
    """Data whose fields are declared: immutable, hashable, unknown keys refused, no silent
    conversion."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Component(StrictModel):
    """A registered class with declared parameters."""

    name: ClassVar[str] = ""
    #: the parameter that a bare value stands for: ``{blank: white}``; empty when there is none
    shorthand: ClassVar[str] = ""

    @classmethod
    def is_foreign(cls) -> bool:
        """Return whether it comes from another package, so that what it gives is looked at."""
        return not cls.__module__.startswith("spanlab.")


class Named(Protocol):
    """Any class that is registered by a name; components declare their parameters, too."""

    name: ClassVar[str]


C = TypeVar("C")
D = TypeVar("D")
V = TypeVar("V")


def nearest(name: object, names: Iterable[str]) -> str:
    """The hint ``; did you mean 'colour'?`` for a misspelt name, or nothing."""
    word = str(name)
    alike = (other for other in names if abs(len(other) - len(word)) <= 12)
    close = difflib.get_close_matches(word, list(islice(alike, 500)), n=1, cutoff=0.6) if len(word) <= 80 else []
    return f"; did you mean '{close[0]}'?" if close else ""


class Declarations(Generic[V]):
    """Things by their name: those of SpanLab, and those of other packages, which are loaded when
    somebody first asks for one that is not there, or for all.

    Parameters
    ----------
    sort : what one is called in messages, such as ``stimulus``
    group : the entry-point group in which other packages name theirs
    several : what two are called; ``sort`` and an s when not given
    """

    def __init__(self, sort: str, group: str, several: str = "") -> None:
        self.sort = sort
        self.group = group
        self._several = several or f"{sort}s"
        self._known: dict[str, V] = {}
        self._waiting: list[EntryPoint] | None = None

    def name_of(self, value: Any) -> str:
        """The name under which a thing is known.

        Raises
        ------
        ValueError
            when it is nothing of this sort.
        """
        raise NotImplementedError

    def add(self, value: V) -> None:
        """Make a thing known under its name.

        Raises
        ------
        ValueError
            when it is nothing of this sort, or another one has its name.
        """
        name = self.name_of(value)
        if self._known.get(name, value) is not value:
            raise ValueError(f"two {self._several} are called '{name}'")
        self._known[name] = value

    def known(self) -> Mapping[str, V]:
        """All there are, by name.

        Raises
        ------
        SpanLabError
            when one of another package cannot be loaded; the others are known then (see
            :meth:`loaded`).
        """
        self._load(self._points())
        return self._known

    def loaded(self) -> list[str]:
        """The names that are known by now."""
        return list(self._known)

    def get(self, name: str) -> V:
        """The one called ``name``; of what other packages declare, only one of this name is loaded.

        Raises
        ------
        SpanLabError
            when there is none; the message tells the nearest name.
        """
        if name not in self._known:
            self._load([point for point in self._points() if point.name == name])
        known = self._known if name in self._known else self.known()
        if name not in known:
            raise SpanLabError(f"unknown {self.sort} '{name}'{nearest(name, known)}")
        return known[name]

    def _points(self) -> list[EntryPoint]:
        """The entry points of the group that are not loaded yet. The group is scanned once."""
        if self._waiting is None:
            self._waiting = list(entry_points_of(self.group))
        return self._waiting

    def _load(self, points: Sequence[EntryPoint]) -> None:
        waiting, failure = self._points(), None
        for point in tuple(points):
            try:
                self.add(point.load())
                waiting.remove(point)
            except Exception as error:
                where = f" of {point.dist.name}" if point.dist is not None else ""
                failure = failure or SpanLabError(
                    f"the {self.sort} '{point.name}'{where} cannot be loaded ({error}); repair or uninstall that"
                    " package"
                )
                failure.__cause__ = failure.__cause__ or error
        if failure is not None:
            raise failure

    def __contains__(self, name: object) -> bool:
        return name in self._known or name in self.known()


class Registry(Declarations[type[C]]):
    """Classes of one sort, such as components by their name in YAML."""

    def __init__(self, sort: str, group: str) -> None:
        super().__init__(sort, group, f"{sort} classes")
        self._modules: dict[str, str] = {}

    def declare(self, package: str, modules: Mapping[str, Sequence[str]]) -> None:
        """Declare classes of SpanLab that are loaded when they are first asked for.

        Parameters
        ----------
        modules : names of the classes, by the module of ``package`` that registers them
        """
        self._modules |= {name: f"{package}.{module}" for module, names in modules.items() for name in names}

    @override
    def add(self, value: type[C]) -> None:
        name = self.name_of(value)
        if (module := self._modules.pop(name, "")) and module != value.__module__:
            import_module(module)
        super().add(value)

    @override
    def known(self) -> Mapping[str, type[C]]:
        for module in dict.fromkeys(self._modules.values()):
            import_module(module)
        return super().known()

    @override
    def get(self, name: str) -> type[C]:
        if name in self._modules:
            import_module(self._modules[name])
        return super().get(name)

    def register(self, cls: type[D]) -> type[D]:
        """Class decorator; the class's ``name`` is its name in YAML."""
        self.add(cast("type[C]", cls))
        return cls

    @override
    def name_of(self, value: Any) -> str:
        if not cast("type[Named]", value).name:
            raise ValueError(f"{value.__name__} declares no name")
        return str(value.name)

    def __iter__(self) -> Iterator[str]:
        self._load(self._points())
        return iter(sorted({*self._known, *self._modules}))

    @override
    def __contains__(self, name: object) -> bool:
        if name in self._known or name in self._modules:
            return True
        for points in ([point for point in self._points() if point.name == name], self._points()):
            try:
                self._load(points)
            except SpanLabError:
                if name not in self._known:  # else it is another one that cannot be loaded
                    raise
            if name in self._known:
                return True
        return False


class Instances(Declarations[V]):
    """Declared objects with a ``name``, in the order in which they were declared; those of other
    packages follow.

    Parameters
    ----------
    sort, group : see :class:`Declarations`
    cls : what each of them is
    own : those of SpanLab
    """

    def __init__(self, sort: str, group: str, cls: type[V], built_in: Iterable[V] = ()) -> None:
        super().__init__(sort, group)
        self._cls = cls
        for value in built_in:
            self.add(value)

    @override
    def name_of(self, value: Any) -> str:
        if not isinstance(value, self._cls):
            raise ValueError(f"{value!r} is not a {self._cls.__name__}")
        return str(cast("Named", value).name)

    def __iter__(self) -> Iterator[V]:
        return iter(self.known().values())

    def __len__(self) -> int:
        return len(self.known())


@dataclass(frozen=True, slots=True)
class Parameter:
    """One declared parameter of a component, for help pages.

    ``type`` is in words; ``default`` is None for a parameter that has none (then it is
    ``required``) and for one that is nothing by default.
    """

    name: str
    type: str
    help: str
    required: bool
    default: Any = None


@dataclass(frozen=True, slots=True)
class ComponentHelp:
    """A description of a component, made without running it. ``str()`` gives a page of help."""

    name: str
    summary: str
    shorthand: str
    parameters: tuple[Parameter, ...]

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.summary}"]
        for parameter in self.parameters:
            default = "not given by default" if parameter.default is None else f"default {_written(parameter.default)}"
            default = "required" if parameter.required else default
            lines.append(f"  {parameter.name} ({parameter.type}; {default}): {parameter.help}")
        if self.shorthand:
            lines.append(f"  {{{self.name}: ...}} with a bare value sets {self.shorthand}")
        return "\n".join(lines)


def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON Schema of a model, in whose descriptions a paragraph is a line."""
    return cast(dict[str, Any], _unwrapped(model.model_json_schema(by_alias=True)))


def _unwrapped(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_unwrapped(part) for part in cast(list[Any], schema)]
    if not isinstance(schema, dict):
        return schema
    return {
        key: re.sub(r"(?<=[^\s-])\n(?=[^\s-])", " ", part)
        if key == "description" and isinstance(part, str)
        else _unwrapped(part)
        for key, part in cast(dict[str, Any], schema).items()
    }


def describe(registry: Registry[Any]) -> tuple[ComponentHelp, ...]:
    """Every component of a registry with its parameters: types, defaults and lines of help, as
    declared."""
    described: list[ComponentHelp] = []
    for name in registry:
        cls = registry.get(name)
        schema = schema_of(cls)
        parameters = tuple(
            Parameter(
                key,
                _type_in_words(part, schema.get("$defs", {})).removesuffix(
                    " or null" if "default" in part and part["default"] is None else ""
                ),
                part.get("description", ""),
                key in schema.get("required", ()),
                part.get("default"),
            )
            for key, part in schema.get("properties", {}).items()
        )
        described.append(ComponentHelp(name, schema.get("description", "").split("\n")[0], cls.shorthand, parameters))
    return tuple(described)


def _written(value: Any) -> str:
    """A default as a YAML file would have it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_written(part) for part in cast('list[Any]', value))}]"
    return "null" if value is None else str(value)


def _type_in_words(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """``whole number from 1 to 8``, ``list of whole numbers``, ``up_down or left_right``."""
    if "$ref" in schema:
        fields = definitions[schema["$ref"].rsplit("/", 1)[-1]].get("properties", {})
        return "{" + ", ".join(f"{key}: {_type_in_words(part, definitions)}" for key, part in fields.items()) + "}"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_type_in_words(part, definitions) for part in schema["anyOf"]))
    if "enum" in schema:
        return " or ".join(str(value) for value in schema["enum"])
    if "const" in schema:
        return str(schema["const"])
    if schema.get("type") == "array":
        if "prefixItems" in schema:
            return f"[{', '.join(_type_in_words(part, definitions) for part in schema['prefixItems'])}]"
        items = schema.get("items", {})
        each = _type_in_words(items, definitions)
        return (
            f"list, each {each}"
            if {"anyOf", "$ref", "enum", "items", "prefixItems"} & items.keys()
            else f"list of {each.replace('whole number', 'whole numbers', 1)}"
        )
    word = {
        "integer": "whole number",
        "number": "number",
        "string": "text",
        "boolean": "true or false",
        "null": "null",
        "object": "mapping",
    }.get(schema.get("type", ""), "anything")
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is None:
        return word
    return f"{word} from {low}" if high is None else f"{word} from {low} to {high}"
