"""How many people and trials a study needs, and a draft of its Methods section."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import typer
from typing_extensions import Unpack

from spanlab.api import (
    DATA_HELP,
    ExcludeOption,
    PathLike,
    Paths,
    Reading,
    RecipeOption,
    Result,
    as_path,
    cautions,
    loaded,
    paths,
    progress_bar,
    public,
    read_rules,
    table_lines,
    words,
)
from spanlab.api.analysing import MarginOption
from spanlab.api.options import part
from spanlab.core import SpanLabError, __version__, nearest, write_whole, written_in

if TYPE_CHECKING:
    import pandas as pd

    from spanlab.analysis import Margin, Measured
    from spanlab.analysis.data import Data

    from .power import Planned

#: What is taken where neither data nor options tell it, for each value; said whenever it is.
_TAKEN: dict[str, dict[str, float]] = {
    "correct": {"people": 0.6, "effect": 0.3},
    "d_prime": {"people": 0.5, "effect": 0.3, "criterion": 0.0, "criterion_people": 0.3},
    "rt_ms": {"people": 120.0, "effect": 40.0, "trial": 250.0, "tau": 150.0, "accuracy": 1.0},
}
_UNITS: dict[str, tuple[Measured, str]] = {
    "correct": ("points", "in log odds"),
    "d_prime": ("d′", "in units of d′"),
    "rt_ms": ("ms", "in ms"),
}
#: what is simulated of each person and condition, where it is no trial of maybe several questions
_COUNTED = {"d_prime": "answer", "rt_ms": "answer"}
_CALLED = {"correct": "shares of right answers", "d_prime": "d′", "rt_ms": "reaction times"}
_TESTED = {
    "correct": (
        "people's shares; where there is no difference it should find one in 5% of studies, and in fewer near 0% and"
        " 100%."
    ),
    "d_prime": (
        "people's d′ (half an answer added to each count); where there is no difference it should find one in 5% of"
        " studies."
    ),
    "rt_ms": (
        "people's mean times of correct answers; where there is no difference it should find one in 5% of studies."
    ),
}
#: Options of one value alone: what they are called, and what they set.
_ONLY: dict[str, dict[str, str]] = {
    "correct": {"item": "--sd-item", "items": "--items", "shared": "--shared"},
    "d_prime": {
        "d_prime": "--d-prime",
        "criterion": "--criterion",
        "criterion_people": "--sd-criterion",
        "signals": "--signals",
        "forced": "--forced-choice",
    },
    "rt_ms": {"rt": "--rt", "trial": "--sd-trial", "tau": "--tau"},
}
#: What the options of a plan set.
_SET = {
    "sd_people": "people",
    "sd_effect": "effect",
    "sd_item": "item",
    "sd_criterion": "criterion_people",
    "sd_trial": "trial",
    "forced_choice": "forced",
}
_MEANINGS = {
    "people": "a standard deviation of people of",
    "effect": "a standard deviation of the effect over people of",
    "criterion": "a mean criterion of",
    "criterion_people": "a standard deviation of the criterion over people of",
    "trial": "a standard deviation of single times of",
    "tau": "an exponential part of single times (tau) of",
}


class Assumptions(TypedDict, total=False):
    """What a plan assumes where its data do not tell it, and how these are read."""

    exclude: ExcludeOption
    recipe: RecipeOption
    accuracy: Annotated[
        str,
        typer.Option(
            "--accuracy",
            help="share of right answers in the first condition, such as 75%; of reaction times in both",
            metavar="SHARE",
        ),
    ]
    d_prime: Annotated[
        float | None,
        typer.Option(
            "--d-prime", help="d′ in the first condition, with --value d_prime", metavar="D", show_default=False
        ),
    ]
    rt: Annotated[
        float | None,
        typer.Option(
            "--rt",
            help="mean reaction time in the first condition, with --value rt_ms",
            metavar="MS",
            show_default=False,
        ),
    ]
    sd_people: Annotated[
        float | None,
        typer.Option(
            "--sd-people", help="standard deviation of people, in log odds, d′ or ms", metavar="SD", show_default=False
        ),
    ]
    sd_effect: Annotated[
        float | None,
        typer.Option(
            "--sd-effect",
            help="standard deviation of the effect over people, in log odds, d′ or ms",
            metavar="SD",
            show_default=False,
        ),
    ]
    sd_item: Annotated[
        float | None,
        typer.Option("--sd-item", help="standard deviation of items, in log odds", metavar="SD", show_default=False),
    ]
    shared: Annotated[bool, typer.Option("--shared", help="everybody takes the same trials, as with one fixed seed")]
    items: Annotated[
        int | None, typer.Option("--items", help="items asked per trial", metavar="N", min=1, show_default=False)
    ]
    criterion: Annotated[
        float | None, typer.Option("--criterion", help="d_prime: mean criterion", metavar="C", show_default=False)
    ]
    sd_criterion: Annotated[
        float | None,
        typer.Option(
            "--sd-criterion",
            help="d_prime: standard deviation of the criterion over people",
            metavar="SD",
            show_default=False,
        ),
    ]
    signals: Annotated[
        str,
        typer.Option("--signals", help="d_prime: share of trials with a signal, 50% when not given", metavar="SHARE"),
    ]
    forced_choice: Annotated[
        bool, typer.Option("--forced-choice", help="d_prime: choices between two sides instead of yes-no questions")
    ]
    sd_trial: Annotated[
        float | None,
        typer.Option(
            "--sd-trial", help="rt_ms: standard deviation of a person's single times", metavar="MS", show_default=False
        ),
    ]
    tau: Annotated[
        float | None,
        typer.Option("--tau", help="rt_ms: exponential part of single times", metavar="MS", show_default=False),
    ]


@public
def plan(
    data: Annotated[
        Paths,
        typer.Argument(help=f"your own data, as the source of spread and accuracy: {DATA_HELP}", metavar="[DATA...]"),
    ] = (),
    *,
    people: Annotated[
        str, typer.Option("--people", help="numbers of people, in each group with --between", metavar="N,N,...")
    ] = "8,12,16,24,32",
    trials: Annotated[
        str,
        typer.Option(
            "--trials",
            help="numbers of trials per person and condition; of answers, with --value rt_ms and d_prime",
            metavar="N,N,...",
        ),
    ] = "24,48",
    value: Annotated[
        str,
        typer.Option(
            "--value",
            help=(
                "what is measured: correct, d_prime or rt_ms (mean reaction time of correct answers); or an effect that"
                " the paradigm's file declares, which says the conditions, too"
            ),
        ),
    ] = "correct",
    difference: Annotated[
        str,
        typer.Option(
            "--difference",
            help="the second condition minus the first: -5points, -0.3d' or 40ms, in the unit of --value",
            metavar="AMOUNT",
        ),
    ] = "",
    between: Annotated[
        bool,
        typer.Option("--between", help="two groups of people, one in each condition; by default everybody has both"),
    ] = False,
    paradigm: Annotated[
        str, typer.Option("--paradigm", help="the paradigm of the data, if there are several", metavar="NAME")
    ] = "",
    by: Annotated[
        str,
        typer.Option(
            "--by", help="column of conditions in the data; chosen automatically by default", metavar="COLUMN"
        ),
    ] = "",
    conditions: Annotated[
        str,
        typer.Option(
            "--conditions", help="two conditions of that column; by default the first and the last", metavar="A,B"
        ),
    ] = "",
    wanted: Annotated[float, typer.Option("--power", help="desired power", min=0.01, max=0.99, metavar="SHARE")] = 0.8,
    margin: MarginOption = (),
    samples: Annotated[
        int, typer.Option("--samples", help="simulated studies for each number of people and trials", metavar="N")
    ] = 2000,
    seed: Annotated[int, typer.Option("--seed", help="seed of the simulation", min=0)] = 1,
    output: Annotated[
        PathLike | None,
        typer.Option("-o", "--output", help="folder for plan.csv and plan.json", metavar="DIR"),
    ] = None,
    **assumptions: Unpack[Assumptions],
) -> Result:
    """Simulate how likely a study is to find a difference between two conditions, for numbers of
    people and trials.

    Examples
    --------
    >>> found = spanlab.plan(
    ...     people="20", trials="24", accuracy="75%", difference="-10points", sd_people=0.8, samples=100
    ... )
    >>> len(found.to_frame())
    1
    """
    from spanlab.analysis import read_margins

    from .power import power, smallest

    if value not in _UNITS and data:
        names = ("exclude", "recipe")
        reading: dict[str, Any] = {name: given for name in names if (given := assumptions.get(name))}
        value, by, conditions = _of_file(value, loaded(data, **reading), by, conditions)
    if value not in _UNITS:
        raise SpanLabError(
            f"is {', '.join([*_UNITS][:-1])} or {[*_UNITS][-1]}, not '{value}'{nearest(value, _UNITS)}", option="value"
        )
    margins, unit = read_margins(words(margin)), _UNITS[value][0]
    if margins.keys() - {unit}:
        such = {"points": "5points (percentage points)", "d′": "0.3d'", "ms": "20ms"}[unit]
        raise SpanLabError(f"spanlab plan --value {value} simulates {_CALLED[value]}: its --margin is such as {such}")
    options: dict[str, Any] = {_SET.get(name, name): one for name, one in part(assumptions, Assumptions).items()}
    read = {name: options.pop(name) for name in ("exclude", "recipe") if options.get(name)}
    for name, such in (("signals", "50%"), ("accuracy", "75%")):
        if options.get(name):
            options[name] = _share(options[name], f"--{name}", such)
    stated = {name: one for name, one in options.items() if one is not None and one is not False and one != ""}
    _check_options(value, stated)
    change = _change(difference, value) if difference else None
    found = Result()
    assumed, notes = _assumed(value, paths(data), paradigm, by, conditions, change, read, between, stated, found)
    numbers = _numbers(people, "--people"), _numbers(trials, "--trials")
    found.lines += [assumed.words, *notes, ""]
    declared = margins.get(unit)
    with progress_bar("simulated studies") as tell:
        table = power(
            assumed, *numbers, samples=samples, seed=seed, margin=declared.scaled if declared else None, tell=tell
        )

    def share(value: float, error: float) -> str:
        return f"{value:.1%} ± {error:.1%}"

    rows = []
    for row in table.to_dict("records"):
        alike = (share(row["alike"], row["alike_se"]),) if declared else ()
        rows.append(
            (
                str(row["people"]),
                str(row["trials"]),
                share(row["power"], row["se"]),
                *alike,
                share(row["size"], row["size_se"]),
            )
        )
    counted = _COUNTED.get(value, "trial")
    heads = (
        "people in each group" if between else "people",
        f"{counted}s in each condition",
        "power",
        *([f"alike within {declared.words}"] if declared else []),
        "where there is no difference",
    )
    found.tables = {"plan": table}
    found.lines += [
        *table_lines(heads, rows),
        "",
        f"Shares of {samples:,} simulated studies (seed {seed}) with one standard error. The test is a two-tailed t"
        " test at 5% of",
        _TESTED[value],
        "",
        *smallest(table, wanted, counted),
    ]
    if output is not None:
        found.files = _write(Path(output), table, value, assumed, notes, wanted, seed, samples)
        found.lines += ["", *map(str, found.files)]
    return found


@public
def methods(
    data: Annotated[
        Paths,
        typer.Argument(
            help=f"{DATA_HELP}; with --before a paradigm, its file, or the file of a study", metavar="DATA..."
        ),
    ],
    *,
    before: Annotated[
        bool,
        typer.Option("--before", help="write it before there are data, from a paradigm or a study"),
    ] = False,
    by: Annotated[
        str | None,
        typer.Option("--by", help="column of conditions of the models, as for spanlab stats", metavar="COLUMN"),
    ] = None,
    margin: MarginOption = (),
    output: Annotated[
        PathLike | None, typer.Option("-o", "--output", help="write it to this file (Markdown)", metavar="FILE")
    ] = None,
    **reading: Unpack[Reading],
) -> Result:
    """Write the Methods section of data from their record: paradigm, trials, timing, models,
    exclusions, scores, tests, versions, references.

    Examples
    --------
    >>> result = spanlab.replay("vsr", "chance", trials=4, levels={"list_length": 3})
    >>> str(spanlab.methods(result.folder)).splitlines()[0]
    '# Methods'
    """
    from spanlab.analysis import read_margins

    margins, given, found = (*read_margins(words(margin)).values(),), paths(data), Result()
    if before:
        from .before import methods_before

        if len(given) != 1:
            raise SpanLabError(
                "takes one paradigm or one study; several paradigms are named in a study file", option="before"
            )
        of_data = {"by": by, **reading}
        if option := next(
            (name for name in ("by", "recipe", "practice", "pilot", "accept_unread") if of_data.get(name)), ""
        ):
            raise SpanLabError(f"--{option.replace('_', '-')} is about data; with --before there are none")
        exclude = reading.get("exclude")
        text = methods_before(str(given[0]), read_rules(exclude), as_path(exclude), margins)
    else:
        text = _methods_of(given, reading, margins, by, found)
    if output is None:
        found.lines = text.splitlines()
        return found
    file = Path(output)
    with written_in(file.parent, str(file)):
        write_whole(file, text.encode())
    found.files, found.lines = [file], [str(file)]
    return found


def _methods_of(given: list[Path], reading: Reading, margins: Sequence[Margin], by: str | None, found: Result) -> str:
    from spanlab.analysis.data import heads

    from .methods import methods as text_of

    answers = loaded(given, **reading)
    found.cautions = cautions(answers)
    if not answers.scored.parts:
        raise SpanLabError(
            "nothing is left to describe" + (": " + " ".join(answers.scored.notes) if answers.scored.notes else "")
        )
    folders = [path for path in given if path.is_dir()]
    return text_of(
        answers,
        heads(folders)[0] if folders else [],
        margins,
        by,
        [name for name in ("practice", "pilot") if reading.get(name)],
    )


def _check_options(value: str, stated: Mapping[str, object]) -> None:
    """Options of another value are a mistake, and are not passed over."""
    for other, options in _ONLY.items():
        for name, option in options.items():
            if name in stated and other != value:
                raise SpanLabError(f"{option} is about --value {other}, and this plan is about --value {value}")
    if value == "d_prime" and "accuracy" in stated:
        raise SpanLabError(
            "belongs to --value correct and rt_ms; for d′ in the first condition give --d-prime", option="accuracy"
        )


def _assumed(
    value: str,
    data: list[Path],
    paradigm: str,
    by: str,
    conditions: str,
    change: float | None,
    read: Mapping[str, Any],
    between: bool,
    stated: dict[str, Any],
    found: Result,
) -> tuple[Planned, list[str]]:
    """Return what is simulated, and where it comes from, in sentences."""
    from dataclasses import replace

    if not data:
        first, such = {
            "correct": ("accuracy", "--accuracy 75% and --difference -5points"),
            "d_prime": ("d_prime", "--d-prime 2 and --difference -0.3d'"),
        }.get(value, ("rt", "--rt 800 and --difference 40ms"))
        if first not in stated or change is None:
            raise SpanLabError(
                f"what is to be simulated? Give data of your own (spanlab plan DATA), or both {such} (or other numbers)"
            )
        for name, given in (
            ("paradigm", paradigm),
            ("by", by),
            ("conditions", conditions),
            ("exclude", read.get("exclude")),
            ("recipe", read.get("recipe")),
        ):
            if given:
                raise SpanLabError(f"--{name} is about data, and none are named")
        return _stated(value, change, between, stated)
    assumed, name, notes = _fitted(value, data, paradigm, by, conditions, change, read, between, found)
    assumed = replace(assumed, **stated)
    if math.isnan(assumed.effect):
        # two groups differ by the spread of people within a condition, which has that of the effect in it
        taken = 0.0 if between else _TAKEN[value]["effect"]
        assumed = replace(assumed, effect=taken)
        consequence = (
            "; in two groups it is part of how much people differ."
            if between
            else f": a standard deviation of {taken:g} {_UNITS[value][1]} is assumed; --sd-effect gives another."
        )
        notes = [f"These data do not tell how much the effect differs between people{consequence}", *notes]
    sentences = (
        [f"The assumptions come from the data ({name}); options that you give replace them."]
        if stated
        else [f"From the data: {name}."]
    )
    if change is None:
        sentences.append(
            f"The difference is the one that was seen, {_change_in_words(value, assumed.difference)}. If it is"
            " studied because it was found, it is more likely too large than too small: --difference plants the"
            " smallest that would matter."
        )
    return assumed, [*sentences, *notes]


def _of_file(name: str, data: Data, by: str, conditions: str) -> tuple[str, str, str]:
    """The measure, the column and the conditions of an effect that a file declares; what was given,
    where none declares one of this name."""
    from spanlab.analysis.data import plain_name

    declared = next((one for part in data.scored.parts.values() if (one := part.of_file.effects.get(name))), None)
    if declared is None or declared.value not in _UNITS:
        return name, by, conditions
    if declared.value == "d_prime":
        raise SpanLabError(
            f"{name} compares signal and noise, and no two conditions: give {{value}} d_prime", names=["value"]
        )
    if by or conditions:
        raise SpanLabError(
            f"{name} says its conditions: leave out {{by}} and {{conditions}}", names=["by", "conditions"]
        )
    one, other = declared.pairs[0]
    return declared.value, plain_name(declared.of), f'"{other}","{one}"'


def _stated(value: str, change: float, between: bool, stated: dict[str, Any]) -> tuple[Planned, list[str]]:
    """A plan from options alone; what they leave open is taken, and said."""
    from .planned_measures import PlannedSensitivity, PlannedTimes
    from .power import Assumed

    made = {"correct": Assumed, "d_prime": PlannedSensitivity, "rt_ms": PlannedTimes}[value]
    taken = {name: number for name, number in _TAKEN[value].items() if name not in stated}
    if value == "rt_ms" and "trial" in stated and "tau" in taken:  # the exponential part is as large a part of it
        taken["tau"] = stated["trial"] * _TAKEN[value]["tau"] / _TAKEN[value]["trial"]
    notes = []
    for name, number in taken.items():
        unit = "" if name.startswith("criterion") else f" {_UNITS[value][1]}"
        what = "that every answer is correct" if name == "accuracy" else f"{_MEANINGS[name]} {number:g}{unit}"
        option = "--" + {
            "people": "sd-people",
            "effect": "sd-effect",
            "criterion_people": "sd-criterion",
            "trial": "sd-trial",
        }.get(name, name)
        notes.append(f"Assumed, because nothing determines it: {what} ({option}). Data of your own would.")
    return made(difference=change, between=between, **taken, **stated), notes


def _fitted(
    value: str,
    data: list[Path],
    paradigm: str,
    by: str,
    conditions: str,
    change: float | None,
    read: Mapping[str, Any],
    between: bool,
    found: Result,
) -> tuple[Planned, str, list[str]]:
    from spanlab.analysis.stats import mixed_model

    from .planned_measures import from_people
    from .power import from_model

    answers = loaded(data, **read)
    found.cautions = cautions(answers)
    there = sorted(answers.scored.parts)
    name = paradigm or (there[0] if len(there) == 1 else "")
    if not name:
        raise SpanLabError(
            f"these data have several paradigms; choose one with --paradigm: {', '.join(there)}"
            if there
            else "nothing is left to plan from"
        )
    if name not in there:
        raise SpanLabError(f"there are no scored answers to '{name}' in these data{nearest(name, there)}")
    # names with commas and quotes stand in quotes, as in CSV
    picked = [one.strip() for line in csv.reader([conditions], skipinitialspace=True) for one in line if one.strip()]
    left = (
        [] if answers.exclusions is None else ["Left out by rule:", *(f"  {note}" for note in answers.exclusions.notes)]
    )
    if value != "correct":
        assumed, said = from_people(
            answers.scored, name, "d_prime" if value == "d_prime" else "rt_ms", by or None, picked, change, between
        )
        return assumed, f"{name}, {said}", left
    model = mixed_model.mixed_model(answers.scored, name, by or None)
    return (
        from_model(model, answers.scored.parts[name], picked, change, between),
        f"{name}, {model.cells.formula}",
        left,
    )


def _numbers(text: str, option: str) -> list[int]:
    """``8,12,16`` as whole numbers, each once, the smallest first."""
    try:
        numbers = sorted({int(one) for one in text.split(",") if one.strip()})
    except ValueError:
        numbers = []
    if not numbers or numbers[0] < 1:
        raise SpanLabError(
            f"{option} takes whole numbers from 1 with commas between them, such as 8,12,16; found '{text}'"
        )
    return numbers


def _change(text: str, value: str) -> float:
    """``-5points``, ``-0.3d'`` or ``40ms`` in the numbers of a value; d' and ms also without their
    unit."""
    if value == "correct":
        return _share(text, "--difference", "-5points")
    match = re.fullmatch(r"\s*([+\-−]?)([0-9]*[.,]?[0-9]+)\s*(d'|d′|dprime|ms)?\s*", text)
    unit = {"d'": "d_prime", "d′": "d_prime", "dprime": "d_prime", "ms": "rt_ms"}
    if match is None or (match[3] and unit[match[3]] != value):
        raise SpanLabError(
            f"takes a number such as {'-0.3d' + chr(39) if value == 'd_prime' else '40ms'} with --value"
            f" {value}; found '{text}'",
            option="difference",
        )
    return float(match[2].replace(",", ".")) * (-1 if match[1] in ("-", "−") else 1)


def _change_in_words(value: str, change: float) -> str:
    if value == "d_prime":
        return f"{change:+.2f} in d′"
    return f"{100 * change:+.1f} points" if value == "correct" else f"{change:+.0f} ms"


def _share(text: str, option: str, such: str) -> float:
    """``75%``, ``-5points`` or ``0.75`` as a share."""
    match = re.fullmatch(r"\s*([+\-−]?)([0-9]*[.,]?[0-9]+)\s*(%|points?|pp)?\s*", text)
    if match is None:
        raise SpanLabError(f"{option} takes a number such as {such}; found '{text}'")
    value = float(match[2].replace(",", ".")) * (-1 if match[1] in ("-", "−") else 1)
    if match[3] is None and abs(value) > 1:
        raise SpanLabError(f"{option} {text}: percent, or a share from 0 to 1? Write {such}")
    return value / 100 if match[3] else value


def _write(
    output: Path,
    table: pd.DataFrame,
    value: str,
    assumed: Planned,
    notes: list[str],
    wanted: float,
    seed: int,
    samples: int,
) -> list[Path]:
    from dataclasses import asdict

    from spanlab.exchange import csv_text

    written = {
        "spanlab": __version__,
        "value": value,
        "seed": seed,
        "samples": samples,
        "power": wanted,
        **asdict(assumed),
        "notes": notes,
    }
    with written_in(output):
        write_whole(output / "plan.csv", csv_text(table).encode())
        write_whole(output / "plan.json", (json.dumps(written, indent=2, ensure_ascii=False) + "\n").encode())
    return [output / "plan.csv", output / "plan.json"]
