"""The shape of the package: who may import whom, and nothing heavy where it is not used."""

from __future__ import annotations

import ast
import functools
import importlib
import re
import runpy
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

#: For each part of the package, the parts that it may import besides itself.
MAY_IMPORT: dict[str, set[str]] = {
    "": {"api", "core", "paradigms", "sessions"},
    "core": set(),
    "human_data": {"core"},
    "stimuli": {"core"},
    "paradigms": {"core", "stimuli"},
    "agents": {"core", "stimuli", "paradigms"},
    "sessions": {"", "core", "stimuli", "paradigms", "agents"},
    "exchange": {"core", "human_data", "stimuli", "paradigms", "agents", "sessions", "analysis.data"},
    "analysis": {"", "core", "human_data", "sessions.record"},
    "api": {"core", "stimuli", "paradigms", "agents", "sessions", "exchange", "human_data", "analysis"},
}
#: Folders of the repository that are not part of the package.
NOT_PACKAGES = {"tests", "benchmarks", "docs", "examples", "scripts", "build", "dist", "data", "demo", "report", "runs"}
#: files of code in one folder
MOST_IN_A_ROOM = 20
#: Folders of programs that stand each for itself, as many as there are things to measure.
PROGRAMS = {"benchmarks"}
#: The command line, which may import everything.
COMMAND_LINE = {"cli", "__main__"}
#: Rooms that may import less than the part that they are in.
STRICTER: dict[str, set[str]] = {"sessions.record": {"core"}}
#: For each extension, the others that its README says it uses.
EXTENSIONS: dict[str, set[str]] = {
    "app": set(),
    "archive": set(),
    "battery": set(),
    "benchmark": set(),
    "browser": set(),
    "choices": set(),
    "demonstration": set(),
    "fitting": set(),
    "modelling": set(),
    "neural": set(),
    "observers": set(),
    "planning": set(),
    "replication": {"neural", "sweeps"},
    "standards": set(),
    "sweeps": set(),
}
#: names that a room gives to extensions through its door
MOST_AT_A_DOOR = 20


@dataclass(frozen=True)
class Import:
    """One import of one of our modules: ``importer`` and ``target`` are dotted names below
    ``spanlab`` (empty: the package itself)."""

    importer: str
    target: str
    line: int

    def __str__(self) -> str:
        return f"{self.importer or 'spanlab'}:{self.line} imports {self.target or 'spanlab'}"


def part(module: str) -> str:
    return module.split(".")[0]


def lies_in(module: str, places: set[str]) -> bool:
    return any(module == place or module.startswith(f"{place}.") for place in places)


@functools.cache
def packages() -> list[str]:
    return runpy.run_path(str(ROOT / "setup.py"))["PACKAGES"]


def sources() -> dict[str, Path]:
    """Every module of the package by its dotted name below ``spanlab``; a package's ``__init__`` by
    the package's name."""
    found: dict[str, Path] = {}
    for package in packages():
        below = package.removeprefix("spanlab").removeprefix(".")
        for path in sorted(set((ROOT / below.replace(".", "/")).glob("*.py")) - {ROOT / "setup.py"}):
            found[".".join(filter(None, [below, "" if path.stem == "__init__" else path.stem]))] = path
    return found


MODULES = sources()


# Not before a test wants them: every worker would read all modules only to find the tests.
@functools.cache
def trees() -> dict[str, ast.Module]:
    return {name: ast.parse(path.read_text(encoding="utf-8"), str(path)) for name, path in MODULES.items()}


