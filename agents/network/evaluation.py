"""How well a network does on trials that it was not trained on, beside what guessing gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .data import Block, Pool

if TYPE_CHECKING:
    from .models import Network

#: Trials that go through the network together.
_BATCH = 64


@dataclass(frozen=True, slots=True)
class Row:
    """Accuracy in one combination of factor levels.

    Parameters
    ----------
    paradigm, levels : which
    trials, items : how many were scored
    accuracy, se : mean over trials of the share of items that was right, and its standard error
    chance : what a uniformly random allowed answer gives
    blind : what always giving the best fixed answer gives; the answer is chosen on training trials and scored on these
    """

    paradigm: str
    levels: dict[str, Any]
    trials: int
    items: int
    accuracy: float
    se: float
    chance: float
    blind: float

    def as_json(self) -> dict[str, Any]:
        values = asdict(self)
        return {key: (round(value, 4) if value == value else None) if isinstance(value, float) else value for key, value in values.items()}


def evaluate(network: Network, pool: Pool, training: Pool | None = None) -> list[Row]:
    """Accuracy for each combination of factor levels of a pool that kept its questions.

    Parameters
    ----------
    training : the training trials of the same paradigm, from whose answers the best blind guess is chosen; ``blind`` is nan without
    """
    import torch

    from .learning import logits_of

    device = next(network.parameters()).device
    guesses = {} if training is None else {tuple(block.levels.items()): frequencies(block, training.view.head) for block in training.blocks}
    rows = []
    for block in pool.blocks:
        parts = []
        with torch.inference_mode():
            for start in range(0, len(block.frames), _BATCH):
                parts.append(logits_of(network, block.task, pool.store.frames(), block.frames[start : start + _BATCH], device).cpu().numpy())
        logits = np.concatenate(parts)
        rows.append(_row(pool, block, logits, guesses.get(tuple(block.levels.items()))))
    return rows


def frequencies(block: Block, head: int) -> np.ndarray:
    """How often each output was wanted: (head,) numbers from 0 to 1."""
    wanted = block.targets[block.trained]
    if wanted.ndim == 2:
        return wanted.mean(0)
    return np.bincount(wanted, minlength=head)[:head] / max(1, len(wanted))


def _row(pool: Pool, block: Block, logits: np.ndarray, guess: np.ndarray | None) -> Row:
    view = pool.view
    everywhere = view.readout == "all_classes"
    right: list[float] = []
    blind: list[float] = []
    chances: list[float] = []
    items = 0
    # Outputs that are the (log) frequencies of the answers are the best blind guess, read out like a network's.
    blind_logits = None if guess is None else (guess - 0.5 if len(guess) == 1 else np.log(guess + 1e-9))
    for row, questions in enumerate(block.questions):
        scores: list[bool] = []
        blind_scores: list[bool] = []
        for step, ask, correct in questions:
            kind = ask.kind
            scores += scored(kind, kind.from_logits(logits[row, step], ask.classes, all_classes=everywhere), correct)
            if blind_logits is not None:
                blind_scores += scored(kind, kind.from_logits(blind_logits, ask.classes, all_classes=everywhere), correct)
            chances.append(kind.chance())
        right.append(float(np.mean(scores)))
        items += len(scores)
        if blind_scores:
            blind.append(float(np.mean(blind_scores)))
    se = float(np.std(right, ddof=1) / np.sqrt(len(right))) if len(right) > 1 else float("nan")
    return Row(
        paradigm=pool.paradigm.name,
        levels=dict(block.levels),
        trials=len(right),
        items=items,
        accuracy=float(np.mean(right)),
        se=se,
        chance=float(np.mean(chances)),
        blind=float(np.mean(blind)) if blind else float("nan"),
    )


def scored(kind: Any, answer: Any, correct: Any) -> list[bool]:
    """Whether each asked item was right; intrusions are no items."""
    return [score.correct for score in kind.score(answer, correct) if score.correct_answer is not None]


def mean_accuracy(rows: Sequence[Row]) -> float:
    """Mean over combinations of factor levels."""
    return float(np.mean([row.accuracy for row in rows]))


def as_markdown(rows: Sequence[Row]) -> str:
    """A table per paradigm."""
    parts = []
    for paradigm in dict.fromkeys(row.paradigm for row in rows):
        own = [row for row in rows if row.paradigm == paradigm]
        names = list(own[0].levels) or ["condition"]
        lines = [
            f"### {paradigm}",
            "",
            "| " + " | ".join(name.replace("_", " ") for name in names) + " | accuracy | s.e. | best blind guess | chance | trials |",
            "|" + "---|" * (len(names) + 5),
        ]
        for row in own:
            levels = [str(row.levels.get(name, "all")) for name in names]
            lines.append(
                "| " + " | ".join([*levels, f"**{row.accuracy:.3f}**", f"{row.se:.3f}", f"{row.blind:.3f}", f"{row.chance:.3f}", str(row.trials)]) + " |"
            )
        means = [float(np.mean([getattr(row, key) for row in own])) for key in ("accuracy", "blind", "chance")]
        lines.append(
            "| "
            + " | ".join(
                ["mean", *[""] * (len(names) - 1), f"**{means[0]:.3f}**", "", f"{means[1]:.3f}", f"{means[2]:.3f}", str(sum(row.trials for row in own))]
            )
            + " |"
        )
        parts.append("\n".join(lines))
    return "\n\n".join(parts)
