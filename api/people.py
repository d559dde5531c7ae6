"""``spanlab run``: sessions with people at the screen. Part of the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..core.errors import SpanLabError
from .options import (
    DataOption,
    DesignOption,
    GeneratorOption,
    PairedOption,
    SetOption,
    TrialsOption,
    TriggersOption,
    parse_generator,
    parse_levels,
    print_session,
    terminal,
    window_options,
)
from .studies import (
    DialogOption,
    ExistingOption,
    FieldOption,
    NumberOption,
    SessionOption,
    StudyOptions,
    parse_fields,
    run_study,
)

DATA = Path("data")


def run(
    context: typer.Context,
    paradigm: Annotated[
        str,
        typer.Argument(
            help="name in the library (spanlab list), or a YAML file: a paradigm or a study",
            metavar="PARADIGM_OR_STUDY",
        ),
    ],
    participant: Annotated[str, typer.Option("--participant", help="identifier of the person")] = "",
    set_: SetOption = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", help="seed of the session; drawn at random by default", min=0),
    ] = None,
    trials: TrialsOption = None,
    design: DesignOption = None,
    paired_with: PairedOption = None,
    data: DataOption = DATA,
    generator: GeneratorOption = "corrected",
    language: Annotated[
        str,
        typer.Option("--language", help="language of the instructions; by default en, or the study's first language"),
    ] = "",
    practice: Annotated[bool, typer.Option("--practice/--no-practice", help="begin with practice")] = True,
    pilot: Annotated[bool, typer.Option("--pilot", help="mark the data as pilot data")] = False,
    windowed: Annotated[bool, typer.Option("--windowed", help="use a window instead of the full screen")] = False,
    screen: Annotated[
        int | None,
        typer.Option(
            "--screen",
            help="number of the screen on which the window opens, from 0; by default 0, or that of the display file",
            min=0,
            max=99,
        ),
    ] = None,
    width_cm: Annotated[
        float | None,
        typer.Option("--screen-width", help="visible width of the screen in cm, for sizes in degrees", min=1, max=1000),
    ] = None,
    distance_cm: Annotated[
        float | None,
        typer.Option(
            "--distance", help="distance from the eyes to the screen in cm; 57 when not given", min=1, max=1000
        ),
    ] = None,
    display: Annotated[
        Path | None,
        typer.Option(
            "--display", help="display file made by spanlab display, instead of width and distance", metavar="FILE"
        ),
    ] = None,
    canvas: Annotated[
        float | None,
        typer.Option(
            "--canvas",
            help=(
                "width of the canvas in degrees of visual angle; by default 10 on a measured screen, else as large as"
                " the screen allows"
            ),
            min=0.1,
            max=90,
        ),
    ] = None,
    patch: Annotated[
        str | None,
        typer.Option(
            "--patch",
            help=(
                "show a square for a photodiode, white on the first frame of displays: upper-left:2 (cm),"
                " upper-left:2:probe"
            ),
            metavar="PATCH",
        ),
    ] = None,
    theme: Annotated[
        str, typer.Option("--theme", help="colours around the canvas", metavar="standard|dark|light")
    ] = "standard",
    palette: Annotated[
        str,
        typer.Option(
            "--palette",
            help="colours of the stimuli for people: published, or safe for those who cannot tell red from green",
        ),
    ] = "published",
    font: Annotated[
        Path | None,
        typer.Option("--font", help="font file for letters that the shipped typeface lacks", metavar="FILE"),
    ] = None,
    triggers: TriggersOption = None,
    trigger_code: Annotated[
        list[str] | None,
        typer.Option(
            "--trigger-code",
            help="trigger code in place of the paradigm's, such as phases.probe=20; may be repeated",
            metavar="NAME=CODE",
        ),
    ] = None,
    keys: Annotated[
        str,
        typer.Option(
            "--keys",
            help=(
                "keys for questions with two words: standard, swapped (they change sides) or counterbalanced (swapped"
                " for every other participant)"
            ),
        ),
    ] = "standard",
    key: Annotated[
        list[str] | None,
        typer.Option("--key", help="another key for an answer, such as same=s; may be repeated", metavar="ANSWER=KEY"),
    ] = None,
    buttons: Annotated[
        str,
        typer.Option(
            "--buttons",
            help="button box: keys:1+2 (a box that types keys), serial:PORT[@BAUD] or psychopy:CLASS",
            metavar="BOX",
        ),
    ] = "",
    refractory: Annotated[
        str,
        typer.Option(
            "--refractory",
            help=(
                "ms after its onset in which a self-paced step ignores presses if a press ended the step before: of the"
                " same key, of another key; 0 for none"
            ),
            metavar="SAME,OTHER",
        ),
    ] = "200,100",
    simulate: Annotated[
        str | None,
        typer.Option(
            "--simulate",
            help=(
                "let a simulated participant take it: ideal, capacity[:PLACES], precision[:SD] or chance, with @SPEED:"
                " capacity:5@8"
            ),
            metavar="OBSERVER[@SPEED]",
        ),
    ] = None,
    speed: Annotated[
        float,
        typer.Option(
            "--speed", help="how much faster than a person the simulated participant answers", min=0.1, max=100
        ),
    ] = 1.0,
    session: SessionOption = "",
    number: NumberOption = "",
    field: FieldOption = None,
    existing: ExistingOption = "",
    dialog: DialogOption = True,
) -> None:
    """Run a session with a person at the screen: one paradigm, or a session of a study."""
    from ..agents.human.input.steps import read_refractory
    from ..sessions.key_mapping import key_setting
    from ..sessions.people import begin_with_somebody
    from ..sessions.run import carry_out
    from ..sessions.studies.study import is_study
    from ..sessions.triggers import parse_codes

    window = {
        **window_options(windowed, width_cm, distance_cm, display, patch, canvas, screen),
        "triggers": triggers or "",
        "buttons": buttons,
        **({} if font is None else {"font": str(font)}),
    }
    looks = {"theme": theme, "palette": palette, "refractory": read_refractory(refractory)}
    if is_study(paradigm):
        _refuse(context, _OF_PARADIGMS, "the study file says that")
        options = StudyOptions(
            participant, session, number, parse_fields(field), existing, dialog, language, pilot, simulate
        )
        chosen = {name: value for name, value in looks.items() if given(context, name)}
        run_study(paradigm, data, options, speed, {**window, **chosen})
        return
    _refuse(context, _OF_STUDIES, f"{paradigm} is not a study file")
    watcher = terminal()
    begun, agent = begin_with_somebody(
        data,
        paradigm,
        participant,
        simulate=simulate,
        speed=speed,
        window={**window, **looks},
        say=watcher.say,
        seed=seed,
        levels=parse_levels(set_),
        trials=trials,
        design=design,
        generator=parse_generator(generator) if given(context, "generator") else None,
        paired_with=paired_with,
        language=language or "en",
        practice=practice,
        pilot=pilot,
        keys=key_setting(keys, key),
        codes=parse_codes(trigger_code),
    )
    print_session(begun, carry_out(begun, agent, watcher))


_OF_PARADIGMS = (
    "set_",
    "seed",
    "trials",
    "paired_with",
    "design",
    "generator",
    "practice",
    "trigger_code",
    "keys",
    "key",
)
_OF_STUDIES = ("session", "number", "field", "existing", "dialog")


def _refuse(context: typer.Context, names: tuple[str, ...], why: str) -> None:
    """Options that were given and mean nothing here."""
    typed = [name for name in names if given(context, name)]
    spelt = ["--" + name.rstrip("_").replace("_", "-") for name in typed]
    if spelt:
        raise SpanLabError(f"leave out {' and '.join(spelt)}: {why}")


def given(context: typer.Context, name: str) -> bool:
    """Return whether an option was typed."""
    return getattr(context.get_parameter_source(name), "name", "DEFAULT") != "DEFAULT"
