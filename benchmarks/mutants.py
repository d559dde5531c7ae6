"""Do the quick tests notice a change? Mutants of the core are drawn at random, and each is judged by
the quick tests that reach its line. Works in a clone of its own, whose files it changes and restores.

python benchmarks/mutants.py reach                            which tests reach which lines, in minutes
python benchmarks/mutants.py judge --seed 7 --count 100       draws so many, judges them, and writes mutants.md
python benchmarks/mutants.py judge --seed 7 --rooms sessions  of some rooms only

Rooms are drawn in proportion to their statements, statements evenly within them, and the change evenly
among those that cosmic-ray's operators allow there. A change that leaves the program as it was (in
types alone) is no mutant; one that changes nothing that can be seen counts as a survivor.
"""

# The packages that this needs are for it alone: pip install cosmic-ray pytest-cov
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

import argparse
import ast
import os
import random
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

# statements is a script, and "coverage" is the package of that name, not the benchmark beside this file
sys.path[0] = str(Path(__file__).resolve().parents[1] / "scripts")

from cosmic_ray.ast import get_ast  # noqa: E402
from cosmic_ray.mutating import mutate_code  # noqa: E402
from cosmic_ray.plugins import get_operator, operator_names  # noqa: E402
from coverage import CoverageData  # noqa: E402
from statements import EXTENSIONS, ROOT, modules, statements  # noqa: E402

#: operators that need to be told names of variables
_WITH_ARGUMENTS = ("VariableReplacer", "VariableInserter")
_DATA = ROOT / ".mutants.coverage"
#: seconds after which a mutant counts as killed: it does not end
_PATIENCE = 300


@dataclass(frozen=True)
class Mutant:
    """A changed line of a file.

    Parameters
    ----------
    path : from the root
    line : its number
    before, after : the line
    code : of the whole changed file
    """

    path: Path
    line: int
    before: str
    after: str
    code: str


class _Untyped(ast.NodeTransformer):
    """Takes away what runs nothing: annotations."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(0)
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)


def _program(code: str) -> str:
    return ast.dump(_Untyped().visit(ast.parse(code)))


def _differs(changed: str, original: str) -> bool:
    """Return whether a changed file is Python, and another program."""
    try:
        return _program(changed) != original
    except SyntaxError:
        return False


def mutants_at(path: Path, line: int) -> list[Mutant]:
    """Every mutant that begins in a line of a file."""
    code = (ROOT / path).read_text(encoding="utf-8")
    tree, original, found = get_ast(code), _program(code), []
    for name in operator_names():
        if name.endswith(_WITH_ARGUMENTS):
            continue
        operator = get_operator(name)()
        for occurrence, ((start, _), _end) in enumerate(_positions(operator, tree)):
            if start != line:
                continue
            changed = mutate_code(code, operator, occurrence)
            if changed is not None and _differs(changed, original):
                before, after = code.splitlines()[line - 1], changed.splitlines()[line - 1]
                found.append(Mutant(path, line, before.strip(), after.strip(), changed))
    return found


def _positions(operator, node):
    """The places where an operator changes a tree, in the order in which they are numbered."""
    yield from operator.mutation_positions(node)
    for child in getattr(node, "children", ()):
        yield from _positions(operator, child)


def _lines(path: Path) -> list[int]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return [node.lineno for node in ast.walk(tree) if isinstance(node, ast.stmt)]


def drawn(seed: int, count: int, rooms: list[str]) -> list[Mutant]:
    """So many mutants of the core."""
    by_room: dict[str, list[Path]] = defaultdict(list)
    for path in modules(ROOT):
        room = path.parts[0]
        if room != EXTENSIONS and (not rooms or room in rooms):
            by_room[room].append(path)
    sizes = {
        room: sum(statements((ROOT / path).read_text("utf-8")) for path in paths) for room, paths in by_room.items()
    }
    lines = {room: [(path, line) for path in paths for line in _lines(path)] for room, paths in by_room.items()}
    dice, found = random.Random(seed), list[Mutant]()
    while len(found) < count:
        (room,) = dice.choices(list(sizes), list(sizes.values()))
        if choices := mutants_at(*dice.choice(lines[room])):
            found.append(dice.choice(choices))
    return found


def reach() -> None:
    """Run the quick tests, and keep which of them reach which lines."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n",
        "3",
        "--dist",
        "loadfile",
        f"--cov={ROOT}",
        "--cov-context=test",
        "--cov-report=",
    ]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "COVERAGE_FILE": str(_DATA)}, check=False)


def tests_of(data: CoverageData, mutant: Mutant) -> list[str]:
    """The quick tests that reach the statement in which a mutant stands, those of its room first. What runs
    when a module is imported is reached by all that use the module; what none reaches in its own process may be
    reached by a program that a test of the room starts, such as one with a window."""
    contexts = data.contexts_by_lineno(str(ROOT / mutant.path))
    here = [name for name in contexts.get(mutant.line, ()) if name]
    if not here and mutant.line in contexts:
        here = [name for names in contexts.values() for name in names if name]
    room = f"tests/{mutant.path.parts[0]}/"
    if not here:
        folders = [Path("tests") / parent for parent in mutant.path.parents]
        return [str(next(folder for folder in folders if (ROOT / folder).is_dir()))]
    return sorted({name.partition("|")[0] for name in here}, key=lambda name: (not name.startswith(room), name))


def killed(mutant: Mutant, tests: list[str]) -> bool:
    """Return whether one of these tests fails with a mutant in place."""
    file = ROOT / mutant.path
    original = file.read_bytes()
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:randomly", "--no-header", *tests]
    try:
        file.write_text(mutant.code, encoding="utf-8")
        return subprocess.run(command, cwd=ROOT, capture_output=True, timeout=_PATIENCE, check=False).returncode != 0
    except subprocess.TimeoutExpired:
        return True
    finally:
        file.write_bytes(original)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("reach", "judge"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--rooms", nargs="*", default=[])
    parser.add_argument("--part", type=int, nargs=2, default=(0, 1), help="K N: every Nth mutant, from number K on")
    parser.add_argument("-o", "--output", type=Path, default=Path("mutants.md"))
    given = parser.parse_args()
    if subprocess.run(["git", "diff", "--quiet"], cwd=ROOT, check=False).returncode:
        sys.exit("mutants: this checkout has changes; work in a clone of its own")
    if given.what == "reach":
        reach()
        return
    data = CoverageData(str(_DATA))
    data.read()
    rows, survivors = [], 0
    part, parts = given.part
    for number, mutant in [*enumerate(drawn(given.seed, given.count, given.rooms), start=1)][part::parts]:
        tests = tests_of(data, mutant)
        dead = bool(tests) and killed(mutant, tests)
        survivors += not dead
        state = "killed" if dead else "survived" if tests else "no test"
        change = f"`{mutant.before}` | `{mutant.after}`"
        rows.append(f"| {number} | {mutant.path}:{mutant.line} | {change} | {len(tests)} | {state} |")
        print(rows[-1], flush=True)
    head = f"Seed {given.seed}: {len(rows) - survivors} of {len(rows)} mutants are killed.\n\n"
    table = "| | place | before | after | tests | |\n|---|---|---|---|---|---|\n"
    given.output.write_text(head + table + "\n".join(rows) + "\n", encoding="utf-8")
    print(head.strip())


if __name__ == "__main__":
    main()
