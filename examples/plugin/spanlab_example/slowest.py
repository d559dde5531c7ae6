"""A command: the trials with the slowest answers of people, which are worth a look."""

from pathlib import Path
from typing import Annotated

import typer

from spanlab.sessions import read_responses


def slowest(data: Path, count: Annotated[int, typer.Option(help="how many answers", min=1)] = 5) -> None:
    """Print the slowest answers, with their sessions and trials."""
    answers = read_responses(data).dropna(subset=["rt_ms"]).nlargest(count, "rt_ms")
    print(answers[["session", "trial", "rt_ms"]].to_string(index=False))
