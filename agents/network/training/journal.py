"""The log of a training run, what is shown meanwhile, its curves, and the card of what came of it."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ....core.errors import SpanLabError
from ....core.json_values import where_given
from ..checkpoints_io.checkpoint import Checkpoint, TrainedOn, shipped
from ..checkpoints_io.files import write_atomically
from ..inputs.batches import TrainingBatch
from ..inputs.training_data import TrainingData
from ..settings import WormSettings, heads_of, most_words
from .config import TrainingConfig
from .evaluation import ConditionAccuracy, as_markdown
from .state import TrainingState

#: The events of the log that are drawn, by the trials that they are of.
_DRAWN = {"train": "training", "validation": "validation"}
#: Points of a line.
_MOST = 150


class TrainingJournal:
    """``NAME.log.jsonl``: one JSON object a line, each with its ``event`` and ``step``.

    With ``keep_until`` an earlier log goes on after that step: later lines, written before an
    interruption, are dropped, since they come again.

    Raises
    ------
    SpanLabError
        when it cannot be written.
    """

    def __init__(self, path: Path, keep_until: int | None = None) -> None:
        self.path = path
        kept = _lines_until(path, keep_until) if keep_until is not None and path.exists() else []
        write_atomically(path, "".join(line + "\n" for line in kept).encode("utf-8"))
        self._file = path.open("ab", buffering=0)

    def write(self, event: str, **values: Any) -> None:
        """Add a line; it is in the file when this returns."""
        line = (json.dumps({"event": event, **values}, ensure_ascii=False) + "\n").encode("utf-8")
        try:
            if self._file.write(line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            raise SpanLabError(
                f"cannot write {self.path} ({error.strerror or error}); free some space, and continue with --resume"
            ) from None

    def close(self) -> None:
        self._file.close()


def _lines_until(path: Path, step: int) -> list[str]:
    kept = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            break  # the last line of a killed run may be cut off
        if entry.get("step", 0) <= step and entry.get("event") not in ("test", "end"):
            kept.append(line)
    return kept


def bars(shown: bool) -> Progress:
    """Progress bars on the terminal, or nothing; ``said`` is a few words beside a bar."""
    return Progress(
        TextColumn("{task.description:<17}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[said]}"),
        console=Console(stderr=True),
        disable=not shown,
    )


def draw(log: Path, figure: Path) -> None:
    """Draw the curves of a log, SVG: accuracy and loss, of each task and of all together, in training and validation.

    Of a long run they are means over neighbouring steps: no line has more points than can be told apart.
    """
    import altair as alt
    import pandas as pd
    import vl_convert

    entries = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    points = pd.DataFrame(
        [
            (measure, task.replace("_", " "), _DRAWN[entry["event"]], entry["step"], value)
            for entry in entries
            if entry["event"] in _DRAWN
            for measure in ("accuracy", "loss")
            for task, value in entry[measure].items()
        ],
        columns=["measure", "task", "trials", "step", "value"],
    )
    together = points.groupby(["measure", "trials", "step"], as_index=False)["value"].mean()
    points = pd.concat([together.assign(task="all together"), points])
    width = int(points["step"].max()) // _MOST + 1
    points = points.groupby(["measure", "task", "trials", points["step"] // width], as_index=False, sort=False).mean()
    chart = (
        alt.Chart(alt.Data(values=points.to_dict("records")))
        .mark_line(point=alt.OverlayMarkDef(size=14))
        .encode(
            x=alt.X("step:Q", axis=alt.Axis(tickCount=4)),
            y=alt.Y("value:Q", title=None, axis=alt.Axis(tickCount=4)),
            color=alt.Color("trials:N", legend=alt.Legend(orient="top", title=None)),
        )
        .properties(width=220, height=90)
        .facet(
            row=alt.Row("task:N", sort=list(dict.fromkeys(points["task"])), title=None),
            column=alt.Column("measure:N", title=None),
        )
        .resolve_scale(y="independent")
    )
    write_atomically(figure, vl_convert.vegalite_to_svg(chart.to_dict()).encode("utf-8"))


class Recent:
    """Losses and shares that were right, step by step; on a GPU nobody waits for them before they
    are wanted.

    Parameters
    ----------
    training_data : for the names of paradigms
    device : where they are
    """

    def __init__(self, training_data: TrainingData, device: torch.device) -> None:
        self._training_data, self._device = training_data, device
        self._steps: list[tuple[TrainingBatch, torch.Tensor, torch.Tensor]] = []

    def add(self, batch: TrainingBatch, losses: torch.Tensor, right: torch.Tensor, step: int) -> None:
        """Keep what came of a step; where looking costs no waiting, see that its losses are finite."""
        self._steps.append((batch, losses, right))
        if self._device.type == "cpu":
            self._look(self._steps[-1:], step)

    def check(self, step: int) -> None:
        """See that all losses are finite.

        Raises
        ------
        SpanLabError
            when one is not.
        """
        self._look(self._steps, step)

    def _look(self, steps: list[tuple[TrainingBatch, torch.Tensor, torch.Tensor]], step: int) -> None:
        for batch, losses, _ in steps:
            if not bool(torch.isfinite(losses).all()):
                worst = batch.parts[int((~torch.isfinite(losses)).nonzero()[0])]
                name = self._training_data.paradigms[worst.number].name
                raise SpanLabError(f"the loss of {name} is not finite at step {step}; lower rate.peak in the config")

    def taken(self, step: int) -> tuple[dict[str, float], dict[str, float]]:
        """Mean loss and mean share that was right of each paradigm since this was last asked."""
        self.check(step)
        values: dict[str, list[list[float]]] = {}
        for batch, losses, right in self._steps:
            both = torch.stack([losses, right])
            for part, pair in zip(batch.parts, both.T.tolist(), strict=True):
                values.setdefault(self._training_data.label(part.number), []).append(pair)
        self._steps.clear()
        means = {name: np.mean(pairs, axis=0) for name, pairs in values.items()}
        return {name: round(float(mean[0]), 5) for name, mean in means.items()}, {
            name: round(float(mean[1]), 4) for name, mean in means.items()
        }


def write_card(
    folder: Path,
    config: TrainingConfig,
    kept: Checkpoint,
    rows: Sequence[ConditionAccuracy],
    state: TrainingState,
    times: Mapping[str, float],
    why: str,
    command: str,
    earlier: Sequence[TrainingConfig] = (),
) -> None:
    """Write ``NAME.md`` for people and ``NAME.json`` for programs.

    Parameters
    ----------
    why : the training ended
    command : that made it
    earlier : stages of its training before this one
    """
    result = {
        "name": config.name,
        "sha256": kept.sha256,
        "bytes": kept.bytes,
        "parameters": kept.network.parameter_count,
        "settings": config.model.model_dump(mode="json"),
        "trained": _trained(kept).model_dump(mode="json"),
        **where_given(vectors=kept.vectors and kept.vectors.described()),
        "ended": why,
        **times,
        "test": [row.as_json() for row in rows],
    }
    write_atomically(
        folder / f"{config.name}.json", (json.dumps(result, indent=1, ensure_ascii=False) + "\n").encode("utf-8")
    )
    write_atomically(
        folder / f"{config.name}.md", _text(config, kept, rows, state, times, why, command, earlier).encode("utf-8")
    )


def _text(
    config: TrainingConfig,
    kept: Checkpoint,
    rows: Sequence[ConditionAccuracy],
    state: TrainingState,
    times: Mapping[str, float],
    why: str,
    command: str,
    earlier: Sequence[TrainingConfig],
) -> str:
    trained, network = _trained(kept), kept.network
    seen = ", ".join(
        f"{count:,} trials of {name} (from a pool of {_pool(config, name):,})" for name, count in trained.trials.items()
    )
    sees = "It sees one 32 x 32 frame per step and nothing else." if network.seeing else ""
    selected = {
        "published": "mean validation accuracy",
        "improved": "mean gain over the best blind guess in validation",
    }[config.selection]
    parts = [
        f"# network:{config.name}",
        config.about,
        "## What it is",
        f"""Its memory is the architecture {config.model.architecture} with {config.model.hidden} units; {len(heads_of(network.tasks))} linear heads
        answer in {len(network.tasks)} tasks. {network.parameter_count:,} learned parameters, {kept.bytes / 1e6:.1f} MB {_STORED[kept.store]}. {sees}
        {_reads(kept)} {wired(config)} Its settings, where they are not the defaults (`NAME.json` has all): {_settings(config)}.""",  # noqa: E501
        "## How it was made",
        f"""It was trained {f"with `{command}`, " if command else ""}on {", ".join(trained.paradigms)}, all together in every step, for {state.step:,} steps
        ({why}). {_recipe(config)} {staged(earlier)} The weights are those of step {state.best_step:,}, which had the highest {selected}; until then it had seen {seen}.
        The whole run took, with compiling the trials and the test, {duration(times["wall_s"])} by the clock and
        {duration(times["cpu_s"])} of processor time: {times["cpu_s"] / max(times["wall_s"], 1e-3):.2f} processors on average (torch
        {torch.__version__}, device {config.device}). The log, whose first line has the whole config, is `{config.name}.log.jsonl`. {remade(config, why, bool(earlier))}""",  # noqa: E501
        "## Held-out accuracy",
        """On test trials that come from a stream of seeds of their own, read out from the weights in the file. Accuracy is the share of
        items that are right; its standard error is over trials. The best blind guess is the best fixed answer: chosen on the training trials,
        scored on these. A star marks levels that were not trained.""",  # noqa: E501
        as_markdown(rows),
        "## What it is not",
        """It is not a model of human memory, and none of the networks that were published with the WorM benchmark: it was trained as told above. It knows only
        the tasks above and their published stimuli. Conditions near the blind guess are ones that it has not learned. Some answers can be guessed better than
        blindly by somebody who sees the frames and remembers nothing (in vsr, only positions that hold a pattern: 1 / list length; in sfr, only squares that
        were shown: list length / 30), so compare with that as well.""",  # noqa: E501
        f"SHA-256 `{kept.sha256}`",
    ]
    # Paragraphs are flowed; tables and headings keep their lines.
    return "\n\n".join(part if part.startswith("#") else " ".join(part.split()) for part in parts if part) + "\n"


def _reads(kept: Checkpoint) -> str:
    """What a network reads, in a sentence; empty for one that reads no words."""
    if kept.vectors is None:
        return ""
    file = f" (SHA-256 `{kept.vectors.sha256}`)" if kept.vectors.sha256 else ""
    most = most_words(kept.network.tasks)
    many = "one vector" if most == 1 else f"up to {most} vectors side by side"
    return f"""It reads {many} per step in {", ".join(sorted(kept.network.reading))}: those of the words that are shown, each brought to one length, and zeros
        where no or more words are shown. The vectors: {kept.vectors.name}{file}."""  # noqa: E501


#: How the weights are kept, in words.
_STORED = {
    "half": "in half precision",
    "bytes": "(its matrices as bytes with one scale for every 32 numbers, the rest in half precision)",
}


def duration(seconds: float) -> str:
    """A time in words: seconds below two minutes, else minutes."""
    return f"{seconds:.1f} seconds" if seconds < 120 else f"{seconds / 60:.1f} minutes"


def _trained(kept: Checkpoint) -> TrainedOn:
    assert kept.trained is not None, "SpanLab's own checkpoints say what they were trained on"
    return kept.trained


def _settings(config: TrainingConfig) -> str:
    """The settings of a network that are not the defaults."""
    chosen = config.model.model_dump(mode="json", exclude_defaults=True)
    return ", ".join(f"`{key}: {json.dumps(value)}`" for key, value in chosen.items()) or "none"


def wired(config: TrainingConfig) -> str:
    """Return where its weights started, and what was wired in before any training."""
    model, taken = config.model, ""
    if config.start_from is not None:
        taken = (
            f"Its weights start as those of the checkpoint `{Path(config.start_from).name}`; the log has its SHA-256. "
        )
    if isinstance(model, WormSettings):
        return taken or "Its weights start as those of the published networks do."
    if model.start != "delay_line":
        return taken or f"Its recurrent weights start as {model.start} ones."
    line = model.delay_line
    queue = (
        f"a queue of {line.slots} places with {line.width} units each (a delay line), beside"
        f" {model.hidden - line.slots * line.width} integrating units"
    )
    if model.compared:
        queue += ", and products that compare what each place of the queue holds with what is seen now"
    return f"{taken}**Wired in before training: {queue}.** All of its weights are then learned."


def staged(earlier: Sequence[TrainingConfig]) -> str:
    """Say in which stages it was trained before this one; empty for a training of one stage."""
    told = [f"{stage.steps:,} steps on {_pools(stage)}" for stage in earlier]
    return (
        f"That was stage {len(told) + 1}; each began with the weights that the one before had kept, after"
        f" {', then '.join(told)}."
        if told
        else ""
    )


def _pools(config: TrainingConfig) -> str:
    """How many different trials of each paradigm there were."""
    names = dict.fromkeys(Path(task.paradigm).stem for task in config.tasks)
    return ", ".join(f"{_pool(config, name):,} trials of {name}" for name in names)


def remade(config: TrainingConfig, why: str, staged: bool = False) -> str:
    """Say why the command alone does not make a network again; empty where it does.

    Parameters
    ----------
    why : the training ended
    staged : whether what it starts from is an earlier stage of the same training
    """
    reasons = []
    if config.start_from is not None and config.start_from not in shipped() and not staged:
        reasons.append(f"it starts from `{Path(config.start_from).name}`, which has to be trained first")
    if why.startswith("the time limit"):
        reasons.append("a limit of time ended its training, so that it ends at another step on another machine")
    return f"**The command alone does not make it again**: {', and '.join(reasons)}." if reasons else ""


def _recipe(config: TrainingConfig) -> str:
    """Return how it was trained, by the names of the settings."""
    by_phase = [Path(task.paradigm).stem for task in config.tasks if task.loss_over == "phases"]
    phases = f" The loss of {', '.join(by_phase)} is the mean over phases." if by_phase else ""
    return (
        f"Loss {config.loss}, schedule {config.schedule}, validation {config.validation}, selection"
        f" {config.selection}.{phases}"
    )


def _pool(config: TrainingConfig, name: str) -> int:
    return sum(task.train_trials for task in config.tasks if Path(task.paradigm).stem == name)
