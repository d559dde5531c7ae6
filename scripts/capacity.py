"""How much memory is enough: the same network with few and with many units, trained in the same
way, beside people.

python scripts/capacity.py train -o FOLDER                # trains what is missing; run the same command to continue with what was stopped
python scripts/capacity.py write -o FOLDER                # curves and scores of what is there: docs/capacity.md and its figures
"""  # noqa: E501

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

import spanlab
from spanlab.agents.network import NetworkAgent
from spanlab.agents.network.training.config import TrainingConfig
from spanlab.agents.network.training.run import train
from spanlab.analysis.data.loading import Data, load
from spanlab.analysis.data.style import GROUP_MEANS, condition_looks, listed
from spanlab.analysis.effects.effect import Effect
from spanlab.analysis.effects.registry import effect
from spanlab.analysis.figures.charts import draw
from spanlab.analysis.figures.effect_figure import effect_chart, looks_of
from spanlab.analysis.model_vs_human.scores import scores
from spanlab.paradigms import load_paradigm
from spanlab.sessions import find_sessions, read_session

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "capacity.md"
#: Trials of each network in each paradigm, shared out over the levels.
TRIALS = 1200
#: What is drawn of each paradigm.
EFFECTS = {"vsr": "serial_position", "smu": "set_size", "cd": "features"}

SIZES = (24, 48, 96, 240)
HEAD = ("paradigm", "learned", "score", *(f"{units} units" for units in SIZES))
STEPS = 500
#: What each paradigm is trained on. Levels are those of people's curves and some beside; change
#: detection is that of colours after 900 ms, as people had it.
PARADIGMS: dict[str, dict[str, Any]] = {
    "vsr": {"batch": 40, "train_trials": 4000, "factors": {"list_length": [2, 3, 4, 5, 6]}},
    "smu": {"batch": 40, "train_trials": 4000, "factors": {"set_size": [1, 2, 3, 4, 6, 8]}},
    "cd": {
        "batch": 60,
        "train_trials": 4000,
        "factors": {"feature": "colour", "set_size": [2, 4, 6], "retention_steps": 6},
    },
}
#: Which paradigms a network learns: each alone, and all together.
DIETS: dict[str, tuple[str, ...]] = {"vsr": ("vsr",), "smu": ("smu",), "joint": ("vsr", "smu", "cd"), "cd": ("cd",)}


def config(diet: str, units: int) -> TrainingConfig:
    """How one network is trained. Eye and read-out are the same in all; of the memory's units three
    in four start as a queue of six places."""
    return TrainingConfig.model_validate(
        {
            "name": f"{diet}-{units}",
            "about": f"{units} units, trained on {', '.join(DIETS[diet])}: one of the networks of docs/capacity.md.",
            "seed": 1,
            "model": {
                "architecture": "lstm",
                "hidden": units,
                "components": 256,
                "summary": 128,
                "filters": 48,
                "code": 24,
                "context": 64,
                "embedding": 8,
                "delay_line": {"slots": 6, "width": units // 8},
            },
            "tasks": [{"paradigm": name, **PARADIGMS[name]} for name in DIETS[diet]],
            "loss": "improved",
            "selection": "improved",
            "steps": STEPS,
            "rate": {"peak": 0.004, "warmup": 50, "final": 0.02},
            "check": {"every": STEPS, "trials": 10, "test_trials": 100},
            "save_every": 50,
            "threads": 1,
        }
    )


def train_all(folder: Path) -> None:
    """Train the networks that are not there yet, one after another."""
    for diet in DIETS:
        for units in SIZES:
            wanted = config(diet, units)
            out = folder / wanted.name
            if (out / f"{wanted.name}.json").exists():
                continue
            found = train(
                wanted,
                out,
                resume=(out / f"{wanted.name}.state.pt").exists(),
                progress=False,
                command="python scripts/capacity.py train",
            )
            assert found is not None
            print(f"{wanted.name}: {found.steps} steps, {found.cpu_s:.0f} s of processor time", flush=True)


def trained(folder: Path) -> dict[str, dict[int, Path]]:
    """The networks that are there, by what they learned and their units."""
    found: dict[str, dict[int, Path]] = {}
    for diet in DIETS:
        for units in SIZES:
            path = folder / f"{diet}-{units}" / f"{diet}-{units}.pt"
            if path.with_suffix(".json").exists():
                found.setdefault(diet, {})[units] = path
    return found


def answered(folder: Path, paradigm: str, diet: str, networks: dict[int, Path]) -> Data:
    """Sessions of some networks in a paradigm, on trials that none has seen; those that are there
    are not taken again."""
    data = folder / "sessions" / f"{paradigm}-{diet}"
    there = {read_session(one)["agent"] for one in find_sessions([data])} if data.is_dir() else set()
    for units, path in networks.items():
        agent = NetworkAgent(path)
        agent.name = f"network:{units} units"
        if agent.name not in there:
            spanlab.replay(
                paradigm, agent, trials=TRIALS, levels=PARADIGMS[paradigm]["factors"], data=data, say=lambda _: None
            )
    return load([data])


def parameters(path: Path) -> int:
    return int(json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))["parameters"])