def statements(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Every statement, those inside of others too; expressions have none."""
    for node in body:
        yield node
        for inside in ("body", "orelse", "finalbody", "handlers", "cases"):
            if isinstance(below := getattr(node, inside, None), list):
                yield from statements(below)


def imports(module: str) -> Iterator[Import]:
    path = MODULES[module]
    here = module.split(".") if module else []
    base = here if path.name == "__init__.py" else here[:-1]
    for node in statements([trees()[module]]):
        outside = isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] == "spanlab"
        if isinstance(node, ast.ImportFrom) and (node.level or outside):
            behind = node.module.split(".") if node.module else []
            origin = behind[1:] if outside else base[: len(base) - node.level + 1] + behind
            for alias in node.names:
                name = ".".join([*origin, alias.name])
                yield Import(module, name if name in MODULES else ".".join(origin), node.lineno)


@functools.cache
def all_imports() -> list[Import]:
    return [found for module in MODULES for found in imports(module)]


def test_the_package_is_not_empty() -> None:
    assert len(MODULES) > 15
    assert len(all_imports()) > 15


def test_every_package_on_disk_is_found_by_setup() -> None:
    on_disk = {"spanlab"}
    for top in ROOT.iterdir():
        if (
            top.is_dir()
            and not top.name.startswith(".")
            and not top.name.endswith(".egg-info")
            and top.name not in NOT_PACKAGES
        ):
            folders = {
                path.parent.relative_to(ROOT)
                for path in top.rglob("*.py")
                if path.name != "conftest.py" and "tests" not in path.parts
            }
            on_disk |= {".".join(["spanlab", *folder.parts]) for folder in folders}
    assert on_disk == set(packages())


def test_imports_inside_the_package_are_relative() -> None:
    """But for those of the package itself, which test runners import by the name of the
    repository's folder, and of extensions, which are as if others' own."""
    absolute = []
    for module, tree in trees().items():
        if not module or part(module) == "extensions":
            continue
        for node in statements([tree]):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            else:
                continue
            absolute += [f"{module}:{node.lineno} imports {name}" for name in names if part(name) == "spanlab"]
    assert not absolute


def test_every_part_is_known() -> None:
    unknown = {part(module) for module in MODULES} - set(MAY_IMPORT) - COMMAND_LINE - {"extensions"}
    assert not unknown, "say in MAY_IMPORT what these may import"


def test_arrows_point_one_way() -> None:
    wrong = []
    for found in all_imports():
        here, there = part(found.importer), part(found.target)
        if here in {*COMMAND_LINE, "extensions"} or here == there:
            continue
        allowed = MAY_IMPORT[here]
        if not lies_in(found.target, allowed):
            wrong.append(str(found))
    assert not wrong


def test_only_the_command_line_and_extensions_import_the_command_line() -> None:
    allowed = {*COMMAND_LINE, "extensions"}
    assert not [
        str(found)
        for found in all_imports()
        if part(found.target) in COMMAND_LINE and part(found.importer) not in allowed
    ]


def test_the_core_imports_no_extension() -> None:
    assert not [
        str(found)
        for found in all_imports()
        if part(found.target) == "extensions" and part(found.importer) != "extensions"
    ]


def extension(module: str) -> str:
    return ([*module.split("."), ""])[1]


def test_extensions_import_others_only_where_they_say_so() -> None:
    assert {path.name for path in (ROOT / "extensions").iterdir() if (path / "__init__.py").is_file()} == set(
        EXTENSIONS
    )
    wrong = []
    for found in all_imports():
        if part(found.importer) == part(found.target) == "extensions":
            here, there = extension(found.importer), extension(found.target)
            if here != there and there not in EXTENSIONS[here]:
                wrong.append(str(found))
    assert not wrong


def door_of(room: str) -> set[str]:
    """The names that a room gives to everybody: those of its stub, or those of ``__all__``."""
    return set(getattr(importlib.import_module(f"spanlab.{room}" if room else "spanlab"), "__all__", ()))


def through_doors() -> dict[str, set[str]]:
    """For each room of the core, the names that extensions take from it."""
    taken: dict[str, set[str]] = {}
    for module, tree in trees().items():
        if part(module) != "extensions":
            continue
        for node in statements([tree]):
            if isinstance(node, ast.ImportFrom) and not node.level and part(node.module or "") == "spanlab":
                taken.setdefault((node.module or "").removeprefix("spanlab").removeprefix("."), set()).update(
                    alias.name for alias in node.names
                )
    return taken


def test_extensions_come_in_through_the_doors() -> None:
    taken = through_doors()
    assert len(taken) > 20
    rooms = {name.removeprefix("spanlab").removeprefix(".") for name in packages()} | {"api"}
    closed = {room: taken[room] - door_of(room) for room in taken.keys() & rooms - {"api", "core.locale"}}
    assert not {room: names for room, names in closed.items() if names}
    behind = {module: names for module, names in taken.items() if module not in rooms}
    assert not behind.keys() - MODULES.keys()
    assert not [name for names in behind.values() for name in names if name.startswith("_")]
    at_the_door = {module: names & door_of(module.rpartition(".")[0]) for module, names in behind.items()}
    assert not {module: names for module, names in at_the_door.items() if names}, "it is at the door of the room"


def test_what_several_extensions_take_is_at_a_door() -> None:
    takers: dict[tuple[str, str], set[str]] = {}
    for module, tree in trees().items():
        for node in statements([tree]) if part(module) == "extensions" else ():
            if isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").startswith("spanlab."):
                for alias in node.names:
                    taken = ((node.module or "").removeprefix("spanlab."), alias.name)
                    takers.setdefault(taken, set()).add(module.split(".")[1])
    rooms = {name.removeprefix("spanlab.") for name in packages()} | {"api"}
    assert not {taken: by for taken, by in takers.items() if len(by) > 1 and taken[0] not in rooms}


def test_doors_are_narrow() -> None:
    wide = {room: len(names) for room, names in through_doors().items() if len(names) > MOST_AT_A_DOOR}
    assert not wide


def test_a_door_gives_no_name_that_a_module_behind_it_has_too() -> None:
    """``from room import name`` would be the one or the other, as the case may be."""
    stubs = [stub for path in MODULES.values() if (stub := path.with_name("__init__.pyi")).exists()]
    stubs = sorted({*stubs} - {ROOT / "__init__.pyi"})
    assert len(stubs) > 20
    both = []
    for stub in stubs:
        for node in ast.parse(stub.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom) and node.module:
                both += [
                    f"{stub.parent.name}: {alias.name}"
                    for alias in node.names
                    if (stub.parent / f"{alias.name}.py").exists()
                ]
    assert not both


@pytest.mark.parametrize("name", sorted(EXTENSIONS))
def test_an_extension_says_what_it_adds_and_which_doors_it_uses(name: str) -> None:
    text = (ROOT / "extensions" / name / "README.md").read_text(encoding="utf-8")
    used = set(re.findall(r"`spanlab((?:\.\w+)*)`", text.partition("doors of the core:")[2]))
    rooms = {*packages(), "spanlab.api"}
    doors = {
        (where if (where := node.module or "") in rooms else where.rpartition(".")[0]).removeprefix("spanlab")
        for module, tree in trees().items()
        if module.startswith(f"extensions.{name}")
        for node in statements([tree])
        if isinstance(node, ast.ImportFrom) and not node.level and part(node.module or "") == "spanlab"
    }
    assert used == {
        room for room in doors if not room.startswith(".extensions.")
    }  # other extensions stand in a line of their own


@pytest.mark.parametrize("room", sorted(STRICTER))
def test_rooms_that_import_less(room: str) -> None:
    assert room in MODULES
    assert not [
        str(found)
        for found in all_imports()
        if lies_in(found.importer, {room}) and not lies_in(found.target, STRICTER[room] | {room})
    ]


def circles() -> list[str]:
    """Modules that go in circles, or need one that does; every import counts: those of functions,
    and those for types alone."""
    arrows: dict[str, set[str]] = {module: set() for module in MODULES}
    for found in all_imports():
        if found.importer != found.target and found.target in MODULES:
            arrows[found.importer].add(found.target)
    # take away modules that need nothing more, until nothing can be taken away
    while ready := [module for module, needs in arrows.items() if not needs]:
        for module in ready:
            del arrows[module]
        for needs in arrows.values():
            needs.difference_update(ready)
    return sorted(arrows)


def test_no_circles() -> None:
    assert not circles()


def test_rooms_stay_small() -> None:
    """Modules, and the templates and styles beside them, of the package, its tests and its scripts."""
    packages_ = {path.parent for path in MODULES.values()} - {ROOT}
    beside = {path.parent for folder in ("tests", "scripts", "benchmarks") for path in (ROOT / folder).rglob("*.py")}
    counts = {
        room.relative_to(ROOT).as_posix(): sum(
            path.suffix in {".py", ".jinja", ".css", ".js"} and path.name != "__init__.py" for path in room.iterdir()
        )
        for room in packages_ | beside
    }
    assert not {room: count for room, count in counts.items() if count > MOST_IN_A_ROOM and room not in PROGRAMS}


def test_the_map_names_every_room() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = text[text.index("### The rooms") : text.index("### What to touch")]
    assert sorted(re.findall(r"^\| `([\w/]+)/` \|", rooms, re.MULTILINE)) == sorted(
        name.partition(".")[2].replace(".", "/") for name in packages() if "." in name
    )


def test_no_module_lies_loose_at_the_root() -> None:
    assert {path.name for path in MODULES.values() if path.parent == ROOT} == {"__init__.py", "__main__.py"}


def test_every_module_says_what_it_is() -> None:
    assert not [module for module, tree in trees().items() if tree.body and ast.get_docstring(tree) is None]


@pytest.mark.parametrize(
    ("heading", "row", "rows_at_least", "least", "most"),
    [
        ("### What to touch", r"^\| (?:any? [^|]+|a [^|]+) \| ([^|]+) \|$", 12, 0, 3),
        ("### Where to look", r"^\| [^|]+\? \| ([^|]+) \|$", 10, 1, 9),
    ],
)
def test_the_places_that_the_map_names_are_there_and_few(
    heading: str, row: str, rows_at_least: int, least: int, most: int
) -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(row, text[text.index(heading) :], re.MULTILINE)
    assert len(rows) >= rows_at_least
    for places in rows:
        named = set(re.findall(r"`((?:\w+/)+(?:[\w.]+)?)`", places))
        assert least <= len(named) <= most, places
        assert not [place for place in named if not (ROOT / place).exists()], places


def reading() -> list[tuple[str, str, str]]:
    """Number, file and question of each row of the guided reading."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    return re.findall(r"^\| (\d+) \| \[`([^`]+)`\]\(\.\./(?:[^)]+)\) \| ([^|]+) \|$", text, re.MULTILINE)


def test_the_reading_leads_from_a_paradigm_to_a_curve_in_ten_files() -> None:
    rows = reading()
    assert [int(number) for number, _, _ in rows] == list(range(1, 11))
    files = [file for _, file, _ in rows]
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert [file for file in files if f"[`{file}`](../{file})" not in text or not (ROOT / file).is_file()] == []
    assert (files[0], files[-1].split("/")[0]) == ("paradigms/library/vsr.yaml", "analysis")
    assert [question for _, _, question in rows if not question.endswith("?")] == []
    # an afternoon: what has to be read is not longer than a long paper
    assert sum(len((ROOT / file).read_text(encoding="utf-8").splitlines()) for file in files) <= 2800


@pytest.mark.slow
def test_the_files_of_the_reading_lie_on_the_way() -> None:
    """Functions of each run between the paradigm and the figure; what a file only declares is used
    there."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "way.py"), "--files"], capture_output=True, text=True, check=True
    )
    met = {line.split()[1] for line in done.stdout.splitlines()[:-1]}
    assert {file for _, file, _ in reading()} - {"paradigms/library/vsr.yaml"} <= met
