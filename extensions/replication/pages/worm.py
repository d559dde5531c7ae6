"""The WorM paper (Sikarwar & Zhang, NeurIPS 2023), made again: its tables, and its figures by their
content."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pandas as pd

from spanlab.agents.network import model_settings
from spanlab.agents.network.checkpoints_io import locate, shipped, worm_tasks
from spanlab.agents.network.models import empty
from spanlab.agents.network.training import draw as draw_curves
from spanlab.analysis import figure_named
from spanlab.analysis.data import Data, load
from spanlab.analysis.figures import (
    NUMBERS,
    OTHERS,
    PAPER_FIGURES,
    UNITS,
    PaperFigure,
    Wish,
    draw,
    numbered,
    paper_figure,
)
from spanlab.analysis.model_vs_human import published_scores, scores
from spanlab.core import SpanLabError
from spanlab.extensions.sweeps.sweep import read_sweep
from spanlab.paradigms import load_paradigm
from spanlab.paradigms.duration import timetable
from spanlab.sessions.record import find_sessions, read_session

from .entries import Entry, Row, Verdict, verdict_of

#: Probability with which a network that guesses blindly would be taken for one that does not.
LEVEL = 0.001
#: Below this a score of Table A3 has a star.
STARRED = 0.01
#: More trials than this are not asked for.
_MOST = 1_000_000


@cache
def margins() -> dict[tuple[str, str], float]:
    """Return how far a score may be from the printed one and still be the same, by task and score;
    from a file that no run changes."""
    with (files("spanlab.analysis") / "published" / "worm_margins.csv").open(encoding="utf-8") as file:
        return {(row["task"], row["score"]): float(row["margin"]) for row in csv.DictReader(file)}


def judged(value: float, low: float, high: float, printed: float, margin: float, trials: int) -> tuple[Verdict, str]:
    """The verdict on a score, and why.

    It is the same when its whole 95% interval is within the margin of the printed value (two
    one-sided tests at 2.5%), and differs when the whole interval is outside. Otherwise there are
    too few trials, and how many would be enough follows from the width of the interval, which goes
    with the root of their number.

    Examples
    --------
    >>> judged(0.50, 0.48, 0.52, printed=0.51, margin=0.05, trials=400)
    ('same', 'the 95% interval is within 0.05 of it')
    >>> judged(0.50, 0.48, 0.52, printed=0.70, margin=0.05, trials=400)
    ('differs', 'by 0.200')
    >>> judged(0.50, 0.10, 0.90, printed=0.51, margin=0.05, trials=400)
    ('not resolved', 'some 40,000 trials would resolve it')
    """
    if any(math.isnan(one) for one in (value, low, high)):
        return "not resolved", "it has no interval"
    if printed - margin <= low and high <= printed + margin:
        return "same", f"the 95% interval is within {margin:g} of it"
    if high < printed - margin or low > printed + margin:
        return "differs", f"by {abs(value - printed):.3f}"
    room = abs(margin - abs(value - printed))
    return "not resolved", enough(trials * ((high - low) / 2 / room) ** 2 if room else math.inf)


def enough(trials: float) -> str:
    """Say how many trials would resolve something, in two digits."""
    if not trials <= _MOST:
        return f"no feasible number of trials (up to {_MOST:,}) would resolve it"
    unit = 10 ** max(0, math.floor(math.log10(max(1.0, trials))) - 1)
    return f"some {math.ceil(trials / unit) * unit:,} trials would resolve it"


def above_blind(items: pd.DataFrame) -> tuple[bool, str]:
    """Test whether somebody's answers are right more often than the best blind guess is, at
    :data:`LEVEL`, and say what they were.

    The test is a one-sided t-test over trials. Where all trials have the same share of right
    answers (all are right, as a rule), there is no spread to go by, and p is the probability that a
    guess is as good in every trial.

    The best blind guess knows the paradigm, the condition and which question it is. In serial
    recall it also knows at which places there was something.

    Parameters
    ----------
    items : scored items of one answerer in one paradigm
    """
    import numpy as np
    from scipy import stats

    blind = items["blind"].fillna(items["chance"]).astype(float)
    if "list_length" in items.columns and (items["paradigm"] == "vsr").all():
        blind = np.maximum(blind, 1 / items["list_length"].astype(float))
    trials = (
        pd.DataFrame({"right": items["correct"].astype(float), "blind": blind})
        .groupby([items["session"], items["unit_trial"]])
        .mean()
    )
    gain, n = (trials["right"] - trials["blind"]).to_numpy(), len(trials)
    right, guess = float(items["correct"].astype(float).mean()), float(blind.mean())
    said = f"it is right in {right:.3f} of {len(items):,} answers, the best blind guess in {guess:.3f}"
    mean, error = float(gain.mean()), float(gain.std(ddof=1)) / n**0.5 if n > 1 else 0.0
    if mean <= 0:
        return False, f"{said}; more trials would not change that"
    if min(np.ptp(trials["right"]), np.ptp(gain)) < 1e-9:  # trials without a spread have no t-test
        # a share of right answers as high as this one has a probability of at most blind / right
        # under guessing (Markov)
        log_p = float(np.log(np.clip(trials["blind"] / trials["right"], 1e-300, 1)).sum())
        p, needed = math.exp(log_p), n * math.log(LEVEL) / log_p
    else:
        p, needed = float(stats.t.sf(mean / error, n - 1)), n * (float(stats.norm.isf(LEVEL)) * error / mean) ** 2
    return p < LEVEL, said if p < LEVEL else f"{said}; {enough(needed)}"


def guessers(data: Data, paradigm: str) -> list[str]:
    """Who, of those in a figure, is not shown to do better than guess, in sentences."""
    items = data.scored.parts[paradigm].items
    found = {str(agent): above_blind(own) for agent, own in items.groupby("agent", observed=True)}
    return [
        f"{agent} is not shown to do better than guess: {said}." for agent, (knows, said) in found.items() if not knows
    ]


LEAD = (
    "Sikarwar, A., & Zhang, M. (2023). Decoding the Enigma: Benchmarking Humans and AIs on the Many Facets of Working"
    " Memory. Advances in Neural Information Processing Systems, Datasets and Benchmarks."
)
#: Trials of each paradigm, where nothing else is said.
TRIALS = 400
#: The paradigms of Table A3 and of the figures of behaviour.
PARADIGMS = ("vsr", "vir", "cs", "smu", "vsrec", "cd")
#: Those of further figures, which have no scores.
FURTHER = ("lsr_published", "lsr_published_long")
#: Networks that ship, are of the paper's make and were trained on one task alone: they take it
#: beside the agent that is taken when none is named.
ONE_TASK = [("vsr", "network:worm-vsr")]
#: An observer without errors, to hold the definitions of scores against published models that made
#: none.
ERRORLESS = "ideal"
#: Which published models were at, or all but at, 100 % of a task, so that their scores follow from
#: people's curves alone.
_AT_CEILING = {"vir": "TRF-96", "smu": "TRF-256", "vsrec": "TRF-256", "cd": "TRF-256"}
_UNITS = (96, 256, 1024)
#: Table A4, in millions.
_PRINTED_SIZES = {
    **{
        ("RNN", 96): "1.8",
        ("RNN", 256): "2",
        ("RNN", 1024): "3.5",
        ("GRU", 96): "2",
        ("GRU", 256): "2.5",
        ("GRU", 1024): "6.5",
    },
    **{
        ("LSTM", 96): "2",
        ("LSTM", 256): "2.5",
        ("LSTM", 1024): "8",
        ("TRF", 96): "2.5",
        ("TRF", 256): "4.5",
        ("TRF", 1024): "20",
    },
}
#: Table A1: what the authors tried.
_TRIED = {
    "model.architecture": ("architecture", "RNN, GRU, LSTM, TRF"),
    "model.hidden": ("units", "96, 256, 1024"),
    "rate.peak": ("learning rate", "8e-05, 0.0001, 0.0003"),
    "tasks.batch": ("trials in a step", "140, 70"),
}
_TASKS = ("sc", "sfr", "si", "smu", "sts", "vir", "vsr", "vsrec", "cd", "cs")
_SIZE = "86,400 / 9,600 / 9,600"
_PRINTED_A3 = (
    "printed in Table A3; people's curves behind them were digitised from figures of the original studies by the"
    " authors"
)


class Units(NamedTuple):
    """The figures of a network's units that ``spanlab neural`` drew.

    Parameters
    ----------
    network : its name; empty where there is none
    why : there are none
    figures : the folder with them
    """

    network: str
    why: str
    figures: Path | None = None


def entries(data: Sequence[Path], absent: Sequence[str], units: Units) -> list[Entry]:
    """The page's tables and figures.

    Parameters
    ----------
    data : folders with sessions of the paradigms of Table A3: the errorless observer's, and those
        of networks at hand
    absent : who could not take which paradigm, and why, in sentences
    units : figures of a network's units
    """
    sessions = find_sessions(list(data)) if data else []
    errorless = [folder for folder in sessions if read_session(folder)["agent"] == ERRORLESS]
    networks = [folder for folder in sessions if folder not in errorless]
    found = [
        characteristics(),
        grid_tried(),
        time_map(),
        data_sets(),
        network_sizes(),
        errorless_scores(errorless),
        network_scores(networks, absent),
        together(networks),
    ]
    loaded = load(networks) if networks else None
    found += [
        *(behaviour(figure, loaded, absent) for figure in PAPER_FIGURES),
        *(_of_lists(number, paradigm, loaded) for number, paradigm in _LISTS.items()),
        *(_units(name, file, what, units) for name, (file, what) in UNITS.items()),
    ]
    found += [_training(number, sessions) for number in _TRAINING]
    return [*found, *(_elsewhere(number) for number in OTHERS if number not in _TRAINING)]


#: What the paper's figures show of memory: the task, the number of the figure, and the command that
#: draws it.
_CHARACTERISTICS = (
    ("accuracy by list length", "vsr", "4A", "worm-vsr"),
    ("primacy and recency", "vsr", "4A", "worm-vsr"),
    ("retention interval", "vir", "4B", "worm-vir"),
    ("cognitive load", "cs", "4C", "worm-cs"),
    ("conflict of domains", "cs", "4C", "worm-cs"),
    ("set size", "smu", "4D", "worm-smu"),
    ("memory resolution", "vsrec", "4E", "worm-vsrec"),
    ("features and their conjunctions", "cd", "4F", "worm-cd"),
    ("states in task switching", "sts", "5A", "task_switching"),
    ("clusters of units by task", "all ten", "5B, 5C, A6", "units, task_variance, lesions"),
    ("units that prefer a task", "all ten", "5D", "fractional_variance"),
)


def characteristics() -> Entry:
    """The characteristics of memory that the paper's figures show, with the command that draws each."""
    rows = []
    for what, task, number, name in _CHARACTERISTICS:
        command = (
            f"spanlab figure {name} DATA" if name.startswith("worm") else f"spanlab neural NETWORK -o DIR    # {name}"
        )
        rows.append(Row((what, task, number, command), "", ""))
    return Entry(
        "characteristics",
        "Eleven characteristics of memory: which command draws each",
        "ours alone",
        "eight are of behaviour, three of units; the figures are further down, of the networks at hand",
        ("what", "task", "figure", "command"),
        tuple(rows),
        check=True,
    )


