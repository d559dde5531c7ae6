"""``--exclude``: a file of exclusion rules. Part of the command line.

exclude:
  - {leave_out: participants, where: accuracy, below: 0.5, whose: people, reason: guessing}
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ExcludeOption = Annotated[
    Path | None,
    typer.Option(
        "--exclude",
        help="leave out answers, trials, sessions or participants by the rules in this file, or by a preset: complex_span_85, attention or timing",
        metavar="RULES.yaml",
    ),
]
