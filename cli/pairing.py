"""``--paired-with``: a variant with the blocks of another paradigm, or of a session of it. Part of the command line."""

from __future__ import annotations

from typing import Annotated

import typer

PairedOption = Annotated[
    str | None,
    typer.Option(
        "--paired-with",
        help="the blocks of this session, or of this paradigm with the same seed: same items and answers, shown as the variant shows them",
        metavar="SESSION_OR_PARADIGM",
    ),
]
