"""``spanlab show`` and ``spanlab preview``: one trial as a picture, or in the window display by
display. Part of the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..core.errors import SpanLabError
from .options import GeneratorOption, ParadigmArgument, SetOption, one_trial


def show(
    paradigm: ParadigmArgument,
    output: Annotated[Path, typer.Option("-o", "--output", help="PNG file to write", metavar="FILE")],
    set_: SetOption = None,
    seed: Annotated[int, typer.Option("--seed", help="seed of the trial", min=0)] = 1,
    generator: GeneratorOption = "corrected",
) -> None:
    """Draw one trial's timeline: every display, its phase, its ms, the question and the correct
    answer."""
    from ..paradigms.preview.sheet import trial_picture

    if output.suffix and output.suffix.lower() != ".png":
        raise SpanLabError(f"a trial is drawn as a .png; found '{output.name}'")
    loaded, trial = one_trial(paradigm, set_, seed, generator)
    picture = trial_picture(trial, loaded)
    try:
        picture.save(output, format="PNG", dpi=picture.info["dpi"])
    except OSError as error:
        raise SpanLabError(f"cannot write {output}: {error.strerror or error}") from None
    print(output)


def preview(
    paradigm: ParadigmArgument,
    set_: SetOption = None,
    seed: Annotated[int, typer.Option("--seed", help="seed of the trial", min=0)] = 1,
    generator: GeneratorOption = "corrected",
    language: Annotated[str, typer.Option("--language", help="language of the legends")] = "en",
    windowed: Annotated[bool, typer.Option("--windowed", help="use a window instead of the full screen")] = False,
) -> None:
    """Step through one trial in the window: space for the next display, left arrow for the one
    before, A for the answer, Escape to leave."""
    from ..agents.human.display.window import need_window

    need_window()
    loaded, trial = one_trial(paradigm, set_, seed, generator)
    from ..agents.human.participant import Participant
    from ..agents.human.preview import Preview
    from ..agents.human.window_options import WindowOptions

    agent = Participant(WindowOptions(fullscreen=not windowed))
    try:
        Preview(agent.open(), trial, language, loaded.translations.get(language)).run()
    finally:
        agent.close()
