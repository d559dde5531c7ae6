"""Measures how the parameters of cognitive models come back, how often their intervals hold them,
and which models are told apart; for scripts/fidelity/recovery.md.

python scripts/fitting.py measure -o runs/fitting            all kinds of answers; continues where it was stopped (hours on one core)
python scripts/fitting.py measure report -o runs/fitting     those of one kind
python scripts/fitting.py intervals report -o runs/fitting   simulates answerers of a kind and fits only the model that they come from
python scripts/fitting.py write -o runs/fitting              rewrites the tables of scripts/fidelity/recovery.md
python scripts/fitting.py networks -o runs/fitting           prints the fits of a network with noise, without recovery
"""  # noqa: E501

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "helpers" / "data"))

from fitting_designs import design  # noqa: E402

import spanlab  # noqa: E402
from spanlab.analysis.data import load  # noqa: E402
from spanlab.extensions.fitting.comparing import Fitted, Recovery, Refit, fit_all, predicts, refit  # noqa: E402
from spanlab.extensions.fitting.likelihood import Fit, Space, single_thread  # noqa: E402
from spanlab.extensions.fitting.models import Model, models_named  # noqa: E402
from spanlab.extensions.fitting.reading import Answerer, answerers  # noqa: E402
from spanlab.extensions.fitting.trials import Kind  # noqa: E402

SIZES = (100, 300, 1000)
#: Answerers that are simulated from each model at each size: fewer where a likelihood takes long.
SIMULATED = {
    "report": 50,
    "report with swaps": 30,
    "change": 60,
    "detection": 200,
    "detection with ratings": 120,
    "order": 200,
    "updating": 200,
}
#: Models that are held against one another: their kind of answers, how many different ones there
#: are, and their names.
GROUPS: dict[str, tuple[Kind, int, tuple[str, ...]]] = {
    "report": ("report", 2, ("slots", "slots-averaging", "resource", "vp")),
    "report with swaps": ("report", 2, ("slots+swaps", "resource+swaps", "vp+swaps")),
    "change": ("change", 2, ("slots", "resource", "vp")),
    "detection": ("detection", 2, ("sdt", "sdt-shared", "threshold")),
    "detection with ratings": ("detection", 6, ("sdt", "sdt-unequal")),
    "order": ("order", 2, ("simple", "primacy", "m3")),
    "updating": ("updating", 2, ("m3",)),
}
#: A network with noise in its memory, and the models that are fitted to its answers in a paradigm.
NOISY = "network:laptop@40%"
NETWORKS = {"vsr": ("simple", "primacy", "m3")}
BEGIN, END = "<!-- measured by scripts/fitting.py -->\n", "<!-- end of what scripts/fitting.py measured -->\n"


def planted(model: Model, kind: Kind, levels: int, size: int, number: int) -> Fitted:
    """A model with parameters drawn from its prior, as if these had been fitted to somebody."""
    trials, random = design(kind, size, number, levels), np.random.RandomState([9, number])
    space = Space.of(model, trials)
    lower, upper = (np.array(side) for side in zip(*space.bounds, strict=True))
    at = np.clip([p.to_scale(p.typical) + p.spread * random.normal() for p, _ in space.places], lower, upper)
    return Fitted(
        Answerer(kind, f"P{number}", True, trials), Fit(model, space, at, 0.0, len(trials)), {}, np.zeros(len(trials))
    )


def stored(file: Path) -> dict[tuple[str, int, int], Refit]:
    """The simulated answerers that a file holds, by model, size and number; a line that an
    interruption cut off is left out."""
    found = {}
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else []:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        again = row["refit"]
        values = {name: tuple(numbers) for name, numbers in again["parameters"].items()}
        found[again["model"], row["size"], row["number"]] = Refit(again["model"], tuple(again["aicc"]), values)
    return found


def file_of(folder: Path, group: str, alone: bool = False) -> Path:
    """The file of a group's simulated answerers; that of those whose own model alone was fitted."""
    return folder / f"{group.replace(' ', '-')}{'.intervals' if alone else ''}.jsonl"


def measure(folder: Path, group: str, alone: bool = False) -> None:
    """Simulate and refit the answerers of a group that its file lacks, one line for each.

    Parameters
    ----------
    alone : whether only the model is fitted that an answerer comes from, which says nothing of
        other models
    """
    kind, levels, names = GROUPS[group]
    models = [model for name in names for model in models_named(name, kind)]
    file = file_of(folder, group, alone)
    there = stored(file_of(folder, group)) | stored(file)
    with file.open("a", encoding="utf-8") as lines:
        for number in range(SIMULATED[group]):
            for size in SIZES:
                for at, model in enumerate(models):
                    if (model.name, size, number) not in there:
                        random = np.random.RandomState([size, at, number])
                        again = refit(
                            [model] if alone else models,
                            planted(model, kind, levels, size, number),
                            random,
                            coverage=True,
                        )
                        lines.write(json.dumps({"size": size, "number": number, "refit": asdict(again)}) + "\n")
                        lines.flush()


def recoveries(folder: Path, group: str) -> dict[int, Recovery]:
    """The recovery at each size, from the answerers that were simulated of every model; empty where
    there are none yet."""
    names = GROUPS[group][2]
    there = stored(file_of(folder, group))
    whole = [
        number
        for number in range(SIMULATED[group])
        if all((name, size, number) in there for name in names for size in SIZES)
    ]
    return {
        size: Recovery.of(names, [there[name, size, number] for name in names for number in whole])
        for size in SIZES
        if whole
    }


