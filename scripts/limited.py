"""Networks with a limited memory: how much noise each has, and how far it is from people.

python scripts/limited.py choose                  # the noise, by the rule below: agents/network/checkpoints/limited.yaml
python scripts/limited.py positions NAME -o FOLDER    # serial positions in lists, in the card of a network that ships
python scripts/limited.py write -o FOLDER         # curves and scores of what was chosen: cards, docs/limited.md and its figures

The rule for the strength is older than the curves that are shown. The kind of noise is not: noise
in proportion to what a cell holds was chosen after curves over the load on validation trials had
been seen (docs/limited.md says so). Each network has the one of the strengths in ``STRENGTHS`` that
brings its accuracy nearest to people's at the middle load: of the loads for which there are
published people, the middle one, or the mean of the two middle ones. Loads and other levels are
people's. It is chosen on trials of the stream of validation seeds, and what is shown comes from
other seeds. There are no published people for N-back in SpanLab: there the accuracy at n = 2 is to
be half-way between the best blind guess and 1.
"""  # noqa: E501

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from capacity import cell, table_of

import spanlab
from spanlab.agents.network import NetworkAgent
from spanlab.agents.network.agent import MemoryNoise, NoiseLimit, limits
from spanlab.agents.network.checkpoints_io.checkpoint import load as load_network
from spanlab.agents.network.inputs.data import make_pool, task_of
from spanlab.agents.network.inputs.frames import NetworkFrames
from spanlab.agents.network.models.noise import add_noise
from spanlab.agents.network.training.evaluation import examine
from spanlab.analysis.data.loading import Data, load
from spanlab.analysis.data.style import GROUP_MEANS, condition_looks
from spanlab.analysis.effects.effect import Effect
from spanlab.analysis.effects.registry import effect
from spanlab.analysis.figures.charts import draw
from spanlab.analysis.figures.conditions_figure import compute_load
from spanlab.analysis.figures.effect_figure import effect_chart, looks_of
from spanlab.analysis.figures.figure import Wish
from spanlab.analysis.model_vs_human.scores import scores
from spanlab.extensions.observers.gist import OBSERVER
from spanlab.human_data.published import published
from spanlab.paradigms import load_paradigm
from spanlab.sessions import find_sessions, read_session

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "limited.md"
CHECKPOINTS = ROOT / "agents" / "network" / "checkpoints"
#: Strengths of the noise that are tried.
STRENGTHS = (
    0.0,
    0.025,
    0.05,
    0.075,
    0.1,
    0.125,
    0.15,
    0.175,
    0.2,
    0.25,
    0.3,
    0.35,
    0.4,
    0.5,
    0.6,
    0.7,
    0.8,
    1.0,
    1.2,
    1.4,
    1.6,
    2.0,
)
#: Seed of the trials on which noise is chosen, and how many there are for each combination of
#: levels.
SEED, EACH = 2026, 60


@dataclass(frozen=True)
class Studied:
    """A paradigm with a limited network.

    Parameters
    ----------
    network : name of the network that ships
    load : the factor that is the load
    levels : on which noise is chosen: those of people, and for N-back one grid
    effect : what is drawn, besides the accuracy by load
    trials : how many are shown, of all levels of all factors
    gist : the observer of the gist that explains part of the curve; none where empty
    """

    network: str
    load: str
    levels: Mapping[str, Any]
    effect: str
    trials: int
    gist: str = ""


STUDIED = {
    "vsr": Studied("laptop", "list_length", {"list_length": [3, 4, 5, 6]}, "serial_position", 800),
    "smu": Studied("laptop", "set_size", {"set_size": [1, 2, 3, 4]}, "set_size", 800),
    "cd": Studied("limited-changes", "set_size", {"set_size": [2, 4, 6], "retention_steps": 6}, "features", 2400),
    "vir": Studied(
        "laptop-recognition",
        "list_length",
        {"list_length": 4, "retention_steps": [0, 5]},
        "serial_position_retention",
        1600,
        "sum",
    ),
    "nback_spatial": Studied("laptop-nback", "n", {"grid": 3, "lures": ["none", "high"]}, "", 192, "sum"),
}


