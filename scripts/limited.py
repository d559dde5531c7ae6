"""Networks with a limited memory: which limit is how strong, and how far each is from people, by the
rule in scripts/limited_memory.yaml, which is older than any curve that is shown.

python scripts/limited.py choose [-n FOLDER]          # the strengths, by the rule: scripts/limited_memory.json, and the noise of network:limited
python scripts/limited.py write -o FOLDER [-n FOLDER] # what was chosen, on new trials: docs/limited.md with its figures, the card of network:limited
python scripts/limited.py positions NAME -o FOLDER [-n FOLDER]    # serial positions in lists, in the card of a network that ships

Networks that do not ship for their size are looked for in the folder after -n, as `spanlab train
CONFIG --seed N -o FOLDER/CONFIG-sN` makes them; without it, only those that ship are taken.
"""  # noqa: E501

from __future__ import annotations

import argparse
import json
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
import yaml
from capacity import cell, table_of
from scipy import stats
from torch import Tensor
from torch.nn import functional

import spanlab
from spanlab.agents.network import NetworkAgent
from spanlab.agents.network.checkpoints_io.checkpoint import load as load_network
from spanlab.agents.network.checkpoints_io.checkpoint import shipped
from spanlab.agents.network.inputs.data import make_pool, task_of
from spanlab.agents.network.inputs.frames import NetworkFrames
from spanlab.agents.network.models.memories import CellOptions, Lstm, State
from spanlab.agents.network.models.network import Network
from spanlab.agents.network.models.noise import add_noise
from spanlab.agents.network.training.evaluation import examine, mean_accuracy
from spanlab.analysis.data.loading import load
from spanlab.analysis.data.style import GROUP_MEANS, condition_looks
from spanlab.analysis.effects.registry import effect
from spanlab.analysis.figures.charts import draw
from spanlab.analysis.figures.effect_figure import effect_chart, looks_of
from spanlab.analysis.model_vs_human.scores import scores
from spanlab.human_data.published import published
from spanlab.paradigms import Paradigm, compile_trial, load_paradigm
from spanlab.sessions import find_sessions, read_session

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "limited.md"
IMAGES = ROOT / "docs" / "images" / "limited"
CHECKPOINTS = ROOT / "agents" / "network" / "checkpoints"
RULE: dict[str, Any] = yaml.safe_load((ROOT / "scripts" / "limited_memory.yaml").read_text(encoding="utf-8"))
CHOSEN = ROOT / "scripts" / "limited_memory.json"
#: Seed of the validation trials on which strengths are chosen.
SEED = 2026
#: Trials of all levels together that each network takes with each limit.
TRIALS = {"vsr": 800, "cd": 960, "smu": 800, "vir": 800, "nback_spatial": 192}
#: What is drawn, besides accuracy by load.
DRAWN = {"vsr": "serial_position", "smu": "set_size", "cd": "features", "vir": "serial_position_retention"}
#: Columns of people's conditions, without the load.
FURTHER = {
    "vsr": ["serial_position"],
    "cd": ["factor_feature"],
    "smu": [],
    "vir": ["serial_position", "retention_steps"],
}
#: The observer of the gist that explains part of a curve.
GIST = {"vir": "observer:sum", "nback_spatial": "observer:sum"}
GROUPS = {"wired": "part of the memory starts as a delay line", "plain": "nothing is wired in"}


class Limit(NamedTuple):
    """A limit of a memory: its kind and its strength; of no kind where there is none."""

    kind: str = ""
    strength: float = 0.0

    @property
    def said(self) -> str:
        return f"{self.kind} {self.strength:g}" if self.kind else "no limit"


NONE = Limit()


