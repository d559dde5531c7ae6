"""``spanlab reproduce``: the tables and figures of a paper, recomputed and beside the published
ones. Part of the command line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from spanlab.api import PathLike, Result, Words, public, words
from spanlab.core import SpanLabError

if TYPE_CHECKING:
    from .pages.worm import Units

Paper = Literal["worm", "nback"]
DEFAULT = "network:laptop"
_TITLES = {"worm": "The WorM benchmark, made again", "nback": "The N-back study of language models, made again"}


@public
def reproduce(
    paper: Annotated[
        Paper,
        typer.Argument(help="worm (Sikarwar & Zhang, 2023) or nback (Gong, Wan & Wang, 2024)", show_default=False),
    ],
    output: Annotated[
        PathLike, typer.Option("-o", "--output", help="folder for the page and its sessions", metavar="DIR")
    ],
    *,
    agent: Annotated[
        Words,
        typer.Option("--agent", help="the agent; may be repeated; network:laptop if not given", metavar="NAME"),
    ] = (),
    trials: Annotated[
        int | None,
        typer.Option(
            "--trials",
            help="trials of each paradigm, shared out over the factor levels; 400 (N-back: 150 blocks) when not given",
            min=1,
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="seed of the sessions", min=0)] = 1,
    networks: Annotated[
        PathLike | None,
        typer.Option(
            "--networks",
            help="worm: a folder of trained networks, such as the authors'; each checkpoint in it takes the trials",
            metavar="FOLDER",
        ),
    ] = None,
    data: Annotated[
        PathLike | None, typer.Option("--data", help="folder of the sessions; DIR/data when not given", metavar="DIR")
    ] = None,
) -> Result:
    """Reproduce the tables and figures of a paper on one page: ours, the published ones, and a
    verdict for each.

    Examples
    --------
    It trains nothing and asks nobody for money, but takes minutes:

    >>> spanlab.reproduce("nback", "paper", agent="chance")  # doctest: +SKIP
    """
    from .pages.entries import Page, write_page

    if paper == "worm":
        from spanlab.agents.network import need_torch

        need_torch()  # the sizes of the paper's networks are those of networks that are built
        from .pages import worm as found

        beside = [one for _, one in found.ONE_TASK]
    else:
        from .pages import nback as found

        beside = []
    many = trials or found.TRIALS
    named, place = words(agent), Path(output)
    agents = [*named, *([] if networks is None else networks_in(Path(networks)))] or [DEFAULT]
    sessions = Path(data or place / "data") / f"{many}-trials-seed-{seed}"
    folders, absent = _sessions(paper, agents, many, seed, sessions)
    command = [
        "spanlab",
        "reproduce",
        paper,
        "-o",
        str(output),
        *(part for one in named for part in ("--agent", one)),
    ]
    command += ["--trials", str(trials)] * (trials is not None) + ["--seed", str(seed)] * (seed != 1)
    command += ["--data", str(data)] * (data is not None)
    command += ["--networks", str(networks)] * (networks is not None)
    at_hand = [*agents, *beside] if agents == [DEFAULT] else agents
    facts = (
        f"{many} {'trials' if paper == 'worm' else 'blocks'} of each paradigm",
        f"seed {seed}",
        f"answerers at hand: {', '.join(at_hand)}",
    )
    units = (_units(agents, seed, Path(data or place) / "units"),) if paper == "worm" else ()
    page = Page(_TITLES[paper], found.LEAD, facts, " ".join(command), tuple(found.entries(folders, absent, *units)))
    path = write_page(page, place)
    return Result([str(path), page.counted()], files=[path])


def networks_in(folder: Path) -> list[str]:
    """The checkpoints in a folder, as agents; states of trainings are none.

    Raises
    ------
    SpanLabError
        when there is none.
    """
    files = (path for path in folder.rglob("*") if path.suffix in (".pt", ".pth", ".ckpt") and path.is_file())
    found = sorted(path for path in files if not path.name.endswith(".state.pt"))
    if not found:
        raise SpanLabError(f"{folder} has no checkpoint (a file that ends in .pt, .pth or .ckpt)")
    return [f"network:{path}" for path in found]


def _units(agents: list[str], seed: int, out: Path) -> Units:
    """The figures of units of the network at hand that knows the most of the paper's tasks,
    analysed now where they are not there yet."""
    from spanlab.agents.network.checkpoints_io import family_of, load, worm_tasks

    from .pages.worm import Units

    try:
        from spanlab.extensions.neural import Analysis, analyse
    except ModuleNotFoundError:
        return Units("", "the extension 'neural' is not installed")
    names = [
        member
        for agent in agents
        if agent.startswith("network:")
        for member in family_of(agent.removeprefix("network:"))
    ]
    try:
        networks = [load(name) for name in names]
        if not networks:
            return Units("", "no available agent is a network")
        known = [[task for task in checkpoint.network.tasks if task in worm_tasks()] for checkpoint in networks]
        network, tasks = max(zip(networks, known, strict=True), key=lambda both: len(both[1]))
        if not tasks:
            return Units("", "no available network knows one of the paper's tasks")
        folder = out / network.sha256[:16]
        if not (folder / "index.html").exists():
            analyse(names[networks.index(network)], folder, Analysis(tasks, seed=seed))
    except (
        SpanLabError
    ) as error:  # without scikit-learn, or for a network that was made without SpanLab, the rest of the page is made
        return Units("", str(error))
    return Units(names[networks.index(network)], "", folder / "figures")


def _sessions(paper: Paper, agents: list[str], trials: int, seed: int, data: Path) -> tuple[list[Path], list[str]]:
    """Sessions of everybody in the paradigms of a paper, those that are there already not taken
    again; and who could not take what, in sentences."""
    from spanlab import resume
    from spanlab.sessions import Watcher, choose_trials, make_machine, prepare, settings_hash
    from spanlab.sessions.run import replay_sessions, say_on_stderr

    if paper == "worm":
        from .pages.worm import ERRORLESS, FURTHER, ONE_TASK, PARADIGMS

        wanted = [(paradigm, ERRORLESS) for paradigm in PARADIGMS]
        wanted += ONE_TASK if agents == [DEFAULT] else []
        taken: tuple[str, ...] = (*PARADIGMS, *FURTHER)
    else:
        from .pages.nback import PARADIGMS

        wanted, taken = [], PARADIGMS
    there = _there(data)
    folders: list[Path] = []
    absent: list[str] = []
    for paradigm, agent in [*wanted, *((paradigm, agent) for agent in agents for paradigm in taken)]:
        design = "published" if paper == "nback" else None
        chosen = choose_trials(paradigm, seed=seed, trials=trials, design=design, generator="published")
        taker = make_machine(agent, chosen.seed, trials=chosen)
        if (folder := there.get((taker.name, settings_hash(taker), chosen.paradigm.hash))) is not None:
            resume(folder)
            folders.append(folder)
            continue
        try:
            request = prepare(taker, chosen, chosen.request(False), say_on_stderr)
        except SpanLabError as error:  # it cannot take these trials; whatever else goes wrong ends the command
            absent.append(f"{agent} cannot take {paradigm}: {str(error).split(';')[0].rstrip('.')}.")
            print(absent[-1], file=sys.stderr)
            continue
        folders += [
            session.folder for session, _ in replay_sessions(data, [(chosen, taker, request)], Watcher(say_on_stderr))
        ]
    return folders, absent


def _there(data: Path) -> dict[tuple[str, str, str], Path]:
    """The sessions in a folder, by who answered, with which settings (another checkpoint under the
    same name is another network), and which paradigm."""
    from spanlab.sessions.record import find_sessions, read_session

    if not data.is_dir() or not any(data.iterdir()):
        return {}
    infos = {folder: read_session(folder) for folder in find_sessions([data])}
    return {
        (info["agent"], info["agent_settings_hash"], info["paradigm_hash"]): folder for folder, info in infos.items()
    }
