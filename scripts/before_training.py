"""How far the networks that ship would get without training: a column of their cards, and a table
in docs/network-models.md.

python scripts/before_training.py NAME ...        # measures, and writes the cards of these networks; of all that ship when none is given
python scripts/before_training.py NAME --fitted 25 --tested 25    # with so many trials of each combination of levels
python scripts/before_training.py --table         # the table in docs/network-models.md, from the cards
"""  # noqa: E501

from __future__ import annotations

import argparse
import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from spanlab.agents.network.checkpoints_io.checkpoint import shipped
from spanlab.agents.network.inputs.data import Loss, Pool
from spanlab.agents.network.inputs.training_data import TrainingData
from spanlab.agents.network.models import Network, Seen, build
from spanlab.agents.network.settings import CompactSettings
from spanlab.agents.network.training.config import TrainingConfig, read_config
from spanlab.agents.network.training.evaluation import ConditionAccuracy, as_markdown, outputs_of, rows_of_outputs
from spanlab.agents.network.training.journal import wired
from spanlab.agents.network.training.learning import summed
from spanlab.agents.network.training.run import begin

ROOT = Path(__file__).resolve().parent.parent
CHECKPOINTS = ROOT / "agents" / "network" / "checkpoints"
DOCUMENT = ROOT / "docs" / "network-models.md"
_SAID = """Before training: accuracy of the best linear read-out of what the network computes with the weights that it starts from, without any weights taken
over from another network. It is a logistic regression on what the heads read, fitted on {fitted} training trials of each combination of levels: one for each
combination, or one for all of a task. Which of these, and its penalty, was chosen on the validation trials; it was scored on {tested} of the test trials."""  # noqa: E501
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
#: Trials of each combination of levels on which a read-out is fitted. Its penalty is chosen on the
#: validation trials, and it is scored on the test trials.
FITTED_ON = 100
#: Penalties that are tried, on the squared weights of features of variance 1.
PENALTIES = (1e-5, 1e-4, 1e-3, 1e-2)


@dataclass(frozen=True, slots=True)
class BeforeTraining:
    """Accuracy before training in one combination of factor levels.

    Parameters
    ----------
    paradigm, levels : which
    read_out : accuracy of the best linear read-out of the untrained network
    unweighted : accuracy of the plain sum of the products that compare what is seen now with what
        the delay line holds of n steps ago; None where a network has no such products, or a
        paradigm no n
    """

    paradigm: str
    levels: dict[str, Any]
    read_out: float
    unweighted: float | None


def before_training(config: TrainingConfig, fitted_on: int = FITTED_ON) -> list[BeforeTraining]:
    """Return what can be read out of a network before its first step, by paradigm and combination
    of factor levels.

    A read-out is fitted for each combination of levels alone, and one for all of a task: many levels
    may need more trials than one has. It is a logistic regression on what the heads of the network
    read. Fitting, the choice of read-out and penalty, and the score have separate trials. Weights
    that the run takes over from another network (``start_from``) are left out: they were trained.
    """
    own = TrainingData(config)
    own.prepare(lambda count: None)
    network = build(config.model, own.tasks, config.seed)
    begin(network, own)
    network.eval().requires_grad_(False)
    more = [
        task.model_copy(update={"train_trials": fitted_on * len(paradigm.combinations(factors))})
        for task, paradigm, factors in zip(config.tasks, own.paradigms, own.factors, strict=True)
    ]
    data = TrainingData(config.model_copy(update={"tasks": more, "train_trials": None, "compile": "ahead"}))
    data.prepare(lambda count: None)
    return [
        accuracy
        for pools in zip(data.pools["train"], data.pools["validation"], data.pools["test"], strict=True)
        for task in dict.fromkeys(block.task for block in pools[-1].blocks)
        for accuracy in _before(network, *(_of_task(pool, task) for pool in pools))
    ]


def _of_task(pool: Pool, task: str) -> Pool:
    return replace(pool, blocks=[block for block in pool.blocks if block.task == task])


def _before(network: Network, train: Pool, validation: Pool, test: Pool) -> list[BeforeTraining]:
    features, targets = _asked(network, train)
    mean, spread = features.mean(0), features.std(0).clamp(min=1e-6)
    for_all = _fits((features - mean) / spread, targets, train)
    plain = _unweighted(network, train, test, features, targets)
    found = []
    for at in range(len(test.blocks)):
        levels = [replace(pool, blocks=pool.blocks[at : at + 1]) for pool in (train, validation, test)]
        own, wanted = _asked(network, levels[0])
        weights = for_all + _fits((own - mean) / spread, wanted, train)

        def read(hidden: Tensor, seen: Seen, task: str, weights: list[Tensor] = weights) -> Tensor:
            scaled = (network.features(hidden, seen) - mean) / spread
            return torch.cat([scaled @ weight[:-1] + weight[-1] for weight in weights], -1)

        outputs = [np.split(outputs_of(network, pool, read), len(weights), -1) for pool in levels[1:]]
        scores = [rows_of_outputs(logits, levels[1])[0].accuracy for logits in outputs[0]]
        row = rows_of_outputs(outputs[1][int(np.argmax(scores))], levels[2])[0]
        found.append(
            BeforeTraining(row.paradigm, row.levels, row.accuracy, None if plain is None else plain[at].accuracy)
        )
    return found


