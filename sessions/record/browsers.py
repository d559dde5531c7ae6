"""Sessions in a browser: recognition from the record, and the name of the browser."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from ...core.json_values import as_object

#: how browsers and systems call themselves; those come first whose descriptions name others, too
_BROWSERS = (
    ("Edge", r"Edg(?:e|A|iOS)?/(\d+)"),
    ("Opera", r"(?:OPR|Opera)/(\d+)"),
    ("Samsung Internet", r"Samsung(?:Browser| Internet)/(\d+)"),
    ("Firefox", r"(?:Firefox|FxiOS)/(\d+)"),
    ("Chrome", r"(?:Chrome|CriOS)/(\d+)"),
    ("Safari", r"(?:Version/(?=.*Safari)|^Safari/)(\d+)"),
)
_SYSTEMS = (
    ("Android", "Android"),
    ("iOS", "iPhone|iPad|iOS"),
    ("macOS", "Macintosh|macOS"),
    ("Windows", "Windows"),
    ("ChromeOS", "CrOS|ChromeOS"),
    ("Linux", "Linux"),
)


@dataclass(frozen=True, slots=True)
class Browser:
    """A browser, as it describes itself; empty for what it does not say."""

    name: str
    version: str
    system: str

    @property
    def described(self) -> str:
        """As a browser would describe itself, in short: from this, :func:`browser_of` reads it again."""
        return f"{self.name}/{self.version} ({self.system})"

    @override
    def __str__(self) -> str:
        return f"{self.name or 'a browser'}{' ' * bool(self.version)}{self.version}{f' on {self.system}' if self.system else ''}"


def in_browser(info: Mapping[str, Any]) -> bool:
    """Return whether a session is one at a page in a browser (``spanlab serve``), from its ``session.json``."""
    return any(as_object(info.get(name)).get("window") == "browser" for name in ("agent_settings", "apparatus"))


def browser_of(info: Mapping[str, Any]) -> Browser | None:
    """The browser of a session, from its ``session.json``; None where it was taken in none."""
    if not in_browser(info):
        return None
    description = str(as_object(info.get("apparatus")).get("browser") or "")
    name, version = next(((name, match[1]) for name, pattern in _BROWSERS if (match := re.search(pattern, description))), ("", ""))
    return Browser(name, version, next((system for system, pattern in _SYSTEMS if re.search(pattern, description)), ""))
