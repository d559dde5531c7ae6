"""Everything about the units of a network in one folder: figures, tables, and a page that explains
each of them."""

from __future__ import annotations

import base64
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from spanlab.analysis.data import plural, with_sign
from spanlab.analysis.figures import Sheet, draw, recoloured
from spanlab.core import __version__, written_in

from . import charts
from .clusters import MOST, STARTS, Clusters, cluster_units
from .lesions import DRAWS, Silencing, lesion_table
from .projection import Plane, neighbours, principal
from .states import (
    INACTIVE,
    TaskStates,
    TaskVariance,
    active_units,
    fractional_table,
    histograms,
    normalised,
    task_variance,
    tasks_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable


#: More list lengths than these are not drawn (they are in the table).
_PANELS = 12


@dataclass(frozen=True, slots=True)
class NeuralPart:
    """One part.

    Parameters
    ----------
    key, title : of the part
    what : what it shows
    method : how it was computed
    figures : name, caption and declaration of each
    tables : by name
    notes : what could not be computed, and why
    """

    key: str
    title: str
    what: str
    method: str
    figures: tuple[tuple[str, str, dict[str, Any]], ...] = ()
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def neural_parts(
    states: Sequence[TaskStates],
    embedding: tuple[Sequence[str], np.ndarray],
    silenced: Silencing,
    inactive: float,
    most: int,
) -> tuple[list[NeuralPart], list[str]]:
    """All parts of the analysis, and notes to read before them."""
    tasks_of(states)
    variance = task_variance(states)
    active = active_units(variance, inactive)
    units = np.flatnonzero(active)
    matrix = normalised(variance, active)
    clusters = cluster_units(matrix[units], most)
    notes = list(variance.notes)
    if not len(units):
        notes.append("No unit varies over trials, so there are no clusters, projections, preferences or lesions.")
    elif asleep := len(active) - len(units):
        notes.append(
            f"{asleep} of {len(active)} units are inactive (their highest task variance is below {inactive:g} times the"
            " highest of any unit) and left out of clusters, projections and preferences."
        )
    parts = [
        _variances(variance, matrix, active, units, clusters, inactive),
        _clusters(clusters, matrix, units, variance, most),
        _preferences(variance, active),
        _lesions(units, clusters, silenced),
        _switching(states),
        _positions(states),
        _names(*embedding),
    ]
    return parts, notes


def _variances(
    variance: TaskVariance,
    matrix: np.ndarray,
    active: np.ndarray,
    units: np.ndarray,
    clusters: Clusters,
    inactive: float,
) -> NeuralPart:
    cluster_of = np.zeros(len(active), int)
    cluster_of[units] = clusters.labels
    about = pd.DataFrame(
        {
            "unit": np.arange(1, len(active) + 1),
            "active": active,
            "cluster": pd.array(np.where(cluster_of > 0, cluster_of, -1), dtype="Int64"),
        }
    )
    about["cluster"] = about["cluster"].mask(about["cluster"] < 0)
    tables = {
        "task_variance": pd.concat([about, pd.DataFrame(variance.values, columns=list(variance.tasks))], axis=1),
        "task_variance_normalised": pd.concat([about, pd.DataFrame(matrix, columns=list(variance.tasks))], axis=1),
        "task_variance_steps": pd.DataFrame({"task": variance.tasks, "steps": variance.steps}),
    }
    caption = (
        f"A row for each of {len(units)} active units, sorted into {plural(clusters.count, 'cluster')} (numbers on the"
        " left), and a column for each task."
    )
    figures: tuple[tuple[str, str, dict[str, Any]], ...] = ()
    if len(units):
        figures = (
            (
                "task_variance",
                caption,
                charts.variance_map(matrix[units], variance.tasks, clusters.labels, title="Normalised task variance"),
            ),
        )
    return NeuralPart(
        "variance",
        "Task variance",
        "How much each unit varies over the trials of each task: a unit that takes part in a task has different states"
        " in different trials. 1 is the task in which it varies most.",
        "At each step the variance (of the population) of the unit's state over all trials that reach the step, then"
        " the mean over steps, each with the same weight; divided by the unit's highest value over tasks (Yang et al.,"
        " 2019; Sikarwar & Zhang, 2023). Steps at which memory is tested are left out if they end the trial. Steps"
        " that fewer than two trials reach have no variance and are left out. A unit is inactive when its highest task"
        f" variance is below {inactive:g} times the highest of any unit.",
        figures,
        tables,
    )


def _clusters(
    clusters: Clusters, matrix: np.ndarray, units: np.ndarray, variance: TaskVariance, most: int
) -> NeuralPart:
    rows, figures, tables, notes = (
        matrix[units],
        [],
        {},
        [clusters.note[:1].upper() + clusters.note[1:] + "."] if clusters.note else [],
    )
    if clusters.silhouettes:
        tables["silhouette"] = pd.DataFrame(clusters.silhouettes, columns=["clusters", "silhouette"])
        tried = clusters.silhouettes[-1][0]
        caption = (
            f"The highest mean silhouette of 2 to {tried} clusters is {clusters.silhouette:.2f}, with {clusters.count}."
        )
        if tried > 2 and clusters.count == tried:
            notes.append(
                f"The number of clusters is the highest that was tried ({tried}): the silhouette gives no natural"
                " number of clusters here."
            )
        figures.append(
            (
                "silhouette",
                caption,
                charts.silhouette_chart(clusters.silhouettes, clusters.count, title="How many clusters"),
            )
        )
    if len(units):
        means = pd.DataFrame(
            [rows[clusters.labels == cluster].mean(0) for cluster in range(1, clusters.count + 1)],
            columns=list(variance.tasks),
        )
        sizes = [int((clusters.labels == cluster).sum()) for cluster in range(1, clusters.count + 1)]
        tables["clusters"] = pd.concat(
            [pd.DataFrame({"cluster": range(1, clusters.count + 1), "units": sizes}), means], axis=1
        )
    if len(units) > 2 and len(variance.tasks) > 1:
        planes = [("t-SNE", neighbours(rows)), ("Principal components", principal(rows))]
        drawn = [
            (name, plane, [str(cluster) for cluster in clusters.labels[plane.rows]], True)
            for name, plane in planes
            if plane is not None
        ]
        if planes[0][1] is None:
            notes.append("There are too few different units for t-SNE.")
        caption = (
            "Each point is an active unit, placed by its normalised task variances; numbers, colours and shapes are"
            " clusters."
        )
        figures.append(("units", caption, charts.planes_chart(drawn, title="Units by their task variances")))
        tables["units_plane"] = _plane_table(drawn, {"unit": units + 1, "cluster": clusters.labels})
    return NeuralPart(
        "clusters",
        "Clusters of units",
        "Units that take part in the same tasks.",
        f"k-means of the normalised task variances, with {STARTS} starts from a fixed seed, for each number of clusters"
        f" from 2 to {most}; the number with the highest mean silhouette (euclidean; Rousseeuw, 1987) is chosen."
        " Clusters are numbered by the task in which they vary most. t-SNE and principal components are of the same"
        " numbers; distances between far groups mean nothing in t-SNE.",
        tuple(figures),
        tables,
        tuple(notes),
    )


def _plane_table(panels: Sequence[tuple[str, Plane, Sequence[str], bool]], columns: dict[str, Any]) -> pd.DataFrame:
    """Return where each point lies in each plane."""
    planes = {name: plane for name, plane, _, _ in panels}
    parts = [
        pd.DataFrame(
            {
                "plane": name,
                **{key: np.asarray(values)[plane.rows] for key, values in columns.items()},
                "x": plane.x,
                "y": plane.y,
            }
        )
        for name, plane in planes.items()
    ]
    return pd.concat(parts, ignore_index=True)


def _preferences(variance: TaskVariance, active: np.ndarray) -> NeuralPart:
    table = fractional_table(variance, active)
    bars = histograms(table)
    figures: tuple[tuple[str, str, dict[str, Any]], ...] = ()
    tables, notes = dict[str, pd.DataFrame](), ("Fractional task variance needs two tasks and an active unit.",)
    if len(bars):
        tables, notes = {"fractional_variance": table, "fractional_variance_histograms": bars}, ()
        caption = (
            "Numbers of active units for each pair of tasks. Units at 1 vary only in the task named on the right, units"
            " at -1 only in the one on the left."
        )
        figures = (("fractional_variance", caption, charts.histograms_chart(bars, title="Fractional task variance")),)
    return NeuralPart(
        "preferences",
        "Preferences between tasks",
        "Whether units serve one of two tasks or both. Peaks at the two ends are units that serve one task only; a peak"
        " in the middle is units that serve both.",
        "Fractional task variance of tasks A and B: (TV(A) - TV(B)) / (TV(A) + TV(B)), for each active unit (Yang et"
        " al., 2019). Above each panel stands B | A.",
        figures,
        tables,
        notes,
    )


def _lesions(units: np.ndarray, clusters: Clusters, silenced: Silencing) -> NeuralPart:
    table = lesion_table(units, clusters.labels, silenced)
    figures: tuple[tuple[str, str, dict[str, Any]], ...] = ()
    if len(table):
        furthest = max(0.05, float(table["beyond"].abs().max()))  # nan where one cluster has all units
        spread = [
            f"{with_sign(100 * beyond, 1)} ± {100 * sd:.1f}"
            for beyond, sd in zip(table["beyond"], table["random_sd"], strict=True)
        ]
        shown = table.assign(cluster=table["cluster"].astype(str), beyond=100 * table["beyond"], cell_text=spread)
        drawing = charts.matrix_chart(
            shown,
            "cluster",
            "task",
            "beyond",
            title="Lost without a cluster, beyond random units",
            legend="points beyond",
            format_=".0f",
            furthest=100 * furthest,
            row_title="cluster",
            cell_text="cell_text",
        )
        words = (
            "Loss of accuracy without a cluster, minus the loss without as many active units drawn at random, in"
            f" percentage points, ± the standard deviation of {DRAWS} such draws. Above 0, losing the cluster costs"
            " more than losing random units; below 0, less."
        )
        figures = (("lesions", words, drawing),) if table["beyond"].notna().any() else ()
    return NeuralPart(
        "lesions",
        "Lesions",
        "How much accuracy is lost without the units of one cluster, beyond the loss without as many other units, in"
        " the same trials.",
        "The states of the units are set to zero where they are read out, at the questions that test memory; the"
        " memory itself continues unchanged, save in a module of one's own that reads them again (as in Sikarwar &"
        " Zhang, 2023, who set to zero the weights to the"
        " classifiers). Accuracy is the share of items that is right, averaged over trials; drop_sem is the standard"
        " error of the differences in the same trials; random_drop and random_sd are mean and standard deviation of"
        f" the loss without as many active units drawn at random ({DRAWS} draws from a fixed seed), beyond is drop"
        " minus random_drop, and p the share of draws (with this cluster) that cost as much or more, not corrected for"
        " its many tests. Where random units cost as much, the cluster has no special role. A task in which the"
        " network guesses has nothing to lose: compare the column intact.",
        figures,
        {"lesions": table} if len(table) else {},
        _of_lesions(table),
    )


def _of_lesions(table: pd.DataFrame) -> tuple[str, ...]:
    if not len(table):
        return ("There are no clusters to leave out.",)
    if table["beyond"].isna().all():
        return ("All active units are in one cluster: there are no others to compare with, and no figure.",)
    above = int((table["p"] < 0.05).sum())
    return (
        (
            f"In {above} of {plural(len(table), 'pair')} of a cluster and a task at most 1 of {DRAWS} draws cost as"
            " much as the cluster (p < .05)."
        ),
    )


def _switching(states: Sequence[TaskStates]) -> NeuralPart:
    held, rules, answers = [], [], []
    for state in states:
        there = state.rules != ""
        held.append(state.values[there].astype(np.float64))
        rules += state.rules[there].tolist()
        answers += state.answers[there].tolist()
    points = np.concatenate(held)
    figures: list[tuple[str, str, dict[str, Any]]] = []
    tables: dict[str, pd.DataFrame] = {}
    notes: tuple[str, ...] = ()
    if len(points) < 3 or len(set(rules)) < 2:
        notes = ("There are no trials in which tasks switch, or too few.",)
    else:
        planes = [("t-SNE", neighbours(points)), ("Principal components", principal(points))]
        groupings = [("by task", rules), ("by answer", answers)]
        drawn = [
            (f"{name}, {name_of_groups}", plane, [groups[row] for row in plane.rows], False)
            for name, plane in planes
            if plane is not None
            for name_of_groups, groups in groupings
        ]
        caption = "Each point is the state at one question, grouped by task (left) and by correct answer (right)."
        figures.append(("task_switching", caption, charts.planes_chart(drawn, title="States in task switching")))
        tables["task_switching_plane"] = _plane_table(
            drawn[::2], {"task": np.array(rules), "answer": np.array(answers)}
        ).replace({"plane": r", by task$"}, {"plane": ""}, regex=True)
        scores = [(name_of_groups, len(points), _separation(points, groups)) for name_of_groups, groups in groupings]
        tables["task_switching_separation"] = pd.DataFrame(scores, columns=["grouping", "states", "silhouette"])
    return NeuralPart(
        "switching",
        "Task switching",
        "Whether the network keeps the tasks apart: the same states, coloured by the task that the last cue named and"
        " by the correct answer.",
        "The states at all questions of spatial task switching (not at cues), by t-SNE and by principal components. The"
        " published figure is labelled t-SNE, but its code computes principal components; both are shown. The table has"
        " the mean silhouette of each grouping among the whole states: 1 is far apart, 0 is mixed.",
        tuple(figures),
        tables,
        notes,
    )


def _separation(points: np.ndarray, groups: Sequence[str]) -> float:
    """The mean silhouette of groups; nan where there is one group, or every point is one."""
    from sklearn.metrics import silhouette_score
    from threadpoolctl import threadpool_limits

    if not 1 < len(set(groups)) < len(points):
        return float("nan")
    with threadpool_limits(1):
        return float(silhouette_score(points, list(groups)))


def _positions(states: Sequence[TaskStates]) -> NeuralPart:
    table = position_similarity(states)
    figures: list[tuple[str, str, dict[str, Any]]] = []
    if len(table):
        caption = (
            "Similarity of the state at each item to the state at the first item of the same list: mean cosine over"
            " trials."
        )
        figures.append(
            ("similarity_to_first", caption, charts.first_item_chart(table, title="Similarity to the first item"))
        )
    for task in dict.fromkeys(table["task"]):
        rows = table[table["task"] == task]
        lengths = sorted(rows["list_length"].unique())[:_PANELS]
        caption = (
            f"Mean cosine over trials between the states at two items of the same list, in {task}; one panel for each"
            " list length."
        )
        stem = "".join(letter if letter.isalnum() else "_" for letter in task)
        drawing = charts.positions_chart(
            rows[rows["list_length"].isin(lengths)], title=f"Similarity of states across serial positions: {task}"
        )
        figures.append((f"positions_{stem}", caption, drawing))
    return NeuralPart(
        "positions",
        "Serial positions",
        "How the state changes along a list. States that stay similar to the first one suggest that early items keep"
        " their influence, as a primacy effect requires.",
        "The cosine between the states at two items of the same trial, averaged over trials with this list length. If"
        " an item is shown for several steps, its last step counts. The first row of each matrix is the published"
        " measure.",
        tuple(figures),
        {"position_similarity": table} if len(table) else {},
        () if len(table) else ("No task has lists of two or more items.",),
    )


def _names(names: Sequence[str], rows: np.ndarray) -> NeuralPart:
    table = embedding_similarity(names, rows)
    figures: tuple[tuple[str, str, dict[str, Any]], ...] = ()
    if len(names) > 1:
        drawing = charts.matrix_chart(
            table,
            "task_a",
            "task_b",
            "scaled_cosine",
            title="Similarity of task embeddings",
            legend="cosine (scaled)",
            format_=".2f",
        )
        figures = (
            ("task_embeddings", "Cosine between the rows of the task embedding, each scaled to 0 to 1.", drawing),
        )
    return NeuralPart(
        "embeddings",
        "Task embeddings",
        "Which tasks have similar embeddings.",
        "The cosine between rows of the task embedding. As published, each row is first brought to the range from 0 to"
        " 1 (scaled_cosine), which makes all of them positive; the table has the cosine of the plain rows, too.",
        figures,
        {"task_embeddings": table},
        () if len(names) > 1 else ("The network has no embeddings of several tasks, so there is nothing to compare.",),
    )


def position_similarity(states: Sequence[TaskStates]) -> pd.DataFrame:
    """Return how similar the state at one item of a list is to that at another, in the same trial.

    Returns
    -------
    DataFrame
        ``task``, ``list_length``, ``position_a``, ``position_b``, ``cosine`` (mean over trials),
        ``sem`` and ``trials``, for lists of two and more; an item that is shown for several steps
        counts with its last one. Trials in which one of the two states is all zeros have no angle
        and are left out.
    """
    rows: list[tuple[str, int, int, int, float, float, int]] = []
    for task in tasks_of(states):
        cosines_of: dict[int, list[np.ndarray]] = {}
        for states_of_task in (one for one in states if one.task == task):
            for length in np.unique(states_of_task.list_lengths[states_of_task.list_lengths > 1]).tolist():
                chosen = np.flatnonzero(states_of_task.list_lengths == length)
                cosines_of.setdefault(length, []).append(_cosines(states_of_task, chosen, length))
        for length in sorted(cosines_of):
            cosines = np.concatenate(cosines_of[length])
            count = np.isfinite(cosines).sum(0)
            for a in range(length):
                for b in range(length):
                    values = cosines[:, a, b][np.isfinite(cosines[:, a, b])]
                    if not len(values):
                        continue
                    sem = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
                    rows.append((task, length, a + 1, b + 1, float(values.mean()), sem, int(count[a, b])))
    return pd.DataFrame(rows, columns=["task", "list_length", "position_a", "position_b", "cosine", "sem", "trials"])


def _cosines(states: TaskStates, trials: np.ndarray, length: int) -> np.ndarray:
    """(trials, positions, positions); nan where a position is not shown, or a state is all zeros."""
    held = np.full((len(trials), length, states.units), np.nan)
    for position in range(1, length + 1):
        there = states.positions[trials] == position
        last = there.shape[1] - 1 - there[:, ::-1].argmax(1)
        shown = there.any(1)
        held[shown, position - 1] = states.values[trials[shown], last[shown]]
    sizes = np.linalg.norm(held, axis=2, keepdims=True)
    even = np.divide(held, sizes, out=np.full(held.shape, np.nan), where=sizes > 0)
    return np.clip(np.einsum("tiu,tju->tij", even, even), -1, 1)


def embedding_similarity(names: Sequence[str], rows: np.ndarray) -> pd.DataFrame:
    """Return how similar the names of tasks are, float (tasks, n): ``task_a``, ``task_b``,
    ``cosine``, and ``scaled_cosine`` as published.

    As published, each row is first brought to the range from 0 to 1. Cosines of rows that are all
    zeros, or all the same number, do not exist and are nan.
    """
    plain = rows.astype(np.float64)
    low, high = plain.min(1, keepdims=True), plain.max(1, keepdims=True)
    scaled = np.divide(plain - low, high - low, out=np.zeros(plain.shape), where=high > low)
    tables = {"cosine": _table(plain), "scaled_cosine": _table(scaled)}
    return pd.DataFrame(
        [(a, b, *(table[i, j] for table in tables.values())) for i, a in enumerate(names) for j, b in enumerate(names)],
        columns=["task_a", "task_b", *tables],
    )


def _table(rows: np.ndarray) -> np.ndarray:
    sizes = np.linalg.norm(rows, axis=1, keepdims=True)
    even = np.divide(rows, sizes, out=np.full(rows.shape, np.nan), where=sizes > 0)
    return np.clip(even @ even.T, -1, 1)


@dataclass(frozen=True, slots=True)
class Subject:
    """The page's facts about the network and its trials.

    Parameters
    ----------
    name : of the network
    lead : who was looked at, doing what: a sentence or two
    facts : a few words each
    tasks : rows of a table: what was taken in each task, by column
    notes : what to know before reading on
    command : that makes the page again
    """

    name: str
    lead: str
    facts: Sequence[str]
    tasks: Sequence[Mapping[str, str]]
    notes: Sequence[str]
    command: str


def write_neural_report(
    subject: Subject,
    states: Sequence[TaskStates],
    embedding: tuple[Sequence[str], np.ndarray],
    silenced: Silencing,
    out: str | Path,
    *,
    inactive: float = INACTIVE,
    most: int = MOST,
    advance: Callable[[int, int], None] = lambda done, total: None,
) -> Path:
    """Analyse states and write ``index.html``, ``figures/`` (SVG, PDF, PNG) and ``tables/`` (CSV).

    Parameters
    ----------
    embedding : names of tasks, and the numbers by which the network tells them apart (tasks, n)
    silenced : does the trials without some units
    inactive : share of the highest task variance below which a unit is inactive
    most : most clusters that are tried
    advance : called with the number of parts that are done, and of all

    Returns
    -------
    Path
        of ``index.html``

    Raises
    ------
    SpanLabError
        when the states cannot be looked at, or the folder cannot be written.
    """
    out = Path(out)
    parts, notes = neural_parts(states, embedding, silenced, inactive, most)
    with written_in(out / "tables", f"the analysis to {out}", "choose another folder with -o"):
        (out / "figures").mkdir(exist_ok=True)
        shown = []
        for number, part in enumerate(parts):
            tables = {name: table for name, table in part.tables.items() if len(table)}
            for name, table in tables.items():
                table.to_csv(out / "tables" / f"{name}.csv", index=False)
            shown.append(
                {
                    "part": part,
                    "tables": list(tables),
                    "figures": [_drawn(name, caption, spec, out) for name, caption, spec in part.figures],
                }
            )
            advance(number + 1, len(parts))
        index = out / "index.html"
        index.write_text(_page(subject, shown, [*subject.notes, *notes]), encoding="utf-8")
    return index


def _drawn(name: str, caption: str, spec: dict[str, Any], out: Path) -> dict[str, str]:
    """A figure in its three files, and as the page shows it: from within itself, so that it can be
    sent around alone."""
    import vl_convert as vlc

    svg = draw(spec | {"title": {**spec["title"], "subtitle": textwrap.wrap(caption, 100)}}, ())
    plain = {key: value for key, value in spec.items() if key != "title"}  # the page has it as text
    stem = out / "figures" / name
    stem.with_suffix(".svg").write_text(svg, encoding="utf-8")
    stem.with_suffix(".pdf").write_bytes(vlc.svg_to_pdf(svg))
    stem.with_suffix(".png").write_bytes(vlc.svg_to_png(svg, scale=2))
    return {
        "name": name,
        "caption": caption,
        "source": _inside(draw(plain, ())),
        "dark": _inside(draw(recoloured(plain, charts.ON_BLACK), (), Sheet(theme="dark"))),
    }


def _inside(svg: str) -> str:
    """A picture as an address that holds all of it."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()


def _page(subject: Subject, parts: Sequence[Mapping[str, Any]], notes: Sequence[str]) -> str:
    import jinja2

    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    here = files(__name__.rpartition(".")[0])
    return environment.from_string(here.joinpath("index.html.jinja").read_text("utf-8")).render(
        subject=subject,
        parts=parts,
        notes=notes,
        version=__version__,
        css=files("spanlab.core").joinpath("page.css").read_text("utf-8"),
    )
