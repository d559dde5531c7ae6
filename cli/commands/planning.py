"""``spanlab plan`` and ``spanlab methods``: how many people and trials a study needs, and a draft of its Methods section. Part of the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...api import read_rules
from ...core.atomic_files import write_whole
from ...core.errors import SpanLabError
from ...core.version import __version__
from ..exclusion_file import ExcludeOption
from ..options import progress_bar
from .analysing import DATA_HELP, MarginOption, PilotOption, PracticeOption
from .listing import print_table

if TYPE_CHECKING:
    import pandas as pd

    from ...analysis.data.exclusions import Rule
    from ...analysis.stats.margins import Margin
    from ...analysis.stats.power import Assumed

#: Standard deviations (log odds) that are taken where neither data nor options tell them; said whenever they are.
_SD_PEOPLE, _SD_EFFECT = 0.6, 0.2


def plan(
    data: Annotated[list[Path] | None, typer.Argument(help=f"your own data, as the source of spread and accuracy: {DATA_HELP}", metavar="[DATA...]")] = None,
    people: Annotated[str, typer.Option("--people", help="numbers of people, in each group with --between", metavar="N,N,...")] = "8,12,16,24,32",
    trials: Annotated[str, typer.Option("--trials", help="numbers of trials per person and condition", metavar="N,N,...")] = "24,48",
    accuracy: Annotated[str, typer.Option("--accuracy", help="share of right answers in the first condition, such as 75%", metavar="SHARE")] = "",
    difference: Annotated[str, typer.Option("--difference", help="the second condition minus the first, such as -5points", metavar="POINTS")] = "",
    sd_people: Annotated[float | None, typer.Option("--sd-people", help="standard deviation of people, in log odds", metavar="SD", show_default=False)] = None,
    sd_effect: Annotated[
        float | None, typer.Option("--sd-effect", help="standard deviation of the effect over people, in log odds", metavar="SD", show_default=False)
    ] = None,
    sd_item: Annotated[float | None, typer.Option("--sd-item", help="standard deviation of items, in log odds", metavar="SD", show_default=False)] = None,
    items: Annotated[int | None, typer.Option("--items", help="items asked per trial", metavar="N", min=1, show_default=False)] = None,
    between: Annotated[bool, typer.Option("--between", help="two groups of people, one in each condition; by default everybody has both")] = False,
    paradigm: Annotated[str, typer.Option("--paradigm", help="the paradigm of the data, if there are several", metavar="NAME")] = "",
    by: Annotated[str, typer.Option("--by", help="column of conditions in the data; chosen automatically by default", metavar="COLUMN")] = "",
    conditions: Annotated[str, typer.Option("--conditions", help="two conditions of that column; by default the first and the last", metavar="A,B")] = "",
    wanted: Annotated[float, typer.Option("--power", help="desired power", min=0.01, max=0.99, metavar="SHARE")] = 0.8,
    margin: MarginOption = None,
    samples: Annotated[int, typer.Option("--samples", help="simulated studies for each number of people and trials", metavar="N")] = 2000,
    seed: Annotated[int, typer.Option("--seed", help="seed of the simulation", min=0)] = 1,
    exclude: ExcludeOption = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="folder for plan.csv, plan.svg, plan.pdf and plan.json", metavar="DIR")] = None,
) -> None:
    """Simulate how likely a study is to find a difference between two conditions, for numbers of people and trials."""
    from ...analysis.stats.margins import read_margins
    from ...analysis.stats.power import power, smallest

    margins = read_margins(margin or ())
    if any(one.unit != "points" for one in margins):
        raise SpanLabError("spanlab plan simulates shares of right answers: its --margin is in percentage points, such as 5points")
    assumed, notes = _assumed(data or [], paradigm, by, conditions, accuracy, difference, exclude, between, sd_people, sd_effect, sd_item, items)
    numbers = _numbers(people, "--people"), _numbers(trials, "--trials")
    print(assumed.words, *notes, "", sep="\n")
    declared = margins[0] if margins else None
    with progress_bar("simulated studies") as tell:
        table = power(assumed, *numbers, samples=samples, seed=seed, margin=declared.scaled if declared else None, tell=tell)

    def share(value: float, error: float) -> str:
        return f"{value:.1%} ± {error:.1%}"

    rows = []
    for row in table.to_dict("records"):
        alike = (share(row["alike"], row["alike_se"]),) if declared else ()
        rows.append((str(row["people"]), str(row["trials"]), share(row["power"], row["se"]), *alike, share(row["size"], row["size_se"])))
    group = "people in each group" if between else "people"
    heads = (group, "trials in each condition", "power", *([f"alike within {declared.words}"] if declared else []), "where there is no difference")
    print_table(heads, rows)
    print(f"\nShares of {samples:,} simulated studies (seed {seed}) with one standard error. The test is a two-tailed t test at 5% of")
    print("people's shares; where there is no difference it should find one in 5% of studies, and in fewer near 0% and 100%.\n")
    print(*smallest(table, wanted), sep="\n")
    if output is not None:
        _write(output, table, assumed, notes, wanted, group, seed, samples)


def methods(
    data: Annotated[list[str], typer.Argument(help=f"{DATA_HELP}; with --preregistration a paradigm, its file, or the file of a study", metavar="DATA...")],
    preregistration: Annotated[
        bool, typer.Option("--preregistration", help="write the text of a preregistration instead, from a paradigm or a study; gaps to fill in are marked")
    ] = False,
    by: Annotated[str | None, typer.Option("--by", help="column of conditions of the models, as for spanlab stats", metavar="COLUMN")] = None,
    margin: MarginOption = None,
    exclude: ExcludeOption = None,
    practice: PracticeOption = False,
    pilot: PilotOption = False,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="write it to this file (Markdown)", metavar="FILE")] = None,
) -> None:
    """Write the Methods section of data from their record: paradigm, trials, timing, models, exclusions, scores, tests, versions, references."""
    from ...analysis.stats.margins import read_margins

    margins, rules = read_margins(margin or ()), read_rules(exclude)
    if preregistration:
        from ..preregistration import preregistration as text_of

        if len(data) != 1:
            raise SpanLabError("--preregistration takes one paradigm or one study; several paradigms are named in a study file")
        for option, given in (("--by", by is not None), ("--practice", practice), ("--pilot", pilot)):
            if given:
                raise SpanLabError(f"{option} is about data; a preregistration is made from a paradigm or a study alone")
        text = text_of(data[0], rules, exclude, margins)
    else:
        text = _methods_of([Path(one) for one in data], rules, practice, pilot, margins, by)
    if output is None:
        print(text, end="")
        return
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        write_whole(output, text.encode())
    except OSError as error:
        raise SpanLabError(f"cannot write {output}: {error.strerror or error}") from None
    print(output)


def _methods_of(paths: list[Path], rules: tuple[Rule, ...], practice: bool, pilot: bool, margins: tuple[Margin, ...], by: str | None) -> str:
    from ...analysis.data.loading import load, tables_and_folders
    from ...analysis.data.sessions import heads
    from ...analysis.report.methods import methods as text_of

    loaded = load(paths, include_practice=practice, include_pilot=pilot, rules=rules)
    if not loaded.scored.parts:
        raise SpanLabError("nothing is left to describe" + (": " + " ".join(loaded.scored.notes) if loaded.scored.notes else ""))
    folders = tables_and_folders(paths)[1]
    return text_of(loaded, heads(folders)[0] if folders else [], margins, by, [*(["practice"] if practice else []), *(["pilot"] if pilot else [])])


def _assumed(
    data: list[Path],
    paradigm: str,
    by: str,
    conditions: str,
    accuracy: str,
    difference: str,
    exclude: Path | None,
    between: bool,
    sd_people: float | None,
    sd_effect: float | None,
    sd_item: float | None,
    items: int | None,
) -> tuple[Assumed, list[str]]:
    """What is simulated, and where it comes from, in sentences."""
    from dataclasses import replace

    from ...analysis.stats.power import Assumed

    change = _share(difference, "--difference", "-5points") if difference else None
    given = {"people": sd_people, "effect": sd_effect, "item": sd_item, "items": items}
    stated = {name: value for name, value in given.items() if value is not None}
    if not data:
        if not accuracy or change is None:
            raise SpanLabError(
                "what is to be simulated? Give data of your own (spanlab plan DATA), or both --accuracy 75% and --difference -5points (or other numbers)"
            )
        for name, value in (("paradigm", paradigm), ("by", by), ("conditions", conditions), ("exclude", exclude)):
            if value:
                raise SpanLabError(f"--{name} is about data, and none are named")
        taken = {"people": _SD_PEOPLE, "effect": _SD_EFFECT}
        silent = {"people": "of people", "effect": "of the effect over people"}
        notes = [
            f"Taken, since nothing tells it: a standard deviation {silent[name]} of {value:g} in log odds (--sd-{name}). Data of your own would tell."
            for name, value in taken.items()
            if name not in stated
        ]
        return Assumed(accuracy=_share(accuracy, "--accuracy", "75%"), difference=change, between=between, **{**taken, **stated}), notes
    found, name, notes = _fitted(data, paradigm, by, conditions, change, exclude, between)
    found = replace(found, **stated)
    if accuracy:
        found = replace(found, accuracy=_share(accuracy, "--accuracy", "75%"))
    sentences = (
        [f"Accuracy and spread are those of the data ({name}); options given in their place count."] if stated or accuracy else [f"From the data: {name}."]
    )
    if change is None:
        sentences.append(
            f"The difference is the one that was seen, {100 * found.difference:+.1f} points. Where it is studied because it was found, it is more likely too "
            "large than too small: --difference plants the smallest that would matter."
        )
    return found, [*sentences, *notes]


def _fitted(
    data: list[Path], paradigm: str, by: str, conditions: str, change: float | None, exclude: Path | None, between: bool
) -> tuple[Assumed, str, list[str]]:
    from ...analysis.data.loading import load
    from ...analysis.stats.mixed_model import mixed_model
    from ...analysis.stats.power import from_model
    from ...core.registry import nearest

    loaded = load(data, rules=read_rules(exclude))
    there = sorted(loaded.scored.parts)
    name = paradigm or (there[0] if len(there) == 1 else "")
    if not name:
        raise SpanLabError(f"these data have several paradigms; choose one with --paradigm: {', '.join(there)}" if there else "nothing is left to plan from")
    if name not in there:
        raise SpanLabError(f"there are no scored answers to '{name}' in these data{nearest(name, there)}")
    model = mixed_model(loaded.scored, name, by or None)
    picked = [one.strip() for one in conditions.split(",") if one.strip()]
    found = from_model(model, loaded.scored.parts[name], picked, change, between)
    left = [] if loaded.exclusions is None else ["Left out by rule:", *(f"  {note}" for note in loaded.exclusions.notes)]
    return found, f"{name}, {model.cells.formula}", left


def _numbers(text: str, option: str) -> list[int]:
    """``8,12,16`` as whole numbers, each once, the smallest first."""
    try:
        found = sorted({int(one) for one in text.split(",") if one.strip()})
    except ValueError:
        found = []
    if not found or found[0] < 1:
        raise SpanLabError(f"{option} takes whole numbers from 1 with commas between them, such as 8,12,16; found '{text}'")
    return found


def _share(text: str, option: str, such: str) -> float:
    """``75%``, ``-5points`` or ``0.75`` as a share."""
    match = re.fullmatch(r"\s*([+\-−]?)([0-9]*[.,]?[0-9]+)\s*(%|points?|pp)?\s*", text)
    if match is None:
        raise SpanLabError(f"{option} takes a number such as {such}; found '{text}'")
    value = float(match[2].replace(",", ".")) * (-1 if match[1] in ("-", "−") else 1)
    if match[3] is None and abs(value) > 1:
        raise SpanLabError(f"{option} {text}: percent, or a share from 0 to 1? Write {such}")
    return value / 100 if match[3] else value


def _write(output: Path, table: pd.DataFrame, assumed: Assumed, notes: list[str], wanted: float, group: str, seed: int, samples: int) -> None:
    from dataclasses import asdict

    from ...analysis.figures.charts import save_as
    from ...analysis.figures.power_chart import power_chart

    plan = {"spanlab": __version__, "seed": seed, "samples": samples, "power": wanted, **asdict(assumed), "notes": notes}
    try:
        output.mkdir(parents=True, exist_ok=True)
        table.to_csv(output / "plan.csv", index=False)
        write_whole(output / "plan.json", (json.dumps(plan, indent=2, ensure_ascii=False) + "\n").encode())
    except OSError as error:
        raise SpanLabError(f"cannot write {output}: {error.strerror or error}") from None
    change = f"{100 * assumed.difference:+.1f}".replace("-", "−")
    title = f"Power to find {change} points from {assumed.accuracy:.0%}"
    below = f"Two-tailed t test at 5%, {samples:,} simulated studies each, bars: ± one standard error of the simulation."
    below += f"\nTrials are those in each condition. Dotted: {wanted:.0%}."
    below += " Dashed: how often both are found alike within the margin." if table["alike"].notna().any() else ""
    spec = power_chart(table, title=title, subtitle=below, wanted=wanted, people=group)
    print()
    for path in (output / "plan.csv", output / "plan.json", *(save_as(spec, output / f"plan{ending}") for ending in (".svg", ".pdf"))):
        print(path)
