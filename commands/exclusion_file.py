"""Files of exclusion rules: read and checked. Part of the command line.

exclude:
  - {leave_out: participants, where: accuracy, below: 0.5, whose: people, reason: guessing}
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    import pandas as pd

    from ..analysis.exclusions import Exclusions, Rule
    from ..analysis.gather import Gathered

ExcludeOption = Annotated[
    Path | None, typer.Option("--exclude", help="leave out answers, trials, sessions or participants by the rules in this file", metavar="RULES.yaml")
]


def read_rules(file: Path) -> tuple[Rule, ...]:
    """The rules of a file.

    Raises
    ------
    SpanLabError
        when the file cannot be read.
    ParadigmError
        with everything that is wrong with it.
    """
    from ..analysis.exclusions import RulesFile
    from ..errors import ParadigmError
    from ..paradigms.problems import in_order, validated
    from ..paradigms.yaml_text import read

    document = read(file)
    found, problems = validated(RulesFile, document.data)
    if problems or not isinstance(found, RulesFile):
        raise ParadigmError(in_order(document.problem(path, message) for path, message in problems))
    return tuple(found.exclude)


def excluded(gathered: Gathered, file: Path) -> tuple[pd.DataFrame, Exclusions]:
    """The responses of sessions without what the rules of a file leave out, and the report."""
    from ..analysis.exclusions import apply_exclusions, timing_faults

    rules = read_rules(file)
    faults = timing_faults(gathered.sessions) if any(rule.where == "timing" for rule in rules) else None
    return apply_exclusions(gathered.responses, rules, faults)
