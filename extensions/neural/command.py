"""``spanlab neural``: an analysis of a network's units, in one folder. Part of the command line."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from spanlab.api import PathLike, Result, Words, progress_bar, public, words
from spanlab.api.options import GeneratorOption, parse_generator
from spanlab.core import SpanLabError, grouped, in_number

if TYPE_CHECKING:
    import numpy as np

    from spanlab.agents.network.checkpoints_io import Checkpoint
    from spanlab.paradigms import Generator, Paradigm, Trial
    from spanlab.paradigms.network_view import NetworkView

    from .lesions import Observed
    from .states import TaskStates

#: Trials of each task, the share of the highest task variance below which a unit is inactive, and
#: most clusters, when nothing is said.
_TRIALS, _INACTIVE, _MOST = 200, 1e-3, 30


class TaskSource(NamedTuple):
    """The trials of a task: a paradigm, and the combinations of factor levels that are this task;
    ``before`` counts its earlier tasks."""

    paradigm: Paradigm
    combinations: list[dict[str, Any]]
    before: int


class Analysis(NamedTuple):
    """The options of an analysis, as ``spanlab neural`` has them."""

    tasks: list[str] | None = None
    trials: int = _TRIALS
    seed: int = 1
    generator: Generator = "corrected"
    paradigms: Sequence[str | Path] = ()
    apart: bool = False
    inactive: float = _INACTIVE
    most_clusters: int = _MOST


@public
def neural(
    checkpoint: Annotated[
        str,
        typer.Argument(
            help=(
                "name of a network that ships (laptop), a checkpoint file, or your own module with the submodule to"
                " analyse (torch:FILE.py:build?states=NAME), which needs --paradigm"
            ),
            metavar="NETWORK",
        ),
    ],
    output: Annotated[
        PathLike, typer.Option("-o", "--output", help="folder for page, figures and tables", metavar="DIR")
    ],
    *,
    tasks: Annotated[
        Words,
        typer.Option(
            "--tasks",
            help="tasks, as the network names them, separated by commas; by default all that it knows",
            metavar="NAME,...",
            show_default=False,
        ),
    ] = (),
    trials: Annotated[
        int, typer.Option("--trials", help="trials of each task, shared out over the factor levels", min=1, max=100_000)
    ] = _TRIALS,
    seed: Annotated[int, typer.Option("--seed", help="seed of the trials", min=0)] = 1,
    generator: GeneratorOption = None,
    paradigm: Annotated[
        Words,
        typer.Option(
            "--paradigm",
            help="paradigm file outside the library, or any paradigm that your own module takes; may be repeated",
            metavar="FILE",
            show_default=False,
        ),
    ] = (),
    apart: Annotated[
        bool, typer.Option("--apart", help="treat tasks that share a head (change detection) separately, not as one")
    ] = False,
    inactive: Annotated[
        float,
        typer.Option(
            "--inactive",
            help="units whose highest task variance is below this share of the highest of any unit are inactive",
            min=0,
            max=1,
        ),
    ] = _INACTIVE,
    most_clusters: Annotated[
        int,
        typer.Option(
            "--most-clusters",
            help="largest number of clusters to try; 99 in the WorM benchmark's analysis",
            min=2,
            max=999,
        ),
    ] = _MOST,
) -> Result:
    """Analyse what a network's units do: task variance, clusters, lesions, similarity of states and
    tasks; figures, tables and a page.

    Examples
    --------
    >>> spanlab.neural("laptop", "units", tasks="vsr", trials=20).file.name
    'index.html'
    """
    made = parse_generator(generator or "corrected")
    how = Analysis(words(tasks), trials, seed, made, words(paradigm), apart, inactive, most_clusters)
    page = analyse(checkpoint, Path(output), how)
    return Result([str(page)], files=[page])


def analyse(checkpoint: str, output: Path, how: Analysis) -> Path:
    """Analyse a network's units as ``spanlab neural`` does; returns the page.

    Raises
    ------
    SpanLabError
        when scikit-learn or the network is missing, or a task has no paradigm.
    """
    from spanlab.agents.network.checkpoints_io import load

    from .clusters import need_scikit_learn
    from .report import Subject, write_neural_report

    need_scikit_learn()
    trials, seed, made = how.trials, how.seed, how.generator
    if checkpoint.startswith("torch:"):
        studied, sources = _module(checkpoint, how.paradigms)
        chosen, notes = _chosen(how.tasks, list(studied.heads), studied.name), list[str]()
    else:
        loaded = load(checkpoint)
        studied = _of_checkpoint(loaded)
        chosen = _chosen(how.tasks, list(studied.heads), studied.name)
        sources, notes = _sources(loaded, chosen, how.paradigms)
    names = {task: task if how.apart else studied.heads[task] for task in chosen}
    observed = {}
    with progress_bar("trials") as tell:
        for number, task in enumerate(chosen):
            view = sources[task].paradigm.network_view(sources[task].combinations[0])
            assert view is not None
            observed[task] = studied.observe(view, _trials(sources[task], trials, seed, made))
            tell(number + 1, len(chosen))
    states = [_states(names[task], observed[task]) for task in chosen]
    notes += [
        f"{task}: {trials} trials do not reach all of its {count} combinations of factor levels; take more with"
        " --trials."
        for task in chosen
        if trials < (count := len(sources[task].combinations))
    ]
    notes += [f"{task}: the network guesses. {said}" for task in chosen if (said := guesses(observed[task]))]
    notes += [
        f"{name}: the trials of {', '.join(together)} are looked at as one task, as published, so differences"
        " between these tasks count as variance; --apart keeps them apart."
        for name in dict.fromkeys(names.values())
        if len(together := [task for task in chosen if names[task] == name]) > 1
    ]
    command = ["spanlab", "neural", checkpoint, "-o", str(output)] + ["--tasks", ",".join(chosen)] * bool(how.tasks)
    command += ["--trials", str(trials), "--seed", str(seed)] + ["--generator", made] * (made != "corrected")
    command += [part for file in how.paradigms for part in ("--paradigm", str(file))] + ["--apart"] * how.apart
    command += ["--inactive", f"{how.inactive:g}"] * (how.inactive != _INACTIVE)
    command += ["--most-clusters", str(how.most_clusters)] * (how.most_clusters != _MOST)
    subject = Subject(
        name=studied.name,
        lead=(
            f"The states of the {states[0].units} units of {studied.memory} at every step of {trials} trials of each of"
            f" {len(chosen)} {in_number(len(chosen), 'task')}, and what is lost without some of them."
        ),
        facts=[
            f"SHA-256 {studied.sha256[:16]}",
            f"{studied.parameters:,} parameters",
            f"seed {seed}",
            f"{made} trials",
        ],
        tasks=[_row(task, names[task], sources[task], observed[task]) for task in chosen],
        notes=notes,
        command=shlex.join(command),
    )
    with progress_bar("parts") as tell:
        silenced = _silencing(names, observed)
        return write_neural_report(
            subject,
            states,
            studied.embedding,
            silenced,
            output,
            inactive=how.inactive,
            most=how.most_clusters,
            advance=tell,
        )


class Studied(NamedTuple):
    """A network whose units are looked at: the head of each of its tasks, and what its memory is called;
    ``embedding``, the names of its tasks and the numbers by which it tells them apart."""

    name: str
    heads: Mapping[str, str]
    memory: str
    sha256: str
    parameters: int
    embedding: tuple[Sequence[str], np.ndarray]
    observe: Callable[[NetworkView, Sequence[Trial]], Observed]


def _of_checkpoint(loaded: Checkpoint) -> Studied:
    from .lesions import observe

    network = loaded.network
    return Studied(
        loaded.name,
        {task: known.head for task, known in network.tasks.items()},
        f"its memory ({network.settings.architecture})",
        loaded.sha256,
        network.parameter_count,
        (list(network.tasks), network.task_embedding.weight.detach().cpu().numpy()),
        lambda view, trials: observe(network, loaded.vectors, view, trials),
    )


def _module(spec: str, paradigms: Sequence[str | Path]) -> tuple[Studied, dict[str, TaskSource]]:
    """A module of the user's, and the trials of each task of the paradigms that it is to take.

    Raises
    ------
    SpanLabError
        when no paradigm is named, or no submodule whose units are meant.
    """
    import numpy as np

    from spanlab.agents.network import torch_agent
    from spanlab.paradigms import load_paradigm

    from .lesions import observe_module

    views: dict[str, NetworkView] = {}
    sources: dict[str, TaskSource] = {}
    for paradigm in map(load_paradigm, paradigms):
        tasks = grouped(
            (view.task, (view, levels))
            for levels in paradigm.combinations()
            if (view := paradigm.network_view(levels)) is not None
        )
        for number, (task, known) in enumerate(tasks.items()):
            views[task], sources[task] = known[0][0], TaskSource(paradigm, [levels for _, levels in known], number)
    if not views:
        raise SpanLabError(f"which paradigms does {spec} take? Name them with --paradigm, such as --paradigm vsr")
    agent = torch_agent(spec, list(views.values()))
    if not agent.states:
        raise SpanLabError(f"whose units are meant? Name a submodule of yours: {spec}?states=NAME")
    return Studied(
        agent.name,
        {task: view.shared_head for task, view in views.items()},
        f"its submodule '{agent.states}'",
        str(agent.facts["sha256"]),
        int(agent.facts["parameters"]),
        ([], np.zeros((0, 1))),
        lambda view, trials: observe_module(agent, view, trials),
    ), sources


def _chosen(asked: list[str] | None, known: Sequence[str], name: str) -> list[str]:
    """The tasks that are meant, in the network's order."""
    from spanlab.core import nearest

    wanted = [name.strip() for text in asked or [] for name in text.split(",") if name.strip()]
    for one in wanted:
        if one not in known:
            raise SpanLabError(f"{name} knows no task '{one}'{nearest(one, known) or ''}; it knows {', '.join(known)}")
    if asked and not wanted:
        raise SpanLabError(f"names no task; {name} knows {', '.join(known)}", option="tasks")
    return [task for task in known if not asked or task in wanted]