class LeakyLstm(Lstm):
    """An LSTM that loses a share of what each cell holds at each step, and has lost some units for
    good."""

    def __init__(self, memory: Lstm, decay: float, kept: Tensor) -> None:
        super().__init__(memory.cell.input_size, memory.hidden, CellOptions.model_validate({}))
        self.cell, self.decay, self.kept = memory.cell, decay, kept

    def forward(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        (held,), (cells,) = state
        into, across, *biases = self.cell.all_weights[0]
        driven, outputs = functional.linear(inputs, into, biases[0] + biases[1]), []
        for incoming in driven.unbind(1):
            enter, keep, candidate, leave = (incoming + held @ across.T).chunk(4, -1)
            held_back = (1 - self.decay) * torch.sigmoid(keep) * cells
            cells = (held_back + torch.sigmoid(enter) * torch.tanh(candidate)) * self.kept
            held = torch.sigmoid(leave) * torch.tanh(cells) * self.kept
            outputs.append(held)
        return torch.stack(outputs, 1), (held[None], cells[None])


def put(limit: Limit, network: Network, name: str) -> None:
    """Give a network that has no limit one; its weights stay as they are. The units that it loses
    follow from its name."""
    memory = network.memory
    assert isinstance(memory, Lstm)
    if limit.kind == "noise":
        add_noise(network, limit.strength, relative=True)
    elif limit.kind:
        lost = round(limit.strength * memory.hidden) if limit.kind == "units" else 0
        order = torch.from_numpy(np.random.RandomState(zlib.crc32(name.encode())).permutation(memory.hidden))
        kept = torch.ones(memory.hidden)
        kept[order[:lost]] = 0
        network.memory = LeakyLstm(memory, limit.strength if limit.kind == "decay" else 0.0, kept).eval()


class Found(NamedTuple):
    """Where the networks are."""

    folder: Path | None

    def spec(self, name: str) -> str:
        """What a network is loaded by; empty where it is not there."""
        if name in shipped():
            return name
        config = name.rpartition("-s")[0]
        path = None if self.folder is None else self.folder / name / f"{config}.pt"
        finished = path is not None and path.with_suffix(".json").exists()
        return str(path) if finished else ""

    def groups(self, paradigm: str) -> dict[str, list[str]]:
        """The networks of a paradigm that are there."""
        groups = {
            group: [name for name in names if self.spec(name)] for group, names in RULE["networks"][paradigm].items()
        }
        return {group: names for group, names in groups.items() if names}


def load_factor(paradigm: str) -> str:
    """The factor that is the load."""
    return next(iter(RULE["criterion"]["level"][paradigm]))


def blind_guess(paradigm: Paradigm, level: Mapping[str, Any]) -> float:
    """How often the best blind guess is right at the level of the criterion."""
    shares = [
        step.truth.blind
        for levels in paradigm.combinations(level)
        for seed in range(20)
        for step in compile_trial(paradigm, levels, seed, "corrected").steps
        if step.truth.blind is not None
    ]
    return float(np.mean(shares))


def refined(accuracy: Callable[[float], list[float]], grid: Sequence[float], aim: float) -> dict[float, list[float]]:
    """What the strengths of a grid give, and some between those on either side of the value that is
    asked for."""
    tried = {strength: accuracy(strength) for strength in grid}
    for _ in range(RULE["criterion"]["between"]):
        order = sorted(tried)
        over = [np.mean(tried[strength]) >= aim for strength in order]
        at = next((place for place in range(len(order) - 1) if over[place] and not over[place + 1]), None)
        if at is None:
            break
        between = float(f"{(order[at] * order[at + 1]) ** 0.5:.2g}")
        if between in tried:
            break
        tried[between] = accuracy(between)
    return dict(sorted(tried.items()))


def choose(found: Found) -> None:
    """Choose the strength of each limit by the rule, and write what was tried, and the noise of
    ``network:limited``."""
    chosen: dict[str, Any] = {}
    lines = [
        "# network:limited: networks with noise in their memory, by the rule in scripts/limited_memory.yaml;"
        " written by scripts/limited.py choose."
    ]
    for name in RULE["networks"]:
        paradigm, level = load_paradigm(name), RULE["criterion"]["level"][name]
        combinations = len(paradigm.combinations(level))
        trials = RULE["criterion"]["trials"] // combinations * combinations
        pool = make_pool(paradigm, NetworkFrames(), "validation", SEED, trials, level, "corrected")
        chosen[name] = {}
        for group, names in found.groups(name).items():
            aim = (1 + blind_guess(paradigm, level)) / 2

            def accuracies(limit: Limit, names: Sequence[str] = names, pool: Any = pool) -> list[float]:
                got = []
                for one in names:
                    network = load_network(found.spec(one)).network
                    put(limit, network, one)
                    got.append(round(mean_accuracy(examine(network, pool).rows), 4))
                return got

            entry: dict[str, Any] = {"networks": names, "aim": round(aim, 4), "none": accuracies(NONE), "kinds": {}}
            for kind, declared in RULE["kinds"].items():
                tried = refined(lambda strength, kind=kind: accuracies(Limit(kind, strength)), declared["grid"], aim)
                nearest = min(tried, key=lambda strength: (round(abs(np.mean(tried[strength]) - aim), 6), strength))
                reached = abs(np.mean(tried[nearest]) - aim) <= 0.1 * aim
                entry["kinds"][kind] = {
                    "tried": {f"{strength:g}": values for strength, values in tried.items()},
                    "chosen": nearest if reached else None,
                }
            chosen[name][group] = entry
            print(
                name, group, f"aim {aim:.3f}", {kind: one["chosen"] for kind, one in entry["kinds"].items()}, flush=True
            )
        group = "plain" if "plain" in chosen[name] else "wired"
        noise = chosen[name][group]["kinds"]["noise"]["chosen"]
        if noise is not None:
            tasks = ", ".join(sorted({task_of(paradigm, levels) for levels in paradigm.combinations({})}))
            first = chosen[name][group]["networks"][0]
            lines.append(f"- {{paradigm: {name}, tasks: [{tasks}], network: {first}, noise: {noise:g}}}")
    CHOSEN.write_text(json.dumps(chosen, indent=1) + "\n", encoding="utf-8")
    (CHECKPOINTS / "limited.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")


@dataclass(frozen=True)
class Group:
    """The networks of a group in a paradigm, and what was chosen for them.

    Parameters
    ----------
    chosen : the strength of each kind; None where none came near the value of the criterion
    limits : those that are shown
    items : one row for each answer, with ``limit`` and ``network``
    scores : distance from people, with ``limit`` and ``network``
    """

    paradigm: str
    name: str
    entry: Mapping[str, Any]
    limits: Sequence[Limit]
    items: pd.DataFrame
    scores: pd.DataFrame

    @property
    def chosen(self) -> list[Limit]:
        """No limit, and each kind with the strength that was chosen."""
        kinds = self.entry["kinds"]
        return [NONE, *(Limit(kind, one["chosen"]) for kind, one in kinds.items() if one["chosen"] is not None)]

    def said(self, limit: Limit) -> str:
        """A limit in tables."""
        return limit.said + (" (chosen)" if limit in self.chosen[1:] else "")

    def own(self, limit: Limit) -> pd.DataFrame:
        return self.items[self.items["limit"] == limit.said]


def shown(entry: Mapping[str, Any]) -> list[Limit]:
    """No limit; of each kind the strength that was chosen and its neighbours, or the weakest and the
    strongest where none was."""
    limits = [NONE]
    for kind, one in entry["kinds"].items():
        grid = list(RULE["kinds"][kind]["grid"])
        chosen = one["chosen"]
        strengths = [grid[0], grid[-1]]
        if chosen is not None:
            weaker, stronger = [x for x in grid if x < chosen][-1:], [x for x in grid if x > chosen][:1]
            strengths = [*weaker, chosen, *stronger]
        limits += [Limit(kind, strength) for strength in strengths]
    return limits


def taken(folder: Path, found: Found, paradigm: str, name: str, entry: Mapping[str, Any]) -> Group:
    """Sessions of every network of a group with every limit that is shown, on the same new trials;
    those that are there are not taken again."""
    data, limits = folder / paradigm / name, shown(entry)
    every = {factor: list(declared.levels) for factor, declared in load_paradigm(paradigm).factors.items()}
    there = {read_session(session)["agent"] for session in find_sessions([data])} if data.is_dir() else set()
    for network in entry["networks"]:
        for limit in limits:
            agent = NetworkAgent(found.spec(network))
            put(limit, agent.network, network)
            agent.name = f"network:{network}, {limit.said}"
            if agent.name not in there:
                spanlab.replay(paradigm, agent, trials=TRIALS[paradigm], levels=every, data=data, say=lambda _: None)
    gist = GIST.get(paradigm)
    if gist and gist not in there:
        spanlab.replay(paradigm, gist, trials=TRIALS[paradigm], levels=every, data=data, say=lambda _: None)
    loaded = load([data])
    items, distances = loaded.scored.items, scores(loaded.scored, human=loaded.human)
    names = {load_factor(paradigm), *(name.removeprefix("factor_") for name in FURTHER.get(paradigm, [])), *every}
    levels = {f"level_{one}": level_of(items, one) for one in names}
    kept = items[["agent", "unit_trial", "correct"]].assign(correct=items["correct"].astype(float), **levels)
    return Group(paradigm, name, entry, limits, _parted(kept), _parted(distances))


def _parted(table: pd.DataFrame) -> pd.DataFrame:
    """A table with the network and the limit of each row, which its name of the agent holds."""
    names = table["agent"].str.removeprefix("network:").str.split(", ", n=1)
    return table.assign(network=names.str[0], limit=names.str[-1])


def level_of(items: pd.DataFrame, factor: str) -> pd.Series:
    """The level of a factor of each row."""
    if factor in items and items[factor].notna().any():
        return items[factor]
    return items[f"factor_{factor}"].map(json.loads)


def spread(values: Sequence[float]) -> tuple[float, float, float]:
    """A mean over networks, and its 95% interval (t); no interval where there is only one."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, float("nan"), float("nan")
    half = float(stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / len(values) ** 0.5)
    return mean, mean - half, mean + half


def with_interval(found: tuple[float, float, float], digits: int = 3) -> str:
    value, low, high = found
    if np.isnan(value):
        return "–"
    return f"{value:.{digits}f}" + ("" if np.isnan(low) else f" [{low:.{digits}f}, {high:.{digits}f}]")


def measured(group: Group, limit: Limit, measure: Callable[[pd.DataFrame], float]) -> tuple[float, float, float]:
    """A measure of the answers: its mean over networks with an interval over them; of a single
    network with one over trials (200 samples, drawn with replacement)."""
    own = group.own(limit)
    networks = [part for _, part in own.groupby("network")]
    if len(networks) > 1:
        return spread([measure(part) for part in networks])
    return over_trials(networks[0], measure)


def over_trials(items: pd.DataFrame, measure: Callable[[pd.DataFrame], float]) -> tuple[float, float, float]:
    """A measure of the answers of one network, with a 95% interval over 200 samples of its trials."""
    random, rows, drawn = np.random.RandomState(1), list(items.groupby("unit_trial").indices.values()), []
    for _ in range(200):
        sample = random.randint(0, len(rows), len(rows))
        drawn.append(measure(items.iloc[np.concatenate([rows[number] for number in sample])]))
    low, high = np.nanpercentile(drawn, [2.5, 97.5])
    return measure(items), float(low), float(high)


def curves(group: Group, by: Mapping[str, pd.Series], limits: Sequence[Limit], heading: str) -> str:
    """Accuracy by load, in a row for each limit (and each level of a further factor), as means over
    networks."""
    load, paradigm = load_factor(group.paradigm), load_paradigm(group.paradigm)
    loads, rows = list(paradigm.factors[load].levels), []
    for limit in limits:
        mine = group.items["limit"] == limit.said
        if heading:
            for level in paradigm.factors[heading].levels:
                rows.append(
                    (group.said(limit), str(level), *_cells(group, mine & (by[heading] == level), by[load], loads))
                )
        else:
            rows.append((group.said(limit), *_cells(group, mine, by[load], loads)))
    head = (
        "",
        *((heading.replace("_", " "),) if heading else ()),
        *(f"{load.replace('_', ' ')} {one}" for one in loads),
    )
    if not heading:
        for gist in [one for one in (GIST.get(group.paradigm),) if one]:
            rows.append((gist, *_cells(group, group.items["agent"] == gist, by[load], loads)))
        rows += _people(group.paradigm, load, loads)
    return table_of(head, rows)


def _cells(group: Group, chosen: pd.Series, level: pd.Series, loads: Sequence[Any]) -> list[str]:
    """Accuracy at each load, with half of a 95% interval over networks, or over the trials of a single one."""
    cells = []
    for one in loads:
        own = group.items[chosen & (level == one)]
        means = own.groupby("network")["correct"].mean().tolist()
        trials = own.groupby("unit_trial")["correct"].mean()
        if not means:
            cells.append("–")
            continue
        half = 1.96 * float(trials.std(ddof=1)) / len(trials) ** 0.5
        if len(means) > 1:
            mean, low, _ = spread(means)
            half = mean - low
        cells.append(f"{np.mean(means):.3f} ± {half:.2f}")
    return cells


def _people(paradigm: str, load: str, loads: Sequence[Any]) -> list[tuple[str, ...]]:
    people = published(paradigm)
    if people.empty:
        return []
    means = people.groupby(load)["accuracy"].mean()
    study = " and ".join(dict.fromkeys(people["study"]))
    return [(f"{study} (people)", *(f"{means[one]:.3f}" if one in means.index else "–" for one in loads))]


def of_people(paradigm: str) -> pd.Series:
    """People's accuracy by condition: load, and what else they took."""
    people = published(paradigm)
    return people.groupby([load_factor(paradigm), *FURTHER[paradigm]])["accuracy"].mean()


def as_people(paradigm: str, items: pd.DataFrame) -> pd.Series:
    """A network's accuracy in the conditions that people took."""
    columns = [load_factor(paradigm), *FURTHER[paradigm]]
    keys = [items[f"level_{name.removeprefix('factor_')}"].rename(name) for name in columns]
    means = items["correct"].astype(float).groupby(keys if len(keys) > 1 else keys[0]).mean()
    return means.reindex(of_people(paradigm).index)


def away(paradigm: str, items: pd.DataFrame) -> float:
    """The mean absolute difference from people, over the loads that people took, without the level of the criterion."""
    factor, level = next(iter(RULE["criterion"]["level"][paradigm].items()))
    people, mine = of_people(paradigm), as_people(paradigm, items)
    loads = people.index.get_level_values(0)
    by_load = (people.groupby(loads).mean() - mine.groupby(loads).mean()).drop(level, errors="ignore")
    assert factor
    return float(by_load.abs().mean())


def shape(paradigm: str, items: pd.DataFrame) -> float:
    """The rank correlation with people's means: over serial positions within each length of a list
    (mean over lengths), else over all conditions that people took."""
    people, mine = of_people(paradigm), as_people(paradigm, items)
    parts = [people.index] if paradigm != "vsr" else [own.index for _, own in people.groupby(level=0)]
    with np.errstate(all="ignore"):
        found = [people[part].corr(mine[part], method="spearman") for part in parts if mine[part].nunique() > 1]
    return float(np.mean(found)) if found else float("nan")


def end(which: int) -> Callable[[pd.DataFrame], float]:
    """How much better the first (0) or the last (-1) item of a list is recalled than those between,
    in lists of four and more."""

    def gain(items: pd.DataFrame) -> float:
        gains = []
        for length, own in items.groupby(items["level_list_length"].astype(int)):
            means = own.groupby("level_serial_position")["correct"].mean().sort_index()
            if length >= 4 and len(means) >= 4:
                gains.append(float(means.iloc[which] - means.iloc[1:-1].mean()))
        return float(np.mean(gains)) if gains else float("nan")

    return gain


def distances(group: Group) -> str:
    """The distance from people, limit by limit: A and B, the shape, and the ends of lists."""
    names = list(dict.fromkeys(group.scores["score"]))
    rows = []
    for limit in group.limits:
        own = group.scores[group.scores["limit"] == limit.said]
        cells = []
        for name in names:
            of_score = own[own["score"] == name].to_dict("records")
            cells.append(
                cell(of_score[0])
                if len(of_score) == 1
                else with_interval(spread([row["value"] for row in of_score]), 2)
            )
        extra = [with_interval(measured(group, limit, lambda items: shape(group.paradigm, items)), 2)]
        if group.paradigm == "vsr":
            extra += [with_interval(measured(group, limit, end(which))) for which in (0, -1)]
        off = with_interval(measured(group, limit, lambda items: away(group.paradigm, items)))
        rows.append((group.said(limit), *cells, *extra, off))
    ends = ("primacy", "recency") if group.paradigm == "vsr" else ()
    if ends:
        people = published("vsr").rename(columns={"accuracy": "correct"}).add_prefix("level_")
        people = people.rename(columns={"level_correct": "correct"})
        rows.append(("people", *("0" for _ in names), "1", *(f"{end(which)(people):.3f}" for which in (0, -1)), "0"))
    return table_of(("", *names, "shape", *ends, "away from people"), rows)


def tried(group: Group) -> str:
    """What every strength of the grid gave at the level of the criterion."""
    (factor, level), *_ = RULE["criterion"]["level"][group.paradigm].items()
    rows = []
    for kind, one in group.entry["kinds"].items():
        cells = [f"{strength}: {np.mean(values):.3f}" for strength, values in one["tried"].items()]
        said = "none comes near" if one["chosen"] is None else f"**{one['chosen']:g}**"
        rows.append((kind, said, *cells))
    none = float(np.mean(group.entry["none"]))
    said = (
        f"Chosen on validation trials with {factor.replace('_', ' ')} {level}, where {group.entry['aim']:.3f} is"
        f" asked for (without a limit: {none:.3f}). Each strength, and its accuracy there:"
    )
    width = max(len(row) for row in rows)
    return (
        said
        + "\n\n"
        + table_of(("kind", "chosen", *[""] * (width - 2)), [(*row, *[""] * (width - len(row))) for row in rows])
    )


def picture(group: Group, title: str) -> str:
    """Curves with the limit of each kind that was chosen, as means over networks, and people's."""
    shown_effect, tables = effect(DRAWN[group.paradigm]), []
    loaded = load([group.items.attrs["folder"]])
    table = shown_effect.table(loaded.scored, group.paradigm, human=loaded.human.get(group.paradigm))
    people = table[table["agent_kind"] == GROUP_MEANS]
    named = _parted(table[table["agent_kind"] == "network"])
    keys = [*shown_effect.panels, shown_effect.x]
    for limit in group.chosen:
        own = named[named["limit"] == limit.said]
        several = own["network"].nunique() > 1
        for _, rows in own.groupby(keys, dropna=False):
            first = rows.iloc[0].copy()
            first["agent"] = limit.said
            if several:
                first["mean"], first["low"], first["high"] = spread(rows["mean"].tolist())
                first["low"], first["high"] = max(0.0, first["low"]), min(1.0, first["high"])
            tables.append(first)
    drawn = pd.concat([pd.DataFrame(tables), people], ignore_index=True)
    looks = [*condition_looks([limit.said for limit in group.chosen]), *looks_of(people)]
    return draw(effect_chart(shown_effect, drawn, looks, title=title), looks)


def section(group: Group) -> list[str]:
    """What a page says of a group of networks in a paradigm."""
    paradigm, several = load_paradigm(group.paradigm), len(group.entry["networks"]) > 1
    load = load_factor(group.paradigm)
    by = {name: group.items[f"level_{name}"] for name in paradigm.factors}
    spans = (
        "Means over networks, ± half of a 95% interval over them."
        if several
        else "One network, ± half of a 95% interval over trials."
    )
    heading = f"#### {group.paradigm}, {group.name}: {GROUPS[group.name]}"
    parts = [
        heading,
        f"{', '.join(f'`{one}`' for one in group.entry['networks'])}. {spans}",
        tried(group),
        curves(group, by, group.limits, ""),
    ]
    for name, declared in paradigm.factors.items():
        if name != load and len(declared.levels) > 1:
            parts.append(curves(group, by, group.chosen, name))
    if group.paradigm in DRAWN:
        IMAGES.mkdir(parents=True, exist_ok=True)
        file = f"{group.paradigm}-{group.name}.svg"
        title = f"{paradigm.title}, {GROUPS[group.name]}"
        (IMAGES / file).write_text(picture(group, f"{paradigm.title} ({group.name})"), encoding="utf-8")
        parts.append(
            f"![{title}: networks without a limit and with one of each kind, and people](images/limited/{file})"
        )
    if len(group.scores):
        parts.append(distances(group))
    return [part.strip() for part in parts]


def write(folder: Path, found: Found) -> None:
    """What was chosen, on new trials: docs/limited.md with its figures, and the card of
    ``network:limited``."""
    chosen = json.loads(CHOSEN.read_text(encoding="utf-8"))
    parts, cards = [], [CARD]
    for name, groups in chosen.items():
        parts.append(f"### {load_paradigm(name).title}")
        for group_name, entry in groups.items():
            group = taken(folder, found, name, group_name, entry)
            group.items.attrs["folder"] = str(folder / name / group_name)
            parts += section(group)
            print(name, group_name, flush=True)
            if (
                group_name == ("plain" if "plain" in groups else "wired")
                and entry["kinds"]["noise"]["chosen"] is not None
            ):
                cards += card(group)
    (CHECKPOINTS / "limited.md").write_text("\n\n".join(cards) + "\n", encoding="utf-8")
    text = DOCUMENT.read_text(encoding="utf-8")
    start, last = "<!-- made curves -->\n", "<!-- end of curves -->"
    made = "\n\n".join(parts)
    DOCUMENT.write_text(
        text[: text.index(start) + len(start)] + "\n" + made + "\n\n" + text[text.index(last) :], encoding="utf-8"
    )


CARD = """# network:limited

Networks that ship, with noise in their memory in proportion to what it holds; made by `scripts/limited.py`.
How strong it is follows from `scripts/limited_memory.yaml`. What other limits do, and what does not look like
people: `docs/limited.md`."""


def card(group: Group) -> list[str]:
    """What the card of ``network:limited`` says of a paradigm: the first network of the group."""
    network, noise = group.entry["networks"][0], Limit("noise", group.entry["kinds"]["noise"]["chosen"])
    load = load_factor(group.paradigm)
    own = group.own(noise)
    own = own[own["network"] == network]
    rows = []
    for level, part in own.groupby(f"level_{load}"):
        trials = part.groupby("unit_trial")["correct"].mean()
        half = 1.96 * float(trials.std(ddof=1)) / len(trials) ** 0.5
        mean = float(part["correct"].mean())
        rows.append((f"{level:g}", f"{mean:.3f}", f"{max(0.0, mean - half):.3f} to {min(1.0, mean + half):.3f}"))
    parts = [
        f"## {group.paradigm}",
        f"`{network}` with noise {noise.strength:g}, SHA-256 `{load_network(network).sha256}`,"
        f" {TRIALS[group.paradigm]} trials.",
        table_of((load.replace("_", " "), "accuracy", "95% interval"), rows).strip(),
    ]
    mine = group.scores[(group.scores["limit"] == noise.said) & (group.scores["network"] == network)]
    if not len(mine):
        return [*parts, "There are no published people for this paradigm."]
    said = (
        "Distance from people (A: slopes, B: means; 0 is as people are). The published means have no spread, so there"
        " is no test of equality."
    )
    return [
        *parts,
        said,
        table_of(("score", "value"), [(row["score"], cell(row)) for row in mine.to_dict("records")]).strip(),
    ]


#: What a card says of serial positions, between its accuracy and what the network is not.
_POSITIONS = re.compile(r"## Serial positions\n.*?(?=\n## |\nSHA-256)", re.DOTALL)


def positions(name: str, folder: Path, networks: Path | None) -> None:
    """Accuracy by serial position at every length of a list, 1,000 new trials each, and the distance
    from people, in the card of a network that ships; beside it other seeds of it that are in a folder."""
    others = [] if networks is None else sorted(path for path in networks.glob(f"{name}-s?.pt"))
    lengths = list(load_paradigm("vsr").factors["list_length"].levels)
    for one in (name, *others):
        data, label = folder / "positions", Path(one).stem
        there = {read_session(session)["agent"] for session in find_sessions([data])} if data.is_dir() else set()
        agent = NetworkAgent(one)
        agent.name = f"network:{label}"
        if agent.name not in there:
            each = 1000 if one == name else 250
            spanlab.replay("vsr", agent, trials=each * len(lengths), data=data, say=lambda _: None)
    loaded = load([folder / "positions"])
    table = effect("serial_position").table(loaded.scored, "vsr", human=loaded.human.get("vsr"))
    rows = []
    for who, own in table.groupby("agent", sort=False):
        for length, at in own.groupby("list_length"):
            at = at.sort_values("serial_position")
            spread_ = f"± {(at['high'] - at['low']).mean() / 2:.3f}" if at["high"].notna().any() else ""
            cells = [f"{mean:.3f}" for mean in at["mean"]]
            rows.append(
                (str(who).removeprefix("network:"), f"{length}", *cells, *[""] * (max(lengths) - len(cells)), spread_)
            )
    named = loaded.scored.items[["agent", "unit_trial"]].assign(
        level_list_length=loaded.scored.items["list_length"],
        level_serial_position=loaded.scored.items["serial_position"],
        correct=loaded.scored.items["correct"].astype(float),
    )
    shapes = {agent: over_trials(own, lambda part: shape("vsr", part)) for agent, own in named.groupby("agent")}
    parts = [
        "## Serial positions",
        "Share of items that is right at each position of the list, on 1,000 new trials of each length (other seeds:"
        " 250; corrected generator); the last column is half of a 95% interval over trials, on average. All lengths"
        " that there are; people took lists of three to six.",
        table_of(("", "list length", *(f"{one}" for one in range(1, max(lengths) + 1)), "±"), rows),
        *over_seeds(table, named, lengths, len(others) + 1),
        "Distance from people: as in the paper, A compares slopes over serial positions, of the list up to the"
        " position with the lowest accuracy (primacy) and from there on (recency), and B mean accuracies; 0 is as"
        " people are. All lists are cut where people are worst. In brackets: 95% intervals over trials.",
        table_of(
            ("network", "score", "distance", "network's", "people's"),
            [
                (
                    str(row["agent"]).removeprefix("network:"),
                    row["score"],
                    cell(row),
                    f"{row['m']:.3f}",
                    f"{row['h']:.3f}",
                )
                for row in scores(loaded.scored, human=loaded.human).to_dict("records")
            ],
        ),
        "Shape: the rank correlation with people's positions, within each length that people took, as a mean over these"
        " lengths. "
        + "; ".join(f"{str(agent).removeprefix('network:')} {with_interval(one, 2)}" for agent, one in shapes.items())
        + ".",
    ]
    card = CHECKPOINTS / f"{name}.md"
    text = re.sub(r"\n{3,}", "\n\n", _POSITIONS.sub("", card.read_text(encoding="utf-8")))
    part = "\n\n".join(one.strip() for one in parts)
    card.write_text(text.replace("## What it is not", f"{part}\n\n## What it is not"), encoding="utf-8")


def over_seeds(table: pd.DataFrame, items: pd.DataFrame, lengths: Sequence[int], count: int) -> list[str]:
    """Serial positions as means over networks that differ in their seed, and how much better the
    ends of lists are; nothing where there is one network."""
    if count < 2:
        return []
    own = table[table["agent_kind"] == "network"]
    rows = []
    for length in lengths:
        at = own[own["list_length"] == length].pivot_table(index="serial_position", columns="agent", values="mean")
        found = [spread(means.tolist()) for _, means in at.iterrows()]
        cells = [f"{mean:.3f} ± {mean - low:.2f}" for mean, low, _ in found]
        rows.append((f"{length}", *cells, *[""] * (max(lengths) - len(cells))))
    ends = []
    for length in [one for one in lengths if one >= 4]:
        of_length = items[items["level_list_length"] == length]
        by_network = [part for _, part in of_length.groupby("agent")]
        gains = (with_interval(spread([end(which)(part) for part in by_network])) for which in (0, -1))
        ends.append((f"{length}", *gains))
    return [
        f"Means over {count} networks of one recipe with different seeds, and half of a 95% interval over networks (t)."
        " Limits of time ended the stages of the others earlier; their weights do not ship.",
        table_of(("list length", *(f"{one}" for one in range(1, max(lengths) + 1))), rows),
        "How much better the first item (primacy) and the last one (recency) are recalled than those between them,"
        " as means over these networks, with 95% intervals over networks.",
        table_of(("list length", "primacy", "recency"), ends),
        "The WorM paper (A3.3) says of its LSTM-256, trained on this task alone: accuracy falls with the length of the"
        " list; primacy and recency are clearer in long lists; primacy occurs rather in short lists, recency in long"
        " ones.",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("do", choices=["choose", "write", "positions"])
    parser.add_argument("name", nargs="?", default="worm-vsr", help="network that ships, for positions")
    parser.add_argument("-o", "--output", type=Path, help="folder of the sessions, for write and positions")
    parser.add_argument("-n", "--networks", type=Path, help="folder with networks that do not ship")
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.do == "choose":
        choose(Found(given.networks))
    elif given.output is None:
        parser.error("this needs -o FOLDER")
    elif given.do == "positions":
        positions(given.name, given.output, given.networks)
    else:
        write(given.output, Found(given.networks))


if __name__ == "__main__":
    main()
