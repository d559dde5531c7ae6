"""Measures what ``docs/fidelity.md`` tells of trials, and writes the numbers into its table of faults
and into ``tables.md``, which has the others.

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
import fidelity_independence
import fidelity_lacking

HERE = Path(__file__).resolve().parent
#: The page that explains the tables and has that of faults, and the page of all others.
PAGE, REST = HERE.parents[1] / "docs" / "fidelity.md", HERE / "tables.md"
#: Every table by its name: a function without parameters that gives it as Markdown.
TABLES: dict[str, Callable[[], str]] = {
    "faults": fidelity_faults.table,
    "lacking": fidelity_lacking.table,
    "independence": fidelity_independence.table,
    "balance": fidelity_balance.table,
}
_TABLE = re.compile(
    r"(<!-- measured by scripts/fidelity/fidelity_tables.py: (?P<name>[a-z_]+) -->\n).*?(<!-- end of (?P=name) -->)",
    re.DOTALL,
)


def page_of(name: str) -> Path:
    """The page with the table of that name."""
    return PAGE if name == "faults" else REST


def written(name: str) -> str:
    """The table of that name as it stands in its page.

    Raises
    ------
    KeyError
        when it is not there.
    """
    text = page_of(name).read_text(encoding="utf-8")
    found = {match["name"]: match[0][len(match[1]) : -len(match[3])] for match in _TABLE.finditer(text)}
    return found[name]


def replace(name: str, made: str) -> None:
    """Put this table in place of the one of that name."""
    page = page_of(name)
    text = page.read_text(encoding="utf-8")
    page.write_text(
        _TABLE.sub(lambda match: match[1] + made + match[3] if match["name"] == name else match[0], text),
        encoding="utf-8",
    )


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
        replace(name, made)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
