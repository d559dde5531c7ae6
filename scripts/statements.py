"""Counts the statements of the package, room by room: in the syntax tree, docstrings apart; tests,
benchmarks, scripts and examples do not count. Lines of JavaScript, CSS and HTML that are written by hand, without blank ones.

python scripts/statements.py [FOLDER]             of this repository when no other copy of it is named
python scripts/statements.py --large [FOLDER]     functions of more than 50 lines, and classes of more than 14 attributes: what is hard to hold in the head
"""  # noqa: E501

from __future__ import annotations

import ast
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOT_COUNTED = {
    "tests",
    "benchmarks",
    "scripts",
    "examples",
    "docs",
    "build",
    "dist",
    "data",
    "demo",
    "report",
    "runs",
    "setup.py",
}
EXTENSIONS = "extensions"
#: files of pages by their endings: a template is one of HTML
PAGES = {".js", ".ts", ".css", ".html", ".jinja"}
#: what the site's pages with trials have of their own, which people read as they read the package
OF_THE_SITE = ("scripts", "site_pages")


#: beyond these, a function or a class is in the list of large ones
LINES, ATTRIBUTES = 50, 14


def statements(source: str) -> int:
    """The statements of a module: every node of the tree that is one, but no docstring."""
    count = 0
    for node in ast.walk(ast.parse(source)):
        count += isinstance(node, ast.stmt)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            count -= ast.get_docstring(node, clean=False) is not None
    return count


def modules(root: Path) -> list[Path]:
    """The files of the package, from its root."""
    rooms = (
        room
        for room in root.iterdir()
        if room.is_dir()
        and room.name not in NOT_COUNTED
        and not room.name.startswith(".")
        and not room.name.endswith(".egg-info")
    )
    files = [*root.glob("*.py"), *(path for room in rooms for path in room.rglob("*.py"))]
    named = (path.relative_to(root) for path in files if path.name not in NOT_COUNTED)
    return sorted(path for path in named if path.parts[0] != EXTENSIONS or not {"tests", "conftest.py"} & {*path.parts})


def page_lines(root: Path) -> Counter[str]:
    """The lines of JavaScript, CSS and HTML of the package and of trials on the site, kind by kind."""
    lines: Counter[str] = Counter()
    for path in root.rglob("*"):
        parts = path.relative_to(root).parts
        counted = parts[:2] == OF_THE_SITE or not NOT_COUNTED & {*parts}
        if path.suffix in PAGES and counted and not any(part.startswith(".") for part in parts):
            lines[path.suffix] += sum(bool(line.strip()) for line in path.read_text(encoding="utf-8").splitlines())
    return lines


def by_room(root: Path) -> Counter[str]:
    """Statements of each room."""
    rooms: Counter[str] = Counter()
    for path in modules(root):
        rooms[path.parent.as_posix()] += statements((root / path).read_text(encoding="utf-8"))
    return rooms


def large(source: str) -> list[tuple[str, int, str]]:
    """The functions of more than 50 lines and the classes of more than 14 attributes of a module:
    name, size, unit."""
    found: list[tuple[str, int, str]] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[1] if ast.get_docstring(node) is not None and len(node.body) > 1 else node.body[0]
            lines = (node.end_lineno or 0) - first.lineno + 1
            found += [(node.name, lines, "lines")] if lines > LINES else []
        elif isinstance(node, ast.ClassDef):
            stored = (
                inner
                for inner in ast.walk(node)
                if isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store)
            )
            attributes = {
                inner.attr for inner in stored if isinstance(inner.value, ast.Name) and inner.value.id == "self"
            }
            found += [(node.name, len(attributes), "attributes")] if len(attributes) > ATTRIBUTES else []
    return found


def print_large(root: Path) -> int:
    """Print them, the largest first, and how many there are."""
    rows = [
        (size, unit, f"{path}:{name}")
        for path in modules(root)
        for name, size, unit in large((root / path).read_text(encoding="utf-8"))
    ]
    for unit in ("lines", "attributes"):
        those = sorted((row for row in rows if row[1] == unit), reverse=True)
        print(*(f"{size:7,} {unit:10}  {place}" for size, _, place in those), sep="\n")
        print(f"{len(those):7,} {'functions' if unit == 'lines' else 'classes'}")
    return 0


def main() -> int:
    """Print a line for each room, and the sum."""
    arguments = [argument for argument in sys.argv[1:] if argument != "--large"]
    root = Path(arguments[0]).resolve() if arguments else ROOT
    if not root.is_dir():
        print(__doc__)
        return 2
    if "--large" in sys.argv[1:]:
        return print_large(root)
    rooms = by_room(root)
    for room, count in sorted(rooms.items()):
        print(f"{count:7,}  {room}")
    outside = sum(count for room, count in rooms.items() if room.partition("/")[0] == EXTENSIONS)
    lines = page_lines(root)
    print(
        f"{lines.total():7,}  lines of pages: {', '.join(f'{count:,} {kind}' for kind, count in sorted(lines.items()))}"
    )
    print(
        f"{rooms.total():7,}  in {len(modules(root))} files: {rooms.total() - outside:,} in the core, {outside:,} in"
        " extensions"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
