"""The kit of pages: what the app on one's own computer and the browser laboratory have in common,
each in a process of its own. Letters, colours, buttons and tables stand in ``kit.css``, the making of elements in
``kit.js``."""

from __future__ import annotations

from importlib.resources import files

__all__ = ["MEDIA_TYPES", "page_files"]

#: Media types of files that a page may ask for, by what their names end in.
MEDIA_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ttf": "font/ttf",
}


def page_files(*folders: str) -> dict[str, tuple[bytes, str]]:
    """The files of pages in some packages and of the kit: content and media type, by name."""
    packages = (files(__name__), files("spanlab.stimuli.render") / "fonts", *(files(name) / "page" for name in folders))
    found = (path for package in packages for path in package.iterdir())
    named = ((path, path.name[path.name.rfind(".") :]) for path in found)
    return {path.name: (path.read_bytes(), MEDIA_TYPES[end]) for path, end in named if end in MEDIA_TYPES}