def write(folder: Path) -> None:
    """Curves and scores of the networks that are there, as docs/capacity.md."""
    found, images = trained(folder), ROOT / "docs" / "images" / "capacity"
    images.mkdir(parents=True, exist_ok=True)
    parts, rows, nearest = [], [], []
    for paradigm in PARADIGMS:
        pictures = []
        for diet in [name for name, members in DIETS.items() if paradigm in members and name in found]:
            data = answered(folder, paradigm, diet, found[diet])
            shown = effect(EFFECTS[paradigm])
            table = shown.table(data.scored, paradigm, human=data.human.get(paradigm))
            alone = "together" if diet == "joint" else "alone"
            title = f"{data.titles[paradigm]}, learned {alone}" + (" with the others" if diet == "joint" else "")
            file = images / f"{paradigm}-{alone}.svg"
            file.write_text(picture(shown, table, title), encoding="utf-8")
            pictures.append(
                f"![{title}: correct answers of networks of several sizes, and of people](images/capacity/{file.name})"
            )
            own = scores(data.scored, human=data.human).to_dict("records")
            for name in dict.fromkeys(row["score"] for row in own):
                cells = {int(row["agent"].split(":")[1].split()[0]): row for row in own if row["score"] == name}
                rows.append((f"`{paradigm}`", alone, name, *(cell(cells.get(units)) for units in SIZES)))
                nearest.append((paradigm, alone, name, cells))
        parts.append(f"### {load_paradigm(paradigm).title}\n\n" + "\n\n".join(pictures) + "\n" if pictures else "")
    text = DOCUMENT.read_text(encoding="utf-8")
    filled = {
        "networks": networks_table(found),
        "curves": "\n".join(filter(None, parts)),
        "scores": table_of(HEAD, rows),
        "nearest": said(nearest),
    }
    for name, content in filled.items():
        start, end = f"<!-- made {name} -->\n", f"<!-- end of {name} -->"
        text = text[: text.index(start) + len(start)] + "\n" + content.rstrip() + "\n\n" + text[text.index(end) :]
    DOCUMENT.write_text(text, encoding="utf-8")
    print(DOCUMENT)


def picture(shown: Effect, table: pd.DataFrame, title: str) -> str:
    """The curves of the sizes, each with a look of its own, and people's."""
    people = table[table["agent_kind"] == GROUP_MEANS]
    named = table.assign(agent=table["agent"].str.removeprefix("network:"))
    sizes = [
        look for look in condition_looks([f"{units} units" for units in SIZES]) if look.label in set(named["agent"])
    ]
    looks = [*sizes, *looks_of(people)]
    return draw(effect_chart(shown, named, looks, title=title), looks)


def cell(row: dict[Any, Any] | None) -> str:
    """A score with its interval."""
    if row is None or math.isnan(row["value"]):
        return "–"
    return f"{row['value']:.2f}" + ("" if math.isnan(row["low"]) else f" [{row['low']:.2f}, {row['high']:.2f}]")


def networks_table(found: dict[str, dict[int, Path]]) -> str:
    rows = []
    for diet, members in DIETS.items():
        own = found.get(diet, {})
        held = (f"{parameters(own[units]):,} parameters" if units in own else "not trained here" for units in SIZES)
        rows.append((", ".join(f"`{name}`" for name in members), *held))
    return table_of(("learned", *(f"{units} units" for units in SIZES)), rows)


def said(nearest: list[tuple[str, str, str, dict[int, dict[Any, Any]]]]) -> str:
    """Which size comes nearest by each score, and whether it can be told from the next."""
    lines = []
    for paradigm, alone, name, cells in nearest:
        ranked = sorted((row["value"], units) for units, row in cells.items() if not math.isnan(row["value"]))
        if len(ranked) < 2:
            continue
        first, second = (cells[units] for _, units in ranked[:2])
        apart = not math.isnan(first["high"]) and not math.isnan(second["low"]) and first["high"] < second["low"]
        with_whom = [units for _, units in ranked[1:] if not (first["high"] < cells[units]["low"])]
        among = (
            ""
            if apart
            else f"; its interval overlaps with that of {listed([str(units) for units in sorted(with_whom)])} units"
        )
        lines.append(f"* `{paradigm}`, learned {alone}, {name}: {ranked[0][1]} units{among}.")
    return "\n".join(lines)


def table_of(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "".join("| " + " | ".join(line) + " |\n" for line in (header, ["---"] * len(header), *rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("do", choices=["train", "write"])
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder of the networks")
    given = parser.parse_args()
    if given.do == "train":
        train_all(given.output)
    else:
        write(given.output)


if __name__ == "__main__":
    main()