def _sources(
    checkpoint: Checkpoint, tasks: Sequence[str], files: Sequence[str | Path]
) -> tuple[dict[str, TaskSource], list[str]]:
    """The paradigm of each task: a file that was given, one that the network was trained on, or the
    first of the library. Also what is to be known of them.

    Raises
    ------
    SpanLabError
        when a task has none.
    """
    from spanlab import list_paradigms
    from spanlab.paradigms import load_paradigm

    trained = checkpoint.trained
    library = list_paradigms()
    met = [name for name in (trained.paradigms if trained is not None else ()) if name in library]
    sources: dict[str, TaskSource] = {}
    notes: list[str] = []
    for place in [*files, *met, *(name for name in library if name not in met)]:
        if all(task in sources for task in tasks):
            break
        paradigm = load_paradigm(place)
        if paradigm.network is None:
            continue
        known = [task for task in _tasks_of(checkpoint, paradigm) if task in tasks and task not in sources]
        for number, (task, combinations) in enumerate(_tasks_of(checkpoint, paradigm).items()):
            if task in known:
                sources[task] = TaskSource(paradigm, combinations, number)
        if trained is not None and known and trained.paradigms.get(paradigm.name, paradigm.hash) != paradigm.hash:
            notes.append(f"{paradigm.name} has changed since the network was trained on it.")
    for task in tasks:
        if task not in sources:
            raise SpanLabError(
                f"no paradigm in the library is the task '{task}' of {checkpoint.name}: give its file with --paradigm"
                " FILE, or leave it out with --tasks"
            )
    return sources, notes


