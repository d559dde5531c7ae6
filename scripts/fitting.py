"""Measures how the parameters of cognitive models come back, how often their intervals hold them, and which models are told apart; for docs/fitting.md.

python scripts/fitting.py            rewrites the tables between its markers (about half an hour)
python scripts/fitting.py report     only prints those of one kind of answers
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "helpers" / "data"))

from fitting_designs import design  # noqa: E402

from spanlab.extensions.fitting.comparing import Fitted, Recovery, recover  # noqa: E402
from spanlab.extensions.fitting.likelihood import Fit, Space, single_thread  # noqa: E402
from spanlab.extensions.fitting.models import Model, models_named  # noqa: E402
from spanlab.extensions.fitting.reading import Answerer  # noqa: E402
from spanlab.extensions.fitting.trials import Kind  # noqa: E402

SIZES = (100, 300, 1000)
SIMULATED = 60
#: Models that are held against one another: their kind of answers, how many different ones there are, and their names.
GROUPS: dict[str, tuple[Kind, int, tuple[str, ...]]] = {
    "report": ("report", 2, ("slots", "slots-averaging", "resource", "vp")),
    "report with swaps": ("report", 2, ("slots+swaps", "resource+swaps", "vp+swaps")),
    "change": ("change", 2, ("slots", "resource", "vp")),
    "detection": ("detection", 2, ("sdt", "sdt-shared", "threshold")),
    "detection with ratings": ("detection", 6, ("sdt", "sdt-unequal")),
    "order": ("order", 2, ("simple", "primacy", "m3")),
}
BEGIN, END = "<!-- measured by scripts/fitting.py -->\n", "<!-- end of what scripts/fitting.py measured -->\n"


def planted(models: Sequence[Model], kind: Kind, levels: int, size: int, number: int) -> list[Fitted]:
    """The models with parameters drawn from their priors, as if these had been fitted to somebody."""
    trials, random = design(kind, size, number, levels), np.random.RandomState([9, number])
    answerer, fits = Answerer(kind, f"P{number}", True, trials), []
    for model in models:
        space = Space.of(model, trials)
        lower, upper = (np.array(side) for side in zip(*space.bounds, strict=True))
        at = np.clip([p.to_scale(p.typical) + p.spread * random.normal() for p, _ in space.places], lower, upper)
        fits.append(Fitted(answerer, Fit(model, space, at, 0.0, len(trials)), {}, np.zeros(len(trials))))
    return fits


def measured(kind: Kind, levels: int, names: Sequence[str], size: int) -> Recovery:
    models = [model for name in names for model in models_named(name, kind)]
    return recover([planted(models, kind, levels, size, number) for number in range(SIMULATED)], SIMULATED, seed=size, coverage=True)


def tables(kind: str) -> str:
    """The tables of a kind of answers."""
    of, levels, names = GROUPS[kind]
    sizes = {size: measured(of, levels, names, size) for size in SIZES}
    head = "| model | parameter |" + "".join(f" r, {size} | median error | coverage |" for size in SIZES)
    lines = [f"### {kind[0].upper()}{kind[1:]}", "", head, "| --- " * (2 + 3 * len(SIZES)) + "|"]
    for rows in zip(*(recovery.parameters for recovery in sizes.values()), strict=True):
        cells = "".join(f" {row.correlation:.2f} | {row.error:.2g} | {row.coverage:.0%} |" for row in rows)
        lines.append(f"| `{rows[0].model}` | `{rows[0].parameter}` |{cells}")
    shares = {size: np.mean([row.coverage for row in recovery.parameters]) for size, recovery in sizes.items()}
    lines += ["", "All intervals: " + ", ".join(f"{share:.1%} at {size} answers" for size, share in shares.items()) + ".", ""]
    lines += ["| simulated from |" + "".join(f" taken for `{name}` |" for name in names), "| --- " * (1 + len(names)) + "|"]
    for at, name in enumerate(names):
        cells = [" / ".join(f"{recovery.confusion()[at, other]:.0%}" for recovery in sizes.values()) for other in range(len(names))]
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", ""])


def main() -> None:
    with single_thread():
        if sys.argv[1:]:
            print("\n".join(tables(kind) for kind in sys.argv[1:]))
            return
        made = "\n".join(tables(kind) for kind in GROUPS)
    page = ROOT / "docs" / "fitting.md"
    text = page.read_text(encoding="utf-8")
    before, after = text[: text.index(BEGIN) + len(BEGIN)], text[text.index(END) :]
    page.write_text(f"{before}\n{made}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
