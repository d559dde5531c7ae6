"""Formats by name: those that SpanLab knows, and those of other packages (entry points
``spanlab.formats``)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from typing_extensions import override

from ..core.registry import Registry
from .format import Format
from .tables import Tables

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class FormatRegistry(Registry[Format[Any, Any]]):
    """Formats: the core's own come first, those of extensions and of other packages follow."""

    def __init__(self) -> None:
        super().__init__("format", "spanlab.formats")
        self.register(Tables)

    @override
    def name_of(self, value: Any) -> str:
        if not (isinstance(value, type) and issubclass(value, Format)):
            raise ValueError(f"{value!r} is not a subclass of Format")
        cls: type[Format[Any, Any]] = value
        if not _NAME.fullmatch(cls.name):
            raise ValueError(
                f"{cls.__name__} needs a name of small letters, digits and hyphens, such as name ="
                f" '{cls.__name__.lower()}'; found '{cls.name}'"
            )
        if cls.reads is None and cls.writes is None:
            raise ValueError(f"{cls.__name__} neither reads nor writes anything")
        return cls.name

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self.known()))


FORMATS = FormatRegistry()
