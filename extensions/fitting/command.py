"""``spanlab fit``: models of memory, fitted to people and machines. Part of the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spanlab.api import (
    DATA_HELP,
    AcceptUnreadOption,
    ExcludeOption,
    PilotOption,
    PracticeOption,
    caution,
    print_table,
    progress_bar,
    read_rules,
)
from spanlab.core import SpanLabError

if TYPE_CHECKING:
    from .study import Study

#: What stands above the table of model selection.
SELECTION = "How frequent the models are among people (Bayesian model selection; log evidence: minus half the BIC)"
#: Answerers whose fits are printed one by one; of more the middle half.
_MOST = 8


def fit(
    data: Annotated[
        list[str],
        typer.Argument(
            help=f"{DATA_HELP}; or published:nback, the answers of the N-back study's language models",
            metavar="DATA...",
        ),
    ],
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model", help="a model; may be repeated; without any, those that suit the data are named", metavar="MODEL"
        ),
    ] = None,
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
    exclude: ExcludeOption = None,
    practice: PracticeOption = False,
    pilot: PilotOption = False,
    accept_unread: AcceptUnreadOption = False,
    save: Annotated[
        bool,
        typer.Option(
            "--save",
            help="keep the fits beside the sessions: spanlab compare shows them as long as the answers are the same",
        ),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="folder for fit.html, fit.csv, recovery.csv and pictures", metavar="DIR"),
    ] = None,
) -> None:
    """Fit models of memory to each person and machine, and say what the design can tell about them."""
    from spanlab.analysis.data import load

    from .reading import PUBLISHED, answerers, published
    from .study import study

    notes: list[str] = []
    folder = next((Path(path) for path in data if Path(path).is_dir()), None)
    if save and folder is None:
        raise SpanLabError("--save keeps fits beside sessions: give a folder of sessions")
    if data == [PUBLISHED]:
        everybody = published()
    else:
        loaded = load(
            [Path(path) for path in data],
            rules=read_rules(exclude),
            include_practice=practice,
            include_pilot=pilot,
            accept_unread=accept_unread,
        )
        caution(loaded)
        everybody, notes = answerers(loaded)
    everybody = [one for one in everybody if paradigm in ("", one.paradigm)]
    if not everybody:
        raise SpanLabError(f"--paradigm {paradigm}: there are no such answers in these data")
    print(*notes, *([""] if notes else []), sep="\n", end="")
    studies: list[Study] = []
    for name in dict.fromkeys(one.paradigm for one in everybody):
        with progress_bar(f"fits of {name}") as tell:
            studies.append(
                study([one for one in everybody if one.paradigm == name], model or [], simulated, seed, tell, workers)
            )
        show(studies[-1])
    if output is not None:
        from .page import write

        print(*write(studies, output), sep="\n")
    if save and folder is not None:
        from .saved import save as keep

        print(keep(studies, folder))


def show(fitted: Study) -> None:
    """Print the fits of a paradigm, what they say of models, and what the design can tell."""
    print(f"\n{fitted.paradigm}: {fitted.described}\n")
    print_table(*fitted.parameter_table(_MOST))
    print()
    print_table(*fitted.criteria_table(_MOST))
    print("\nWhat these answers say of the models (held-out answers)\n")
    print(*fitted.predictions(), sep="\n")
    head, rows = fitted.selection_table()
    if rows:
        print(f"\n{SELECTION}\n")
        print_table(head, rows)
    print(
        f"\nWhat this design can tell ({fitted.recovery.aicc.shape[1]} answerers simulated from each fitted model, and"
        " fitted again)\n"
    )
    print_table(*fitted.recovery_table())
    print()
    print_table(*fitted.confusion_table())
    print()
    print(*fitted.tells(), sep="\n")
    print("\nAgents that answer as fitted, such as\n  " + "\n  ".join(fitted.agents()))
