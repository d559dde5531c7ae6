"""Counts the statements of the package, room by room: in the syntax tree, docstrings apart; tests, benchmarks, scripts and examples do not count.

python scripts/statements.py [FOLDER]        of this repository when no other copy of it is named
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOT_COUNTED = {"tests", "benchmarks", "scripts", "examples", "docs", "build", "dist", "data", "demo", "report", "runs"}


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
    found = (path.relative_to(root) for path in root.rglob("*.py"))
    return sorted(path for path in found if path.parts[0] not in NOT_COUNTED and not path.parts[0].startswith(".") and not path.parts[0].endswith(".egg-info"))


def by_room(root: Path) -> Counter[str]:
    """Statements of each room."""
    rooms: Counter[str] = Counter()
    for path in modules(root):
        rooms[path.parent.as_posix()] += statements((root / path).read_text(encoding="utf-8"))
    return rooms


def main() -> int:
    """Print a line for each room, and the sum."""
    root = Path(sys.argv[1]).resolve() if sys.argv[1:] else ROOT
    rooms = by_room(root)
    for room, count in sorted(rooms.items()):
        print(f"{count:7,}  {room}")
    print(f"{rooms.total():7,}  in {len(modules(root))} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