def _asked(network: Network, pool: Pool) -> tuple[Tensor, Tensor]:
    """What the heads of a network read at the steps that are trained, and what is wanted there."""
    features = outputs_of(network, pool, lambda hidden, seen, task: network.features(hidden, seen))
    return torch.from_numpy(_trained_steps(pool, features)), torch.from_numpy(_trained_steps(pool, None))


def _fits(scaled: Tensor, targets: Tensor, pool: Pool) -> list[Tensor]:
    """A read-out with each penalty."""
    return [_fitted(scaled, targets, pool.loss, pool.view.head, penalty) for penalty in PENALTIES]


def _trained_steps(pool: Pool, values: np.ndarray | None) -> np.ndarray:
    """Values (trials, steps, n) at the steps that are trained, in a row; the targets of these steps
    if no values are given."""
    rows = pool.take(np.arange(pool.trials))
    return rows.targets[rows.trained] if values is None else values[:, : rows.trained.shape[1]][rows.trained]


def _fitted(features: Tensor, targets: Tensor, kind: Loss, head: int, penalty: float) -> Tensor:
    """Weights (features + 1, head) of a logistic regression; the last row is the constant."""
    weights = torch.zeros(features.shape[1] + 1, head, requires_grad=True)
    steps = torch.optim.LBFGS([weights], max_iter=100, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        steps.zero_grad()
        value = (
            summed(features @ weights[:-1] + weights[-1], targets, kind) / len(features)
            + penalty * weights[:-1].square().sum()
        )
        value.backward()
        return value

    steps.step(loss)  # type: ignore[arg-type]
    return weights.detach()


def _unweighted(
    network: Network, train: Pool, test: Pool, features: Tensor, targets: Tensor
) -> list[ConditionAccuracy] | None:
    """Accuracy of the plain sum of the products of one place of the delay line, with the threshold
    that is best on the training trials."""
    settings, steps_back = network.settings, {block.levels.get("n") for block in test.blocks}
    if not isinstance(settings, CompactSettings) or not settings.products or len(steps_back) != 1 or None in steps_back:
        return None
    first, line = settings.hidden + (settings.windows**2 if settings.match else 0), settings.delay_line
    back = int(steps_back.pop())  # type: ignore[arg-type]
    if settings.compared and back >= line.slots:
        return None
    chosen = (
        slice(first + back * line.width, first + (back + 1) * line.width)
        if settings.compared
        else slice(first, first + settings.products)
    )
    threshold, sign = _threshold(features[:, chosen].sum(-1), (targets[:, 0] if targets.ndim == 2 else targets).bool())

    def read(hidden: Tensor, seen: Seen, task: str) -> Tensor:
        yes = sign * (network.features(hidden, seen)[:, chosen].sum(-1, keepdim=True) - threshold)
        return yes if train.view.head == 1 else torch.cat([-yes, yes], -1)

    return rows_of_outputs(outputs_of(network, test, read), test)


def _threshold(values: Tensor, wanted: Tensor) -> tuple[float, float]:
    """The threshold between two classes that is right most often, and on which side of it (1:
    above, -1: below) the wanted values are."""
    order = values.argsort()
    values, wanted = values[order], wanted[order].double()
    below = torch.cat([torch.zeros(1, dtype=torch.float64), wanted.cumsum(0)])  # wanted among the lowest 0, 1, 2, ...
    count = torch.arange(len(values) + 1)
    right = wanted.sum() - below + (count - below)
    best = [
        (float(share.max()), int(share.argmax()), sign) for share, sign in ((right, 1.0), (len(values) - right, -1.0))
    ]
    _, at, sign = max(best)
    edges = torch.cat([values[:1] - 1, (values[1:] + values[:-1]) / 2, values[-1:] + 1])
    return float(edges[at]), sign


def config_of(name: str) -> TrainingConfig:
    """The config of a network that ships: its file, or the first line of its log."""
    file = CHECKPOINTS / f"{name}.yaml"
    if file.exists():
        return read_config(file)
    first = (CHECKPOINTS / f"{name}.log.jsonl").read_text(encoding="utf-8").split("\n", 1)[0]
    return TrainingConfig.model_validate(json.loads(first)["config"])


def measure(name: str, fitted: int, tested: int | None) -> None:
    """Measure what can be read out of a network before training, and write it into its card."""
    file = CHECKPOINTS / f"{name}.json"
    card, config = json.loads(file.read_text(encoding="utf-8")), config_of(name)
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
    if getattr(config.model, "start", "") == "delay_line" and wired(config) not in text:
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
        *(line for name in shipped() for line in lines_of(name) if line[2] != "–"),
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