def _tasks_of(checkpoint: Checkpoint, paradigm: Paradigm) -> dict[str, list[dict[str, Any]]]:
    """The tasks that a paradigm has for this network, with their levels: those of its training,
    else of the published data sets."""
    from spanlab.agents.network import task_seen_in
    from spanlab.paradigms.language import DatasetDesign

    trained = checkpoint.trained.levels.get(paradigm.name) if checkpoint.trained is not None else None
    published = paradigm.designs.get("published")
    levels: Mapping[str, Any] = published.factors if isinstance(published, DatasetDesign) else {}
    if trained is not None:
        levels = {
            name: known_levels for name, known_levels in trained.items() if known_levels and name in paradigm.factors
        }
    levels_of: dict[str, list[dict[str, Any]]] = {}
    for combination in paradigm.combinations(levels):
        view = paradigm.network_view(combination)
        if view is not None and checkpoint.network.tasks.get(view.task) == task_seen_in(view):
            levels_of.setdefault(view.task, []).append(combination)
    return levels_of


def _trials(source: TaskSource, count: int, seed: int, generator: Generator) -> list[Trial]:
    """Held-out trials: from the stream of seeds of test sets, which that of training cannot meet.
    Tasks of one paradigm have different ones."""
    from spanlab.paradigms import compile_trial, trial_seed

    paradigm, combinations, before = source
    return [
        compile_trial(
            paradigm,
            combinations[number % len(combinations)],
            trial_seed("test", seed, before * count + number),
            generator,
        )
        for number in range(count)
    ]