def wanted(paradigm: str) -> tuple[list[Any], float]:
    """The middle loads of a paradigm, and the accuracy that the rule asks for there."""
    people = published(paradigm)
    if people.empty:
        return [2], (1 + 2 / 3) / 2
    by_load = people.groupby(STUDIED[paradigm].load)["accuracy"].mean().sort_index()
    middle = by_load.iloc[(len(by_load) - 1) // 2 : len(by_load) // 2 + 1]
    return middle.index.tolist(), float(middle.mean())


def accuracies(name: str, strengths: Sequence[float] = STRENGTHS) -> dict[float, float]:
    """Accuracy at the middle loads with each strength of the noise, on the trials on which noise is
    chosen."""
    studied, paradigm, loads = STUDIED[name], load_paradigm(name), wanted(name)[0]
    levels = {**studied.levels, studied.load: loads}
    pool = make_pool(
        paradigm, NetworkFrames(), "validation", SEED, EACH * len(paradigm.combinations(levels)), levels, "corrected"
    )
    network, found = load_network(studied.network).network, {}
    for strength in strengths:
        add_noise(network, strength, relative=True)
        rows = examine(network, pool).rows
        found[strength] = float(
            np.mean([np.mean([row.accuracy for row in rows if row.levels[studied.load] == load]) for load in loads])
        )
    return found


def tasks_of(name: str) -> list[str]:
    """The tasks of networks in a paradigm."""
    paradigm = load_paradigm(name)
    return sorted({task_of(paradigm, levels) for levels in paradigm.combinations({})})


def choose() -> None:
    """Choose the noise of each network by the rule, and write the file of limits."""
    lines = [
        "# network:limited is networks with noise in their memory. Written by scripts/limited.py choose, by the rule"
        " that stands there."
    ]
    for name in STUDIED:
        (loads, aim), found = wanted(name), accuracies(name)
        strength = min(found, key=lambda tried: abs(found[tried] - aim))
        source, tasks = STUDIED[name].network, ", ".join(tasks_of(name))
        lines += [f"- {{paradigm: {name}, tasks: [{tasks}], network: {source}, noise: {strength:g}}}"]
        said = (
            f"{name}: {source} with noise {strength:g} is right in {found[strength]:.3f} at {loads}, where {aim:.3f} is"
            " asked for"
        )
        print(f"{said}; without noise, in {found[0.0]:.3f}", flush=True)
    (CHECKPOINTS / "limited.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")


def answered(folder: Path, limit: NoiseLimit) -> Data:
    """Sessions of a limited network and of the same network with other noise, on new trials; those
    that are there are not taken again."""
    studied, data = STUDIED[limit.paradigm], folder / limit.paradigm
    every = {name: list(factor.levels) for name, factor in load_paradigm(limit.paradigm).factors.items()}
    there = {read_session(session)["agent"] for session in find_sessions([data])} if data.is_dir() else set()
    for noise in series(limit):
        agent = NetworkAgent(limit.network, MemoryNoise(noise, relative=True))
        agent.name = f"network:{called(limit, noise)}"
        if agent.name not in there:
            spanlab.replay(limit.paradigm, agent, trials=studied.trials, levels=every, data=data, say=lambda _: None)
    if studied.gist and f"observer:{studied.gist}" not in there:
        spanlab.replay(
            limit.paradigm,
            f"observer:{studied.gist}",
            trials=studied.trials,
            levels=every,
            data=data,
            say=lambda _: None,
        )
    return load([data])


def series(limit: NoiseLimit) -> tuple[float, ...]:
    """The strengths that are shown: none, half, that of the limited network, and two and four times
    as much."""
    return tuple(factor * limit.noise for factor in (0, 0.5, 1, 2, 4))


def called(limit: NoiseLimit, noise: float) -> str:
    """A strength in figures and tables."""
    return f"noise {noise:.4g}" + (" (limited)" if noise == limit.noise else "")


def write(folder: Path) -> None:
    """Curves and scores of the limited networks: their card, docs/limited.md and its figures."""
    images = ROOT / "docs" / "images" / "limited"
    images.mkdir(parents=True, exist_ok=True)
    card: dict[str, Any] = {"name": "limited", "series": []}
    parts = []
    for limit in limits():
        data = answered(folder, limit)
        title = data.titles[limit.paradigm]
        curve = compute_load(data, Wish((limit.paradigm,))).table
        parts += [
            f"### {title}\n\n`{limit.network}`, noise {limit.noise:g} times what a cell holds.\n",
            curves_table(limit, curve),
            *by_factor(limit, data.scored.items),
        ]
        shown = effect(STUDIED[limit.paradigm].effect) if STUDIED[limit.paradigm].effect else None
        drawn = shown.table(data.scored, limit.paradigm, human=data.human.get(limit.paradigm)) if shown else curve
        if shown:
            (images / f"{limit.paradigm}.svg").write_text(picture(shown, drawn, limit, title), encoding="utf-8")
            parts.append(
                f"![{title}: a network with noise of several strengths, and"
                f" people](images/limited/{limit.paradigm}.svg)\n"
            )
        found = scores(data.scored, human=data.human).to_dict("records")
        if found:
            names = list(dict.fromkeys(row["score"] for row in found))
            cells = {(row["score"], row["agent"]): row for row in found}
            rows = [
                (name, *(cell(cells.get((name, f"network:{called(limit, noise)}"))) for noise in series(limit)))
                for name in names
            ]
            parts.append(table_of(("distance from people", *(called(limit, noise) for noise in series(limit))), rows))
        values = curve[curve["agent_kind"] != GROUP_MEANS][["agent", "load", "mean", "low", "high", "n_items"]]
        card["series"].append(
            {
                "paradigm": limit.paradigm,
                "network": limit.network,
                "noise": limit.noise,
                "sha256": load_network(limit.network).sha256,
                "trials": STUDIED[limit.paradigm].trials,
                "curves": [
                    {key: round(value, 4) if isinstance(value, float) else value for key, value in row.items()}
                    for row in values.to_dict("records")
                ],
                "scores": [
                    {
                        key: row[key] if key in ("score", "agent") else round(row[key], 4)
                        for key in ("score", "agent", "value", "low", "high")
                    }
                    for row in found
                ],
            }
        )
    (CHECKPOINTS / "limited.md").write_text(card_text(card["series"]), encoding="utf-8")
    made = "\n".join(parts)
    (CHECKPOINTS / "limited.json").write_text(
        json.dumps(card, indent=1, ensure_ascii=False).replace("NaN", "null") + "\n", encoding="utf-8"
    )
    text = DOCUMENT.read_text(encoding="utf-8")
    start, end = "<!-- made curves -->\n", "<!-- end of curves -->"
    DOCUMENT.write_text(
        text[: text.index(start) + len(start)] + "\n" + made.rstrip() + "\n\n" + text[text.index(end) :],
        encoding="utf-8",
    )


def card_text(series_of_all: Sequence[Mapping[str, Any]]) -> str:
    """The card of ``network:limited``: for each paradigm the network, its noise, accuracy by load,
    and the distance from people."""
    parts = [
        "# network:limited",
        (
            "Networks that ship, with noise in their memory in proportion to what it holds; made by"
            " `scripts/limited.py`. What limits them: `docs/limited.md`."
        ),
        (
            "Before training: accuracy of the best linear read-out of the network with its starting weights and without"
            " noise, from its own card, which says what was wired in."
        ),
    ]
    for entry in series_of_all:
        agent = f"network:noise {entry['noise']:.4g} (limited)"
        curve = [row for row in entry["curves"] if row["agent"] == agent]
        distance = [row for row in entry["scores"] if row["agent"] == agent]
        loads = STUDIED[entry["paradigm"]].load.replace("_", " ")
        parts += [
            f"## {entry['paradigm']}",
            (
                f"`{entry['network']}` with noise {entry['noise']:g}, SHA-256 `{entry['sha256']}`, {entry['trials']}"
                " trials."
            ),
            table_of(
                (loads, "accuracy", "95% interval", "before training"),
                [
                    (
                        f"{row['load']:g}",
                        f"{row['mean']:.3f}",
                        f"{row['low']:.3f} to {row['high']:.3f}",
                        before(entry, row["load"]),
                    )
                    for row in curve
                ],
            ),
        ]
        if distance:
            parts += [
                (
                    "Distance from people (A: slopes, B: means; 0 is as people are). The published means have no"
                    " spread, so there is no test of equality."
                ),
                table_of(
                    ("score", "value", "95% interval"),
                    [(row["score"], f"{row['value']:.2f}", interval(row)) for row in distance],
                ),
            ]
        else:
            parts.append("There are no published people for this paradigm.")
    return "\n\n".join(part.strip() for part in parts) + "\n"


def before(entry: Mapping[str, Any], load: float) -> str:
    """What could be read out before training at a load, from the network's own card: the mean over
    the other levels that are shown."""
    rows = json.loads((CHECKPOINTS / f"{entry['network']}.json").read_text(encoding="utf-8"))["test"]
    name = STUDIED[entry["paradigm"]].load
    found = [row["before"] for row in rows if row["paradigm"] == entry["paradigm"] and row["levels"].get(name) == load]
    return f"{np.mean(found):.3f}" if found else "–"


def interval(row: Mapping[str, Any]) -> str:
    """The interval of a score; a dash where it has none."""
    return "–" if row["low"] is None or row["low"] != row["low"] else f"{row['low']:.2f} to {row['high']:.2f}"


def curves_table(limit: NoiseLimit, curve: pd.DataFrame) -> str:
    """Accuracy by load, a line for each strength of the noise, and one for people."""
    loads = sorted(curve["load"].unique())
    rows = []
    others = sorted(set(curve.loc[curve["agent_kind"].isin([GROUP_MEANS, OBSERVER.name]), "agent"]))
    for agent in [f"network:{called(limit, noise)}" for noise in series(limit)] + others:
        means = curve[curve["agent"] == agent].set_index("load")["mean"]
        rows.append(
            (agent.removeprefix("network:"), *(f"{means[one]:.3f}" if one in means.index else "–" for one in loads))
        )
    return table_of(("", *(f"{STUDIED[limit.paradigm].load.replace('_', ' ')} {one:g}" for one in loads)), rows)


def by_factor(limit: NoiseLimit, items: pd.DataFrame) -> list[str]:
    """Accuracy by load at every level of each other factor, with the noise of the limited network and
    without: a table for each factor."""
    load, parts = STUDIED[limit.paradigm].load, []
    loads = list(load_paradigm(limit.paradigm).factors[load].levels)
    for name, factor in load_paradigm(limit.paradigm).factors.items():
        if name == load or len(factor.levels) < 2:
            continue
        rows = []
        for noise in (0.0, limit.noise):
            own = items[items["agent"] == f"network:{called(limit, noise)}"]
            column = own[name] if name in own else own[f"factor_{name}"].map(json.loads)
            shown = column.map(lambda level: level if isinstance(level, str) else f"{level:g}")
            means = own.groupby([shown, own[load] if load in own else own[f"factor_{load}"].map(json.loads)])[
                "correct"
            ].mean()
            for level in factor.levels:
                cells = (means.get((str(level), one)) for one in loads)
                rows.append(
                    (called(limit, noise), str(level), *("–" if one is None else f"{one:.3f}" for one in cells))
                )
        headings = (f"{load.replace('_', ' ')} {one}" for one in loads)
        parts.append(table_of(("", name.replace("_", " "), *headings), rows))
    return parts


def picture(shown: Effect, table: pd.DataFrame, limit: NoiseLimit, title: str) -> str:
    """The curves of all strengths, each with a look of its own, and people's."""
    named = table.assign(agent=table["agent"].str.removeprefix("network:"))
    looks = [
        *condition_looks([called(limit, noise) for noise in series(limit)]),
        *looks_of(table[table["agent_kind"].isin([GROUP_MEANS, OBSERVER.name])]),
    ]
    return draw(effect_chart(shown, named, looks, title=title), looks)


#: What a card says of serial positions, between its accuracy and what the network is not.
_POSITIONS = re.compile(r"## Serial positions\n.*?(?=\n## |\nSHA-256)", re.DOTALL)


def positions(name: str, folder: Path) -> None:
    """Accuracy by serial position at every length of a list, 1,000 new trials each, and the distance
    from people, in the card of a network that ships."""
    data_folder = folder / name
    if not (data_folder.is_dir() and find_sessions([data_folder])):
        lengths = len(load_paradigm("vsr").factors["list_length"].levels)
        spanlab.replay("vsr", f"network:{name}", trials=1000 * lengths, data=data_folder, say=lambda _: None)
    data = load([data_folder])
    table = effect("serial_position").table(data.scored, "vsr", human=data.human.get("vsr"))
    lengths = sorted(set(table["list_length"]))
    rows = []
    for who, own in table.groupby("agent", sort=False):
        for length in lengths:
            at = own[own["list_length"] == length].sort_values("serial_position")
            spread = f" ± {(at['high'] - at['low']).mean() / 2:.3f}" if at["high"].notna().any() else ""
            cells = [f"{mean:.3f}" for mean in at["mean"]]
            if cells:
                padded = [*cells, *[""] * (max(lengths) - len(cells))]
                rows.append((str(who).removeprefix("network:"), f"{length}", *padded, spread.strip()))
    found = scores(data.scored, human=data.human)
    part = "\n\n".join(
        [
            "## Serial positions",
            "Share of items that is right at each position of the list, on 1,000 new trials of each length (corrected"
            " generator); the last column is half of a 95% interval, on average. All lengths that there are; people"
            " took lists of three to six.",
            table_of(("", "list length", *(f"{one}" for one in range(1, max(lengths) + 1)), "±"), rows).strip(),
            "Distance from people, as the paper defines it: A compares slopes over serial positions, of the list up to"
            " the position with the lowest accuracy (primacy) and from there on (recency), and B mean accuracies; 0 is"
            " as people are. In brackets: 95% intervals over trials.",
            table_of(
                ("score", "distance", "network", "people"),
                [(row["score"], cell(row), f"{row['m']:.3f}", f"{row['h']:.3f}") for row in found.to_dict("records")],
            ).strip(),
        ]
    )
    card = CHECKPOINTS / f"{name}.md"
    text = _POSITIONS.sub("", card.read_text(encoding="utf-8"))
    card.write_text(text.replace("## What it is not", f"{part}\n\n## What it is not"), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("do", choices=["choose", "write", "positions"])
    parser.add_argument("name", nargs="?", default="worm-vsr", help="network that ships, for positions")
    parser.add_argument("-o", "--output", type=Path, help="folder of the sessions, for write")
    given = parser.parse_args()
    if given.do == "choose":
        choose()
    elif given.output is None:
        parser.error("this needs -o FOLDER")
    elif given.do == "positions":
        positions(given.name, given.output)
    else:
        write(given.output)


if __name__ == "__main__":
    main()
