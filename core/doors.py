"""Doors of rooms: the names that a room gives to others, each loaded when it is first used, and the
entry points through which other packages add to them. What the extras of the installation bring,
such as ``spanlab[lab]``: whether it is there, before anything begins that needs it.

The one border to lazy_loader, which has no types."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast

import lazy_loader  # type: ignore[import-untyped]  # pyright: ignore[reportMissingTypeStubs]

from .errors import SpanLabError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

Door = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]


def door(package: str, file: str) -> Door:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package whose names stand in the
    ``__init__.pyi`` beside ``file``."""
    return cast("Door", lazy_loader.attach_stub(package, file))  # pyright: ignore[reportUnknownMemberType]


def with_others(doors: Door, *groups: str) -> Door:
    """Return a door that also has the names which other packages add to it through entry points.

    Parameters
    ----------
    groups : of entry points, each a name (``scores-by-person`` is ``scores_by_person`` in Python)
        and what it stands for
    """
    own, names, public = doors

    @functools.cache
    def others() -> dict[str, Any]:
        points = (point for group in groups for point in entry_points_of(group))
        named = {re.sub(r"\W", "_", point.name): point for point in points}
        return {name: point for name, point in named.items() if name not in public}

    def get(name: str) -> Any:
        if name in public or name.startswith("_"):
            return own(name)
        point = others().get(name)
        return own(name) if point is None else point.load()

    def listed() -> list[str]:
        return sorted({*names(), *others()})

    return get, listed, public


def entry_points_of(group: str) -> EntryPoints:
    """Return the entry points of a group. Reading those of a hundred packages takes longer than
    many a command, so all groups are read at once, and again where Python looks for packages in
    other folders."""
    return _entry_points(tuple(sys.path)).select(group=group)


@functools.cache
def _entry_points(folders: tuple[str, ...]) -> EntryPoints:
    from importlib.metadata import entry_points

    return cast("EntryPoints", entry_points())  # by groups before Python 3.12, from which one is selected alike


#: What each extra brings that sessions cannot begin without: the module that is imported, and what
#: it is called.
_PACKAGES: dict[str, dict[str, str]] = {
    "lab": {"psychopy": "PsychoPy", "PyQt6": "PyQt6", "Xlib": "python-xlib"},
    "chat": {"openai": "the openai package"},
    "hf": {"torch": "PyTorch", "transformers": "the transformers package"},
    "inspect": {"inspect_ai": "the inspect-ai package"},
    "parquet": {"pyarrow": "pyarrow"},
    "figures": {"vl_convert": "vl-convert"},
    "networks": {"torch": "PyTorch"},
    "triggers": {"serial": "pyserial", "pylsl": "pylsl"},
}


def installed(package: str) -> bool:
    """Return whether a package can be found; it is not imported."""
    try:
        return find_spec(package) is not None
    except (ImportError, ValueError):
        return False


def how_to_install(extra: str) -> str:
    """Say how to install an extra, as the end of a sentence. PsychoPy does not support every Python
    version that SpanLab does.

    >>> how_to_install("chat")
    "install it with: pip install 'spanlab[chat]'"
    """
    if extra == "lab" and sys.version_info >= (3, 13):
        return (
            f"PsychoPy does not support Python {sys.version_info[0]}.{sys.version_info[1]}: install 'spanlab[lab]' with"
            " Python 3.11 or 3.12"
        )
    return f"install it with: pip install 'spanlab[{extra}]'"


def need(extra: str, package: str, what: str) -> None:
    """See to it that a package of an extra is installed.

    Parameters
    ----------
    extra : such as ``lab``
    package : the module that is imported, such as ``psychopy``
    what : what needs it, as the beginning of a sentence, such as ``a window for participants``

    Raises
    ------
    SpanLabError
        when it is not, with how to install it.
    """
    if not installed(package):
        raise SpanLabError(f"{what} needs {_PACKAGES[extra][package]}, which is not installed; {how_to_install(extra)}")
