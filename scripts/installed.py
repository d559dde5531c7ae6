"""Whether the packages of an environment are whole, and of the versions that were tested. For the
set-up; run by the environment's own Python.

installed.py mend                  forgets packages of which files are missing or cut off, so that they are installed again (after a kill)
installed.py check CONSTRAINTS     ends with 1, and says which, where a package has another version than the file says, or is not whole
"""  # noqa: E501

from __future__ import annotations

import csv
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path


def folders() -> Iterator[Path]:
    """What describes each installed package: its folder ``NAME-VERSION.dist-info``."""
    place = (
        Path(sys.prefix)
        / ("Lib" if os.name == "nt" else f"lib/python{sys.version_info.major}.{sys.version_info.minor}")
        / "site-packages"
    )
    return place.glob("*.dist-info")


def damage(folder: Path) -> str:
    """What a package lacks; empty when all files that it lists are there, as long as they should
    be."""
    record = folder / "RECORD"
    if not record.is_file() or not (folder / "METADATA").is_file():
        return "its list of files"
    with record.open(newline="", encoding="utf-8") as file:
        for name, _, size, *_ in csv.reader(file):
            if name.endswith(".pyc"):
                continue
            path = folder.parent / name
            try:
                length = path.stat().st_size
            except OSError:
                return name
            if (
                size and length != int(size) and not name.startswith("..")
            ):  # programs begin with the place of their Python
                return name
    return ""


def named(name: str) -> str:
    """A package's name as it is compared."""
    return re.sub(r"[-_.]+", "-", name).lower()


def versions() -> dict[str, str]:
    """The version of each installed package, without a local part such as ``+cpu``."""
    pairs = (folder.name.removesuffix(".dist-info").rpartition("-") for folder in folders())
    return {named(name): version.partition("+")[0] for name, _, version in pairs}


def pinned(constraints: Path) -> dict[str, str]:
    """The exact versions in a file of constraints; those for other systems are left out."""
    found: dict[str, str] = {}
    for line in constraints.read_text(encoding="utf-8").splitlines():
        match = re.fullmatch(
            r"([A-Za-z0-9._-]+)==([^\s;#]+)(?:\s*;\s*sys_platform\s*([=!]=)\s*'(\w+)')?", line.partition("#")[0].strip()
        )
        if match and (match[3] is None or (sys.platform == match[4]) == (match[3] == "==")):
            found[named(match[1])] = match[2].partition("+")[0]
    return found


def mend() -> int:
    """Forget packages that are not whole."""
    for folder in [folder for folder in folders() if damage(folder)]:
        print(f"{folder.name.removesuffix('.dist-info')} is not whole, and is installed again")
        shutil.rmtree(folder)
    return 0


def check(constraints: Path) -> int:
    """Compare what there is with what was tested."""
    there, wanted = versions(), pinned(constraints)
    wrong = [
        f"{name} is {there[name]} and not {version}"
        for name, version in wanted.items()
        if there.get(name, version) != version
    ]
    wrong += [f"{folder.name} lacks {lacking}" for folder in folders() if (lacking := damage(folder))]
    for name in wrong:
        print(name, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(mend() if sys.argv[1] == "mend" else check(Path(sys.argv[2])))
