"""Measures what ``docs/fidelity.md`` tells of trials, and writes the numbers into its tables.

    python scripts/fidelity/fidelity_tables.py                   measures all again (some minutes) and rewrites every table
    python scripts/fidelity/fidelity_tables.py faults lacking    only these tables
    python scripts/fidelity/fidelity_tables.py --print           prints the tables only

A table stands between ``<!-- measured by scripts/fidelity/fidelity_tables.py: NAME -->`` and ``<!--
end of NAME -->``. Each is made by one function, which is listed in :data:`TABLES`; a file of its
own beside this one holds it.
"""  # noqa: E501

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import fidelity_balance
import fidelity_faults
import fidelity_gist
import fidelity_independence
import fidelity_lacking

PAGE = Path(__file__).resolve().parents[2] / "docs" / "fidelity.md"
#: Every table by its name: a function without parameters that gives it as Markdown.
TABLES: dict[str, Callable[[], str]] = {
    "faults": fidelity_faults.table,
    "lacking": fidelity_lacking.table,
    "gist": fidelity_gist.table,
    "independence": fidelity_independence.table,
    "balance": fidelity_balance.table,
}
_TABLE = re.compile(
    r"(<!-- measured by scripts/fidelity/fidelity_tables.py: (?P<name>[a-z_]+) -->\n).*?(<!-- end of (?P=name) -->)",
    re.DOTALL,
)


def written(text: str, name: str) -> str:
    """The table of that name as it stands in a page.

    Raises
    ------
    KeyError
        when it is not there.
    """
    found = {match["name"]: match[0][len(match[1]) : -len(match[3])] for match in _TABLE.finditer(text)}
    return found[name]


def replaced(text: str, name: str, made: str) -> str:
    """The page with this table in place of the one of that name."""
    written(text, name)
    return _TABLE.sub(lambda match: match[1] + made + match[3] if match["name"] == name else match[0], text)


def main(arguments: list[str]) -> int:
    names = [name for name in arguments if not name.startswith("-")]
    if unknown := [name for name in names if name not in TABLES]:
        print(f"there is no table {', '.join(unknown)}; there are {', '.join(TABLES)}")
        return 1
    for name in names or TABLES:
        made = TABLES[name]()
        if "--print" in arguments:
            print(made)
            continue
        PAGE.write_text(replaced(PAGE.read_text(encoding="utf-8"), name, made), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
