"""The image files of a paradigm: which they are, and what is known of them.

A paradigm's images are those that its displays name (``image: faces/01.png``), those that its factors and draws name, and everything in the files and folders
under ``images``, for names that expressions put together. Their hashes become a part of the paradigm's content, so that its hash covers them, sessions keep
them, and trials are compiled without the files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from ...core.errors import SpanLabError
from ...core.registry import nearest
from ...stimuli.image_files import SUFFIXES, ImageFacts, name_problem, read_facts
from .expressions import varies
from .yaml_source import YamlPath

#: so many images may a paradigm have
MAX_IMAGES = 5000
Report = Callable[[YamlPath, str], None]


def recorded_images(data: Mapping[str, Any]) -> dict[str, ImageFacts] | None:
    """The images of a paradigm that was read before, from its content; None where the content is as somebody has written it."""
    records = data.get("images")
    if not isinstance(records, dict) or not records:
        return None
    facts = {str(name): ImageFacts.recorded(value) for name, value in records.items()}
    return None if None in facts.values() else {name: fact for name, fact in facts.items() if fact is not None}


def find_images(data: Mapping[str, Any], folder: Path, report: Report) -> dict[str, ImageFacts]:
    """Look for the images of a paradigm, and at each of them.

    Parameters
    ----------
    data : the content of the paradigm
    folder : in which its file lies
    report : takes what is wrong with an image, and where it is named
    """
    images: dict[str, ImageFacts] = {}
    checked: set[str] = set()
    declared = data.get("images")

    def look(name: str, path: YamlPath, must_exist: bool) -> None:
        if name in checked:
            return
        problem = name_problem(name)
        if problem or (not must_exist and not _is_file(folder / name)):
            if must_exist and path[0] != "timeline":  # what is wrong with a name in a display is said by the display
                report(path, problem)
            return
        checked.add(name)
        try:
            if not (folder / name).resolve().is_relative_to(folder.resolve()):
                raise ValueError("the file is a link that leads out of the folder of the paradigm; copy the image there")
            if _is_folder(folder / name):
                raise ValueError("it is a folder; an image is one file")
            if not _is_file(folder / name):
                raise ValueError(f"there is no such image beside the paradigm: {folder / name}{_alike(folder / name)}")
            facts = read_facts(folder / name)
            if isinstance(declared, dict) and name in declared and ImageFacts.recorded(declared[name]) != facts:
                raise ValueError(f"the image has changed: its SHA-256 is {facts.sha256} now, and another one is declared")
            images[name] = facts
        except (ValueError, OSError) as error:
            report(path, f"'{name}': {error}")

    for name, path in _displayed(data.get("timeline"), ("timeline",)):
        look(name, path, True)
    for key in ("factors", "draw"):
        for name, path in _texts(data.get(key), (key,)):
            if name.lower().endswith(SUFFIXES):
                look(name, path, False)
    for entry, path in _declared(declared):
        if ".." in Path(entry).parts or Path(entry).is_absolute() or "\\" in entry:
            report(path, f"'{entry}': images lie in the folder of the paradigm, or in folders below it; write the path from there, with /")
        elif _is_folder(folder / entry):
            names = list(islice(_in_folder(folder, entry), MAX_IMAGES + 1))
            if not names:
                report(path, f"there is no image in the folder {folder / entry} (files that end in {', '.join(SUFFIXES)})")
            for name in names:
                look(name, path, True)
        elif not Path(entry).suffix:
            report(path, f"there is no folder {folder / entry}{_alike(folder / entry)}")
        else:
            look(entry, path, True)
    if len(checked) > MAX_IMAGES:
        report(("images",), f"more than {MAX_IMAGES} images; name only those that the paradigm shows")
    return dict(sorted(images.items()))


def image_hashes(data: Any, folder: Path) -> dict[str, Any]:
    """The images of a paradigm's own content with their hashes, for a hash of all that a user has made.

    Raises
    ------
    SpanLabError
        when one of them is missing or broken.
    """
    problems: list[str] = []
    images = find_images(data, folder, lambda path, message: problems.append(message)) if isinstance(data, dict) else {}
    if problems:
        raise SpanLabError(problems[0])
    return {name: facts.sha256 for name, facts in images.items()}


def _declared(value: Any) -> Iterator[tuple[str, YamlPath]]:
    """What stands under ``images``, and where; the form of the entries is checked with the rest of the file."""
    if isinstance(value, str):
        yield value, ("images",)
    for key, entry in enumerate(value) if isinstance(value, list) else [(name, name) for name in value] if isinstance(value, dict) else []:
        if isinstance(entry, str) and entry:
            yield entry, ("images", key)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False  # a name that no file can have


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False


def _displayed(value: Any, path: YamlPath) -> Iterator[tuple[str, YamlPath]]:
    """The files that displays name without an expression, and where."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "image":
                name, below = (inner.get("file"), (*path, key, "file")) if isinstance(inner, dict) else (inner, (*path, key))
                if isinstance(name, str) and name and not varies(name):
                    yield name, below
            else:
                yield from _displayed(inner, (*path, key))
    elif isinstance(value, list):
        for n, inner in enumerate(value):
            yield from _displayed(inner, (*path, n))


def _texts(value: Any, path: YamlPath) -> Iterator[tuple[str, YamlPath]]:
    if isinstance(value, str):
        yield value, path
    elif isinstance(value, (dict, list)):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _texts(inner, (*path, key))


def _in_folder(folder: Path, entry: str) -> Iterator[str]:
    """The images in a folder and below it, in the order of their names; hidden files are none."""
    for path in sorted((folder / entry).rglob("*")):
        name = path.relative_to(folder)
        if path.suffix.lower() in SUFFIXES and path.is_file() and not any(part.startswith(".") for part in name.parts):
            yield name.as_posix()


def _alike(path: Path) -> str:
    """What lies beside a file that does not exist and has nearly its name."""
    try:
        return nearest(path.name, [other.name for other in islice(path.parent.iterdir(), MAX_IMAGES)])
    except OSError:
        return "; there is no such folder either"
