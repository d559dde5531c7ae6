"""The list of verdicts, made from their declarations, which are read from the source: no module is
imported."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

from statements import ROOT, modules

from spanlab.core.verdicts import VerdictRule


def declared(root: Path = ROOT) -> list[tuple[Path, VerdictRule]]:
    """Every declared verdict with its module; a declaration that is not made of literals is a
    ValueError."""
    return [(path, rule) for path in modules(root) for rule in rules_of((root / path).read_text(encoding="utf-8"))]


def rules_of(source: str) -> Iterator[VerdictRule]:
    """The verdicts that a module declares."""
    if "VerdictRule(" not in source:
        return
    tables = (statement for statement in ast.parse(source).body if isinstance(statement, ast.Assign | ast.AnnAssign))
    for node in itertools.chain.from_iterable(map(ast.walk, tables)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == VerdictRule.__name__:
            yield VerdictRule(**{str(keyword.arg): ast.literal_eval(keyword.value) for keyword in node.keywords})


def page() -> str:
    """Every verdict: what it says, what that rests on, when it says no, and its two tests."""
    return "\n".join(_section(path, rule) for path, rule in sorted(declared(), key=lambda entry: entry[1].name.lower()))


def _section(path: Path, rule: VerdictRule) -> str:
    said = "; ".join(f"“{_plain(sentence.removeprefix('='))}”" for sentence in rule.says)
    lines = {"says": said, "rests on": _plain(rule.rests_on), "says no when": _plain(rule.says_no_when)}
    lines |= {
        "test of yes": f"`{rule.tests[0]}`",
        "test of no": f"`{rule.tests[1]}`",
        "declared in": f"`{path.as_posix()}`",
    }
    return f"## {rule.name[:1].upper()}{rule.name[1:]}\n\n" + "".join(
        f"* {term}: {text}\n" for term, text in lines.items()
    )


def _plain(text: str) -> str:
    """A text in which Markdown finds no tags and no emphasis."""
    return re.sub(r"([*_<\[])", r"\\\1", text)