def published_times() -> list[dict[str, str]]:
    """Table A2: ``task``, ``phase`` and ``ms``."""
    with (files("spanlab.analysis") / "published" / "worm_table_a2.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def grid_tried() -> Entry:
    grid = read_sweep("table-a1").config.grid
    rows = []
    for key, (setting, printed) in _TRIED.items():
        values = [value * 14 if key == "tasks.batch" else value for value in grid[key]]
        names = {"rnn": "RNN", "gru": "GRU", "lstm": "LSTM", "transformer": "TRF"}
        ours = ", ".join(names[value] if isinstance(value, str) else f"{value:g}" for value in values)
        rows.append(_held((setting,), ours, printed))
    verdict, summary = verdict_of(rows)
    return Entry(
        "a1",
        "Table A1: what was tried in training",
        verdict,
        f"{summary}: 72 runs",
        ("setting",),
        tuple(rows),
        command="spanlab sweep table-a1 -o DIR",
        source="printed in Table A1",
        check=True,
    )


def time_map() -> Entry:
    printed = published_times()
    rebuilt = {
        (task, row.phase): row.ms
        for task in dict.fromkeys(row["task"] for row in printed)
        for row in timetable(load_paradigm(task))
    }
    rows = [
        _held((row["task"], row["phase"]), rebuilt.get((row["task"], row["phase"]), ""), row["ms"]) for row in printed
    ]
    verdict, summary = verdict_of(rows)
    return Entry(
        "a2",
        "Table A2: for how long people see what a network sees in one step (ms)",
        verdict,
        f"{summary}; ours come from the compiled paradigms",
        ("task", "phase"),
        tuple(rows),
        source="printed in Table A2",
        check=True,
    )


def data_sets() -> Entry:
    rows = []
    for name in _TASKS:
        design = load_paradigm(name).designs["published"]
        ours = " / ".join(f"{getattr(design, part):,}" for part in ("train", "validation", "test"))
        rows.append(_held((name,), ours, _SIZE))
    verdict, summary = verdict_of(rows)
    return Entry(
        "data-sets",
        "Data sets: trials for training, validation and test",
        verdict,
        f"{summary}. The published trials themselves cannot be made again, since their generators drew without a seed;"
        " trials here follow the same rules, and tests check that at scale 1 their frames are those of the published"
        " code, pixel by pixel.",
        ("task",),
        tuple(rows),
        source="printed in the paper's text",
        check=True,
    )


def network_sizes() -> Entry:
    rows, far = [], 0.0
    for short, units in _PRINTED_SIZES:
        kind = {"RNN": "rnn", "GRU": "gru", "LSTM": "lstm", "TRF": "transformer"}[short]
        count = empty(model_settings(encoder="worm", architecture=kind, hidden=units), worm_tasks()).parameter_count
        printed = float(_PRINTED_SIZES[short, units])
        away = abs(count / 1e6 - printed) / printed
        far = max(far, away)
        rows.append(
            Row(
                (f"{short}-{units}",),
                f"{count:,}",
                f"{_PRINTED_SIZES[short, units]} million",
                "same" if round(count / 5e5) / 2 == printed else "differs",
                f"{away:.1%} away",
            )
        )
    verdict, summary = verdict_of(rows)
    return Entry(
        "a4",
        "Table A4: parameters of the twelve networks",
        verdict,
        f"{summary}, rounded to halves of a million, as most of the printed numbers seem to be; the furthest is"
        f" {far:.1%} away",
        ("network",),
        tuple(rows),
        source="printed in Table A4",
        check=True,
    )


def errorless_scores(sessions: Sequence[Path]) -> Entry:
    """Scores of somebody who makes no errors, beside those of published models that made none, or
    next to none."""
    title = "Table A3, its definitions: scores of an observer without errors"
    if not sessions:
        return Entry("a3-definitions", title, "not available here", "no sessions of the observer 'ideal' are available")
    loaded = load(list(sessions))
    table = scores.scores(loaded.scored, human=loaded.human)
    printed = {(row["task"], row["score"], row["model"]): row["value"] for row in published_scores().to_dict("records")}
    rows = []
    for row in table.to_dict("records"):
        model = _AT_CEILING.get(row["task"])
        theirs = printed.get((row["task"], row["score"], model))
        if model is None or theirs is None:
            continue
        rows.append(_compared((row["task"], row["score"], model), row["value"], theirs))
    away = max((abs(float(row.ours) - float(row.published)) for row in rows), default=math.nan)
    verdict, summary = verdict_of(rows)
    return Entry(
        "a3-definitions",
        title,
        verdict,
        f"{summary}; the furthest is {away:.3f} away. These published models were at or next to 100 %, so that their"
        " scores depend on people's curves and on the definitions alone; where a model was not quite at 100 %, or means"
        " were taken differently, the last digits differ.",
        ("task", "score", "published model"),
        tuple(rows),
        source=_PRINTED_A3,
        check=True,
    )


def network_scores(sessions: Sequence[Path], absent: Sequence[str]) -> Entry:
    """Networks at hand beside the published ones; held against one only where it is that network."""
    title = "Table A3: how far networks are from people (A: slopes, B: means; 0 is as people are)"
    printed = published_scores()
    if not sessions:
        why = "no available network takes any of its tasks; the published checkpoints are not available either"
        return Entry(
            "a3",
            title,
            "not available here",
            why,
            ("task", "score", "network"),
            tuple(
                Row((row["task"], row["score"], row["model"]), "", f"{row['value']:.3f}", "not available here", "")
                for row in printed.to_dict("records")
            ),
            notes=tuple(absent),
        )
    loaded = load(list(sessions))
    table = scores.scores(loaded.scored, human=loaded.human)
    models = _models(sessions)
    alone = {info["agent"]: said for info in map(read_session, sessions) if (said := _alone(info))}
    rows = []
    for (task, name), theirs in printed.groupby(["task", "score"], sort=False):
        ranked = theirs.sort_values("value", kind="stable")
        ends = [
            f"{_starred(row['value'], bool(row['p_below_0.01']))} ({row['model']})"
            for row in (ranked.iloc[0].to_dict(), ranked.iloc[-1].to_dict())
        ]
        span = " to ".join(ends)
        score_rows = table[(table["task"] == task) & (table["score"] == name)]
        for row in score_rows.to_dict("records"):
            ours = _with_interval(row)
            model = models.get(row["agent"])
            if model is None:
                said = "; ".join(
                    filter(None, [alone.get(row["agent"]), row["note"], _UNJUDGED.get((str(task), str(name)))])
                )
                rows.append(Row((str(task), str(name), row["agent"]), ours, span, "ours alone", said))
            else:
                value = float(theirs[theirs["model"] == model]["value"].iloc[0])
                items = loaded.scored.parts[row["paradigm"]].items
                of_agent = items[items["agent"] == row["agent"]]
                rows.append(_held_against((str(task), str(name), f"{row['agent']} ({model})"), row, value, of_agent))
        if not len(score_rows):
            rows.append(
                Row((str(task), str(name), ""), "", span, "not available here", f"no available network takes {task}")
            )
    held = [row for row in rows if row.verdict in ("same", "differs", "not resolved")]
    same, open_ = (sum(row.verdict == verdict for row in held) for verdict in ("same", "not resolved"))
    summary = (
        f"{same} of {len(held)} scores of networks as published are the same as the printed one, {open_} are not"
        " resolved"
        if held
        else (
            "no available network has the architecture and size of one of the twelve published ones and was trained on"
            " all tasks. Their checkpoints are not available; the range of their scores is shown. Training one as"
            " published takes 242 million trials: `spanlab train lstm-256` does so"
        )
    )
    verdict = verdict_of(held)[0] if held else "ours alone"
    return Entry(
        "a3",
        title,
        verdict,
        summary,
        ("task", "score", "network"),
        tuple(rows),
        caption=(
            "A star, as in the paper: a two-tailed t test tells the slope or the mean from that of somebody who guesses"
            " (p < .01), in whichever direction. In brackets: 95% intervals over trials. Published: of the twelve"
            " networks the nearest to people and the furthest; the command prints all. A network built as a published"
            " one must first be above the best blind guess in the task. Its score is the same if the whole interval is"
            " within a margin of the printed value: half the standard deviation of the twelve printed values"
            " (analysis/published/worm_margins.csv, fixed before any run)."
        ),
        source=_PRINTED_A3,
        notes=tuple(absent),
        command=f"spanlab scores {' '.join(sorted({str(folder.parent) for folder in sessions}))}",
    )


#: Networks of about as many parameters (Table A4), of which the paper has LSTM-256 as the best.
_EQUAL = ("RNN-256", "GRU-256", "LSTM-256", "TRF-96")


def together(sessions: Sequence[Path]) -> Entry:
    """Mean accuracy over the tasks of Table A3 of the networks of a published make, those of equal
    size marked."""
    title = "Beside Figure A4: mean accuracy of each network over tasks, and networks of equal size"
    models = _models(sessions)
    if not models:
        why = "no network at hand is of the make of one of the twelve, trained on all tasks"
        return Entry("together", title, "not available here", why)
    items = load(list(sessions)).scored.items
    rows = []
    for agent, model in sorted(models.items(), key=lambda pair: pair[1]):
        own = items[items["agent"] == agent]
        means = own[own["paradigm"].isin(PARADIGMS)].groupby("paradigm", observed=True)["correct"].mean()
        equal = "of equal size" if model in _EQUAL else ""
        rows.append(Row((model, equal, f"{len(means)}"), f"{means.mean():.3f}", "", "", agent))
    said = "of the four of equal size the paper has LSTM-256 as the best; its means are pictures"
    return Entry("together", title, "ours alone", said, ("network", "size", "tasks"), tuple(rows))


def _models(sessions: Sequence[Path]) -> dict[str, str]:
    """Return the answerers that are networks of a published make: of its architecture and units,
    with as many parameters, and with all its tasks."""
    makes = {
        (
            kind,
            units,
            empty(model_settings(encoder="worm", architecture=kind, hidden=units), worm_tasks()).parameter_count,
        ): f"{short}-{units}"
        for kind, short in (("rnn", "RNN"), ("gru", "GRU"), ("lstm", "LSTM"), ("transformer", "TRF"))
        for units in _UNITS
    }
    found: dict[str, str] = {}
    for folder in sessions:
        info: Mapping[str, Any] = read_session(folder)
        settings: Mapping[str, Any] = info.get("agent_settings") or {}
        make: Any = (settings.get("architecture"), settings.get("hidden"), settings.get("parameters"))
        model = makes.get(make)
        if model is not None and set(worm_tasks()) <= set(settings.get("tasks", ())) and "noise" not in settings:
            found[info["agent"]] = model
    return found


def _alone(info: Mapping[str, Any]) -> str:
    """What is said of a network that was trained on one task."""
    settings = info.get("agent_settings") or {}
    trained = list(settings.get("trained_on") or ())
    if len(trained) != 1 or not settings.get("hidden"):
        return ""
    return f"{settings['architecture']} with {settings['hidden']} units, trained on {trained[0]} alone"


def behaviour(figure: PaperFigure, data: Data | None, absent: Sequence[str]) -> Entry:
    kept = f" ({figure.kept})" if figure.keeps else ""
    title = f"{_called(figure.name)}: {figure.paradigm}, {figure.title}{kept}"
    if data is None or not any(figure.paradigm in (name, data.human.get(name)) for name in data.titles):
        why = (
            "; ".join(one.rstrip(".") for one in absent if f" {figure.paradigm}:" in f" {one}")
            or f"no available agent takes {figure.paradigm}"
        )
        return Entry(figure.name, title, "not available here", why)
    try:
        drawing = paper_figure(figure).draw(data, Wish())
    except SpanLabError as error:
        return Entry(figure.name, title, "not available here", str(error))
    return Entry(
        figure.name,
        title,
        "ours alone",
        "networks at hand, and people as published; the curves of the published networks are pictures in the paper, and"
        " their numbers are not at hand",
        picture=draw(drawing.spec, drawing.agents),
        notes=(*guessers(data, figure.paradigm), *drawing.notes),
        command=f"spanlab figure {figure.name} DATA -o FILE.svg",
    )


#: Numbered figures of lists: the paradigm of each.
_LISTS = {"worm-a2a": "vsr", "worm-a2b": "lsr_published", "worm-a2c": "lsr_published_long", "worm-a3": "vir"}


def _called(name: str) -> str:
    """The numbers that a figure has in the paper."""
    numbers = [
        number.removeprefix("worm-").upper()
        for number, meant in NUMBERS.items()
        if meant == name and number not in _LISTS
    ]
    return f"Figure{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}"


def _of_lists(number: str, paradigm: str, data: Data | None) -> Entry:
    """A figure of serial positions that the paper has beside those of its benchmark."""
    short = number.removeprefix("worm-").upper()
    shows = numbered()[short]
    title = f"Figure {short}: {paradigm}, {shows['what']}"
    if data is None or paradigm not in data.titles:
        return Entry(number, title, "not available here", f"no available agent takes {paradigm}")
    try:
        drawing = figure_named(NUMBERS[number]).draw(data, Wish((paradigm,)))
    except SpanLabError as error:
        return Entry(number, title, "not available here", str(error))
    return Entry(
        number,
        title,
        "ours alone",
        f"networks at hand; the published figure shows {shows['models'] or 'published networks'}, whose curves are"
        " pictures",
        picture=draw(drawing.spec, drawing.agents),
        notes=(*guessers(data, paradigm), *drawing.notes),
        command=f"spanlab figure {NUMBERS[number]} DATA --paradigm {paradigm} -o FILE.svg",
    )


def _units(name: str, file: str, what: str, units: Units) -> Entry:
    title, command = (
        f"{_called(name)}: {what}",
        f"spanlab neural {units.network or 'CHECKPOINT'} -o DIR    # DIR/figures/{file}.svg",
    )
    drawn = None if units.figures is None else units.figures / f"{file}.svg"
    if drawn is None or not drawn.exists():
        why = units.why or f"{units.network} does not know the tasks that it needs"
        return Entry(name, title, "not available here", f"it shows the units of a network, and {why}", command=command)
    said = (
        f"the units of {units.network}, the network at hand that knows the most of the paper's tasks; the published"
        " figure is a picture of another network's"
    )
    return Entry(name, title, "ours alone", said, picture=drawn.read_text(encoding="utf-8"), command=command)


#: Figures of training: those of networks with several tasks, and of single tasks.
_TRAINING = {"worm-a4": True, "worm-a14": False}


def _training(number: str, sessions: Sequence[Path]) -> Entry:
    """Training curves from the log of a network at hand: of one that learned several tasks, or of
    one that learned a single one."""
    several, short = _TRAINING[number], number.removeprefix("worm-").upper()
    for settings in (read_session(folder).get("agent_settings") or {} for folder in sessions):
        name = settings.get("checkpoint")
        if name not in shipped() or (len(settings["trained_on"]) > 1) != several:
            continue
        with TemporaryDirectory() as folder:
            drawn = Path(folder) / "curves.svg"
            draw_curves(locate(name).with_suffix(".log.jsonl"), drawn)
            picture = drawn.read_text(encoding="utf-8")
        said = f"the training of network:{name}, from the log that ships with it; the published curves are pictures"
        title = f"Figure {short}: {numbered()[short]['what']}"
        return Entry(number, title, "ours alone", said, picture=picture, command="spanlab train PRESET    # NAME.svg")
    return _elsewhere(number)


def _elsewhere(number: str) -> Entry:
    short = number.removeprefix("worm-").upper()
    return Entry(
        number,
        f"Figure {short}: {numbered()[short]['what']}",
        "not available here",
        f"it is not made from sessions: {OTHERS[number]}",
    )


def _held(what: tuple[str, ...], ours: str, printed: str, apart: str = "see both") -> Row:
    if ours == printed:
        return Row(what, ours, printed, "same", "")
    return Row(what, ours, printed, "differs", apart)


def _compared(what: tuple[str, ...], ours: float, printed: float) -> Row:
    return _held(what, f"{ours:.3f}", f"{printed:.3f}", f"by {abs(ours - printed):.3f}")


#: Scores that cannot be held against the printed ones, and why.
_UNJUDGED = {
    ("vsrec", "A_patterndiff"): (
        "the paper's slope is over serial positions (A2.3), and this one over differences of patterns"
    ),
    ("vsr", "A_primacy"): "the printed scores are out of reach of the slopes that the paper describes",
    ("cs", "A_cognitiveload"): (
        "the printed values of the twelve networks are so close together that no feasible number of trials tells"
        " them apart"
    ),
}


def _with_interval(score: Mapping[Any, Any]) -> str:
    if math.isnan(score["value"]):
        return "–"
    spread = "" if math.isnan(score["low"]) else f" [{score['low']:.3f}, {score['high']:.3f}]"
    return _starred(score["value"], score["p"] < STARRED) + spread


def _starred(value: float, starred: bool) -> str:
    return f"{value:.3f}{'*' * starred}"


def _held_against(what: tuple[str, ...], row: Mapping[Any, Any], printed: float, items: pd.DataFrame) -> Row:
    """Our score of a network of a published make, held against that one's; only where the network
    is above the best blind guess."""
    value, low, high = row["value"], row["low"], row["high"]
    ours = _with_interval(row)
    if math.isnan(value):
        return Row(what, ours, f"{printed:.3f}", "not available here", row["note"])
    knows, accuracy = above_blind(items)
    if not knows:
        return Row(
            what,
            ours,
            f"{printed:.3f}",
            "not resolved",
            f"it is not shown to do better than guess, so its score says nothing: {accuracy}",
        )
    margin = margins()[what[0], what[1]]
    if why := _UNJUDGED.get((what[0], what[1])):
        return Row(what, ours, f"{printed:.3f}", "ours alone", why)
    return Row(what, ours, f"{printed:.3f}", *judged(value, low, high, printed, margin, items["unit_trial"].nunique()))
