"""``spanlab wordings``: models compared over random wordings. Part of the command line."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spanlab.core import SpanLabError, written_in

if TYPE_CHECKING:
    from .gathering import Difference, WordedModel


def wordings(
    data: Annotated[
        list[Path] | None,
        typer.Argument(help="sessions of a set file with wordings, or folders of sessions", metavar="DATA..."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="folder for the tables (CSV) and the figures (SVG)", metavar="DIR"),
    ] = None,
    write: Annotated[
        Path | None,
        typer.Option(
            "--write", help="write the wordings that ship into this folder, to be named in a set file", metavar="DIR"
        ),
    ] = None,
    accept_unread: Annotated[
        bool, typer.Option("--accept-unread", help="compare also models of which many replies could not be read")
    ] = False,
) -> None:
    """Compare models whatever the wording: sessions of a set file with 'wordings', which count as a
    random factor beside the trials."""
    if write is not None:
        from .shipped import write_shipped

        for path in write_shipped(write):
            print(path)
    if not data:
        if write is None:
            raise SpanLabError("name sessions of a set file with wordings, or --write DIR for wordings that ship")
        return
    from .gathering import gathered

    models, pairs, loaded = gathered(data, accept_unread)
    for problem in loaded.problems:
        print(problem, file=sys.stderr)
    for paradigm, group in itertools.groupby(models, lambda model: model.paradigm):
        print(paradigm)
        for model in sorted(group, key=lambda model: -float(model.scores.mean() if model.scores.size else 0)):
            print(f"  {_model(model)}")
        for pair in pairs:
            if pair.paradigm == paradigm:
                print(f"  {_pair(pair)}")
    if output is not None:
        _write(models, pairs, output)


def _model(model: WordedModel) -> str:
    counts = f"{len(model.wordings)} wordings x {model.scores.shape[1]} repeats x {len(model.trials)} trials"
    value = model.pooled
    reach = f" [{value.low:.1%}, {value.high:.1%}]" if value else ""
    unread = f"; {model.unread[0]:.0%} unread (as guesses {model.if_guessed:.1%})" if model.unread[0] > 0 else ""
    left_out = f"; {model.left_out} trials left out that a session lacks" if model.left_out else ""
    mean = f"{model.scores.mean():.1%}" if model.scores.size else "no trial that all sessions have"
    return f"{model.name}: {mean} right{reach}, {counts}{unread}{left_out}"


def _pair(pair: Difference) -> str:
    if pair.pooled is None:
        return f"{pair.first} and {pair.second}: not compared ({pair.note})"
    value = pair.pooled
    reach = f"{100 * value.mean:+.1f} points [{100 * value.low:+.1f}, {100 * value.high:+.1f}]"
    p = (
        "nothing varies"
        if value.p != value.p
        else f"p = {pair.p_holm:.3f} (Holm)"
        if pair.p_holm >= 0.001
        else "p < .001 (Holm)"
    )
    return (
        f"{pair.first} - {pair.second}: {reach} over {pair.wordings} wordings, t({value.df:.1f}), {p}: {pair.verdict}"
    )


def _write(models: list[WordedModel], pairs: list[Difference], folder: Path) -> None:
    """Write the tables and a figure for each paradigm."""
    from spanlab.analysis.figures import save_as

    from .gathering import difference_table, model_table
    from .picture import wordings_picture

    with written_in(folder, f"to {folder}"):
        model_table(models).to_csv(folder / "models.csv", index=False)
        difference_table(pairs).to_csv(folder / "differences.csv", index=False)
    for paradigm, group in itertools.groupby(models, lambda model: model.paradigm):
        save_as(wordings_picture(list(group), f"{paradigm}: wordings"), folder / f"wordings-{paradigm}.svg")
    print(folder)
