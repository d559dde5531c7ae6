"""Files of exclusion rules: read and checked. Part of the command line.

exclude:
  - {leave_out: participants, where: accuracy, below: 0.5, whose: people, reason: guessing}
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ..analysis.data.exclusions import Rule

ExcludeOption = Annotated[
    Path | None, typer.Option("--exclude", help="leave out answers, trials, sessions or participants by the rules in this file", metavar="RULES.yaml")
]


def read_rules(file: Path | None) -> tuple[Rule, ...]:
    """The rules of a file; none where no file is named.

    Raises
    ------
    SpanLabError
        when the file cannot be read.
    ParadigmError
        with everything that is wrong with it.
    """
    from ..analysis.data.exclusions import RulesFile
    from ..core.errors import ParadigmError
    from ..paradigms.language.diagnostics import in_order, validated
    from ..paradigms.language.yaml_source import read

    if file is None:
        return ()
    document = read(file)
    found, problems = validated(RulesFile, document.data)
    if problems or not isinstance(found, RulesFile):
        raise ParadigmError(in_order(document.problem(path, message) for path, message in problems))
    return tuple(found.exclude)