def tables(folder: Path, group: str) -> str:
    """The tables of a group."""
    names = GROUPS[group][2]
    sizes = recoveries(folder, group)
    simulated = next(iter(sizes.values())).aicc.shape[1]
    head = "| model | parameter |" + "".join(f" r, {size} | median error | coverage |" for size in SIZES)
    lines = [f"### {group[0].upper()}{group[1:]}", "", f"{simulated} simulated answerers of each model and size.", ""]
    lines += [head, "| --- " * (2 + 3 * len(SIZES)) + "|"]
    for rows in zip(*(recovery.parameters for recovery in sizes.values()), strict=True):
        cells = "".join(
            f" {row.correlation:.2f} | {row.error:.2g} | {'' if np.isnan(row.coverage) else f'{row.coverage:.0%}'} |"
            for row in rows
        )
        lines.append(f"| `{rows[0].model}` | `{rows[0].parameter}` |{cells}")
    if any(np.isnan(row.coverage) for recovery in sizes.values() for row in recovery.parameters):
        lines += ["", "Coverage was not measured by this procedure for all of these answerers, and is left empty."]
    else:
        lines += [
            "",
            (
                "Share of all intervals of a model that hold the planted value, with its standard error and the number"
                " of answerers:"
            ),
            "",
        ]
        lines += [
            "| model |" + "".join(f" {size} answers |" for size in SIZES) + " all |",
            "| --- " * (2 + len(SIZES)) + "|",
        ]
        lines += [
            f"| `{name}` |"
            + "".join(f" {covered(folder, group, name, some)} |" for some in (*((size,) for size in SIZES), SIZES))
            for name in names
        ]
    return "\n".join([*lines, *(confusion(sizes, names) if len(names) > 1 else ()), "", ""])


def confusion(sizes: Mapping[int, Recovery], names: Sequence[str]) -> list[str]:
    """The lines of a table that says which model is taken for which, at each size."""
    lines = [
        "",
        "| simulated from |" + "".join(f" taken for `{name}` |" for name in names),
        "| --- " * (1 + len(names)) + "|",
    ]
    for at, name in enumerate(names):
        cells = [
            " / ".join(f"{recovery.confusion()[at, other]:.0%}" for recovery in sizes.values())
            for other in range(len(names))
        ]
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    return lines


def covered(folder: Path, group: str, name: str, sizes: Sequence[int]) -> str:
    """The share of a model's intervals that hold the planted value, its standard error, and the
    number of answerers, who are independent; their parameters are not."""
    there = stored(file_of(folder, group)) | stored(file_of(folder, group, alone=True))
    refits = [one for (model, size, _), one in there.items() if model == name and size in sizes]
    shares = np.array([np.mean([values[4] for values in one.parameters.values()]) for one in refits])
    return f"{shares.mean():.1%} ± {shares.std(ddof=1) / len(shares) ** 0.5:.1%} ({len(shares)})"


def write(folder: Path) -> None:
    """Rewrite the tables of the page; those of kinds of answers that were not measured stay as they
    are."""
    page = ROOT / "scripts" / "fidelity" / "recovery.md"
    text = page.read_text(encoding="utf-8")
    before, tables_before, after = (
        text[: text.index(BEGIN) + len(BEGIN)],
        text[text.index(BEGIN) + len(BEGIN) : text.index(END)],
        text[text.index(END) :],
    )
    kept = {part.split("\n", 1)[0]: f"### {part.strip()}\n\n" for part in tables_before.split("### ")[1:]}
    made = [
        tables(folder, group) if recoveries(folder, group) else kept.get(group[0].upper() + group[1:], "")
        for group in GROUPS
    ]
    page.write_text(f"{before}\n" + "\n".join(filter(None, made)) + after, encoding="utf-8")


def networks(folder: Path) -> None:
    """Print what models say of a network with noise in its memory; its sessions are kept."""
    for paradigm, names in NETWORKS.items():
        data = folder / paradigm
        if not data.exists():
            spanlab.replay(paradigm, agent=NOISY, trials=600, seed=11, data=data)
        (network,), _ = answerers(load([data]))
        fits = fit_all([model for name in names for model in models_named(name, network.trials.kind)], network, seed=1)
        print(f"{paradigm}: {len(network.trials)} answers")
        for one in fits:
            values = (
                f"{name} {value:.4g} ({one.ends[name][0]:.4g} to {one.ends[name][1]:.4g})"
                for name, value in one.fit.values.items()
            )
            print(
                f"  {one.fit.model.name}: {', '.join(values)}; log likelihood {one.fit.log_likelihood:.1f}, held out"
                f" {np.nansum(one.held):.1f}"
            )
        print("  " + "\n  ".join(predicts([fits], NOISY)), flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("do", choices=["measure", "intervals", "write", "networks"])
    parser.add_argument("groups", nargs="*", metavar="GROUP", help="kinds of answers; all when not given")
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder of what was measured")
    chosen = parser.parse_args(arguments)
    chosen.output.mkdir(parents=True, exist_ok=True)
    if chosen.do == "write":
        write(chosen.output)
        return
    with single_thread():
        if chosen.do == "networks":
            networks(chosen.output)
            return
        for group in chosen.groups or GROUPS:
            measure(chosen.output, group, alone=chosen.do == "intervals")


if __name__ == "__main__":
    main()