def _states(name: str, observed: Observed) -> TaskStates:
    """States with labels: which steps count, which item is shown, and in task switching what is to
    be done."""
    import numpy as np

    from .lesions import before_the_probe
    from .states import TaskStates

    shape = observed.hidden.shape[:2]
    positions, lengths = np.zeros(shape, int), np.zeros(len(observed.steps), int)
    rules, answers = np.full(shape, "", object), np.full(shape, "", object)
    for row, (trial, steps) in enumerate(zip(observed.trials, observed.steps, strict=True)):
        shown = [place for place, step in enumerate(steps) if step.percept.phase == "present"]
        # An item may be shown for several steps, all of them for equally many.
        if trial.list_length and shown and len(shown) % trial.list_length == 0:
            lengths[row] = trial.list_length
            positions[row, shown] = np.arange(len(shown)) * trial.list_length // len(shown) + 1
        for place, step in enumerate(steps):
            if step.percept.ask is not None and "task" in step.truth.record:
                rules[row, place], answers[row, place] = str(step.truth.record["task"]), str(step.truth.answer)
    return TaskStates(name, observed.hidden, before_the_probe(observed)[0], positions, lengths, rules, answers)


def _row(task: str, name: str, source: TaskSource, observed: Observed) -> dict[str, str]:
    from .lesions import before_the_probe

    return {
        "task": task,
        "as": name,
        "paradigm": f"{source.paradigm.name} (version {source.paradigm.version}, {source.paradigm.hash[:8]})",
        "trials": f"{len(observed.steps):,}",
        "combinations of factor levels": f"{len(source.combinations):,}",
        "steps that count": "before the probe" if before_the_probe(observed)[1] else "all",
    }


def guesses(observed: Observed) -> str:
    """Say how often a network is right that is not above the best blind guess; empty for one that is
    (one-sided t test over trials, 5 %)."""
    import numpy as np
    from scipy.stats import ttest_1samp

    from .lesions import accuracy_without

    blind: dict[int, list[float]] = {}
    for question in observed.questions:
        truth = observed.steps[question.trial][question.step].truth
        blind.setdefault(question.trial, []).append(truth.blind or truth.chance or 0)
    accuracy, rows = accuracy_without(observed), sorted(blind)
    best = np.array([np.mean(blind[row]) for row in rows])
    gained = accuracy[rows] - best
    if len(rows) > 1 and gained.std() > 0:
        _, p = ttest_1samp(gained, 0, alternative="greater")
        above = float(p) < 0.05  # type: ignore[arg-type]
    else:
        above = bool(len(rows)) and bool(gained.mean() > 0)
    if above or not rows:
        return ""
    return (
        f"It is right in {accuracy[rows].mean():.3f} of {len(rows)} trials, and the best blind guess in"
        f" {best.mean():.3f}: what follows describes units that do not solve this task."
    )


def _silencing(names: Mapping[str, str], observed: Mapping[str, Observed]) -> Any:
    """Return a function that repeats the trials without some units."""
    import numpy as np

    from .lesions import accuracy_without

    def silenced(units: Sequence[int]) -> dict[str, np.ndarray]:
        accuracies = grouped(
            (names[task], accuracy_without(observed_task, units)) for task, observed_task in observed.items()
        )
        return {name: np.concatenate(parts) for name, parts in accuracies.items()}

    return silenced
