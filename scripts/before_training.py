"""How far the networks that ship would get without training: a column of their cards, and a table
in docs/networks.md.

python scripts/before_training.py NAME ...        # measures, and writes the cards of these networks; of all that ship when none is given
python scripts/before_training.py NAME --fitted 25 --tested 25    # with so many trials of each combination of levels
python scripts/before_training.py --table         # the table in docs/networks.md, from the cards
"""  # noqa: E501

from __future__ import annotations

import argparse
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from spanlab.agents.network.checkpoints_io.card import wired
from spanlab.agents.network.checkpoints_io.checkpoint import shipped
from spanlab.agents.network.training.config import read_config
from spanlab.agents.network.training.evaluation import ConditionAccuracy, as_markdown
from spanlab.agents.network.training.untrained import FITTED_ON, before_training

ROOT = Path(__file__).resolve().parent.parent
CHECKPOINTS = ROOT / "agents" / "network" / "checkpoints"
DOCUMENT = ROOT / "docs" / "networks.md"
_SAID = """Before training: accuracy of the best linear read-out of what the network computes with the weights that it starts from, without any weights taken
over from another network. It is a logistic regression on what the heads read, for each task alone, fitted on {fitted} training trials of each combination of
levels; its penalty was chosen on the validation trials, and it was scored on {tested} of the test trials."""  # noqa: E501
#: What a card says of its starting weights, in the words of now and of before.
_STARTED = re.compile(
    r"(Its weights start as those of the checkpoint `[^`]*`; the log has its SHA-256\.)?"
    r"( ?\*\*Wired in before training[^*]*\*\* All of its weights are then learned\.)?"
    r"( ?Its recurrent weights start as a delay line[^;]*; all of them are then learned\.)?"
)
_SUM = (
    "The unweighted sum is that of the products of the state with the present frame (of the right place of the queue,"
    " if they have one), with a threshold."
)


def measure(name: str, fitted: int, tested: int | None) -> None:
    """Measure what can be read out of a network before training, and write it into its card."""
    file = CHECKPOINTS / f"{name}.json"
    card, config = json.loads(file.read_text(encoding="utf-8")), read_config(file.with_suffix(".yaml"))
    tested = min(tested or config.check.test_trials, config.check.test_trials)
    config = config.model_copy(update={"check": config.check.model_copy(update={"test_trials": tested})})
    found = {(before.paradigm, json.dumps(before.levels)): before for before in before_training(config, fitted)}
    rows = []
    for kept in card["test"]:
        before = found[kept["paradigm"], json.dumps(kept["levels"])]
        rows.append(
            replace(
                ConditionAccuracy(**kept),
                before=round(before.read_out, 4),
                unweighted=None if before.unweighted is None else round(before.unweighted, 4),
            )
        )
    card["test"] = [row.as_json() for row in rows]
    file.write_text(json.dumps(card, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    text = file.with_suffix(".md").read_text(encoding="utf-8")
    text = started(text, wired(config))
    head, middle = text.index("## Held-out accuracy"), text.index("\n### ")
    said = re.sub(r" Before training: .*", "", text[head:middle].rstrip(), flags=re.DOTALL)
    said += (
        " "
        + " ".join(_SAID.format(fitted=fitted, tested=tested).split())
        + (f" {_SUM}" if any(row.unweighted is not None for row in rows) else "")
    )
    file.with_suffix(".md").write_text(
        text[:head] + said + "\n\n" + as_markdown(rows) + "\n\n" + text[text.index("## What it is not") :],
        encoding="utf-8",
    )
    print(f"{name}: " + ", ".join(f"{line[1]} {line[2]} to {line[3]}" for line in lines_of(name)), flush=True)


def started(text: str, said: str) -> str:
    """A card that says where its weights started."""
    found = max(_STARTED.finditer(text), key=lambda match: len(match[0]))
    assert found[0], "a card says where its weights started"
    return text[: found.start()].rstrip(" ") + " " + said + text[found.end() :]


def lines_of(name: str) -> list[tuple[str, ...]]:
    """The lines of the table for a network: means over the levels of each of its paradigms."""
    rows: list[dict[str, Any]] = json.loads((CHECKPOINTS / f"{name}.json").read_text(encoding="utf-8"))["test"]
    lines = []
    for paradigm in dict.fromkeys(row["paradigm"] for row in rows):
        mine = [row for row in rows if row["paradigm"] == paradigm]
        means = [
            f"{np.mean([row[key] for row in mine]):.3f}" if all(key in row for row in mine) else "–"
            for key in ("before", "accuracy", "blind")
        ]
        lines.append((f"`{name}`", f"`{paradigm}`", *means))
    return lines


def write_table() -> None:
    """Write the table of all networks that ship."""
    text = DOCUMENT.read_text(encoding="utf-8")
    start, end = "<!-- made before training -->\n", "<!-- end of before training -->"
    table = [
        ("network", "paradigm", "before training", "trained", "best blind guess"),
        ("---",) * 5,
        *(line for name in shipped() for line in lines_of(name)),
    ]
    made = "".join("| " + " | ".join(line) + " |\n" for line in table)
    DOCUMENT.write_text(
        text[: text.index(start) + len(start)] + "\n" + made + "\n" + text[text.index(end) :], encoding="utf-8"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--fitted", type=int, default=FITTED_ON)
    parser.add_argument("--tested", type=int)
    given = parser.parse_args()
    if given.table:
        write_table()
        return
    for name in given.names or shipped():
        measure(name, given.fitted, given.tested)


if __name__ == "__main__":
    main()
