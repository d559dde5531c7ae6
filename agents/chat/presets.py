"""Presets: protocols that have a name, in ``presets.yaml``."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from ...core.errors import SpanLabError
from ...core.registry import nearest
from ...paradigms.language.yaml_source import parse

_FILE = "presets.yaml"


@dataclass(frozen=True, slots=True)
class Preset:
    """A protocol that has a name.

    Parameters
    ----------
    about : what it is, in a few sentences
    settings : those in which it differs from the defaults
    """

    about: str
    settings: Mapping[str, Any]


@functools.cache
def presets() -> Mapping[str, Preset]:
    """All presets, by name."""
    data = parse(files("spanlab.agents.chat").joinpath(_FILE).read_text(encoding="utf-8"), _FILE).data
    return {name: Preset(one["about"], {**one["settings"], **{key: one[key] for key in ("instructions",) if key in one}}) for name, one in data.items()}


def preset(name: str) -> Mapping[str, Any]:
    """The settings of a preset, without those that are as the defaults have them.

    Raises
    ------
    SpanLabError
        for an unknown name.
    """
    known = presets()
    if name not in known:
        raise SpanLabError(f"chat settings: there is no preset '{name}'{nearest(name, known) or '; there are ' + ', '.join(known)}")
    return known[name].settings
