"""Models of memory, fitted to people and machines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typing_extensions import Unpack

from spanlab.api import (
    DATA_HELP,
    PathLike,
    Paths,
    Reading,
    Result,
    Words,
    cautions,
    loaded,
    paths,
    progress_bar,
    public,
    table_lines,
    words,
)
from spanlab.core import SpanLabError

if TYPE_CHECKING:
    from .study import Study

#: What stands above the table of model selection.
SELECTION = "How frequent the models are among people (Bayesian model selection; log evidence: minus half the BIC)"
#: Answerers whose fits are printed one by one; of more the middle half.
_MOST = 8


@public
def fit(
    data: Annotated[
        Paths,
        typer.Argument(
            help=f"{DATA_HELP}; or published:nback, the answers of the N-back study's language models",
            metavar="DATA...",
        ),
    ],
    *,
    model: Annotated[
        Words,
        typer.Option(
            "--model",
            help="a model; may be repeated; without any, those that suit the data are named",
            metavar="MODEL",
            show_default=False,
        ),
    ] = (),
    paradigm: Annotated[str, typer.Option("--paradigm", help="only this paradigm of the data", metavar="NAME")] = "",
    simulated: Annotated[
        int,
        typer.Option(
            "--simulated", help="answerers simulated from each model, to see what the design can distinguish", min=10
        ),
    ] = 40,
    seed: Annotated[
        int, typer.Option("--seed", help="seed of the simulation and of the answers that are held out", min=0)
    ] = 1,
    workers: Annotated[
        int | None, typer.Option("--workers", help="share the work among this many processes", min=1, max=10_000)
    ] = None,
    output: Annotated[
        PathLike | None,
        typer.Option("-o", "--output", help="folder for fit.html, fit.csv, recovery.csv and pictures", metavar="DIR"),
    ] = None,
    **reading: Unpack[Reading],
) -> Result:
    """Fit models of memory to each person and machine, and say what the design can tell about them.

    Examples
    --------
    >>> result = spanlab.replay("continuous_colour", "precision", trials=60, levels={"set_size": [2, 6]}, seed=1)
    >>> found = spanlab.fit(result.folder, model="resource", simulated=1)
    >>> sorted(set(found.to_frame()["parameter"]))
    ['attended', 'power', 'precision']
    """
    from .files import tables, write
    from .reading import PUBLISHED, answerers, published
    from .study import study

    given = paths(data)
    found = Result()
    if list(map(str, given)) == [PUBLISHED]:
        everybody = published()
    else:
        read = loaded(given, **reading)
        found.cautions = cautions(read)
        everybody, notes = answerers(read)
        found.lines += [*notes, *([""] if notes else [])]
    everybody = [one for one in everybody if paradigm in ("", one.paradigm)]
    if not everybody:
        raise SpanLabError(f"{paradigm}: there are no such answers in these data", option="paradigm")
    studies: list[Study] = []
    for name in dict.fromkeys(one.paradigm for one in everybody):
        with progress_bar(f"fits of {name}") as tell:
            studies.append(
                study([one for one in everybody if one.paradigm == name], words(model), simulated, seed, tell, workers)
            )
        found.lines += shown(studies[-1])
    found.tables = tables(studies)
    if output is not None:
        found.files += map(Path, write(studies, Path(output)))
    found.lines += map(str, found.files)
    return found


def shown(fitted: Study) -> Iterator[str]:
    """The fits of a paradigm, what they say of models, and what the design can tell."""
    yield f"\n{fitted.paradigm}: {fitted.described}\n"
    yield from table_lines(*fitted.parameter_table(_MOST))
    yield ""
    yield from table_lines(*fitted.criteria_table(_MOST))
    yield "\nWhat these answers say of the models (held-out answers)\n"
    yield from fitted.predictions()
    head, rows = fitted.selection_table()
    if rows:
        yield f"\n{SELECTION}\n"
        yield from table_lines(head, rows)
    yield (
        f"\nWhat this design can tell ({fitted.recovery.aicc.shape[1]} answerers simulated from each fitted model, and"
        " fitted again)\n"
    )
    yield from table_lines(*fitted.recovery_table())
    yield ""
    yield from table_lines(*fitted.confusion_table())
    yield ""
    yield from fitted.tells()
    yield from ("", "Agents that answer as fitted, such as", *(f"  {agent}" for agent in fitted.agents()))
