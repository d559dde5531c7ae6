"""``spanlab preview``: one trial in the window, display by display. Part of the command line."""

from __future__ import annotations

from typing import Annotated

import typer

from ..options import GeneratorOption, ParadigmArgument, SetOption
from ..running import one_trial


def preview(
    paradigm: ParadigmArgument,
    set_: SetOption = None,
    seed: Annotated[int, typer.Option("--seed", help="seed of the trial", min=0)] = 1,
    generator: GeneratorOption = "corrected",
    language: Annotated[str, typer.Option("--language", help="language of the legends")] = "en",
    windowed: Annotated[bool, typer.Option("--windowed", help="use a window instead of the full screen")] = False,
) -> None:
    """Step through one trial in the window: space for the next display, left arrow for the one before, A for the answer, Escape to leave."""
    from ...agents.human.display.window import need_display

    need_display()
    loaded, trial = one_trial(paradigm, set_, seed, generator)
    from ...agents.human.participant import Participant
    from ...agents.human.preview import Preview

    agent = Participant(fullscreen=not windowed)
    try:
        Preview(agent.open(), trial, language, loaded.translations.get(language)).run()
    finally:
        agent.close()
