"""What programs do besides the commands: pixels of a trial, and a task of inspect_ai."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from ..paradigms import Trial


def inspect_task(paradigm: str, **options: Any) -> Any:
    """Return a paradigm as a task of inspect_ai, which any of its models takes.

    Parameters
    ----------
    paradigm : name in the library, or a YAML file
    options : trials, seed, levels, design, generator, as for :func:`replay`, and ``chat``: settings
        of chat agents

    Raises
    ------
    SpanLabError
        when inspect_ai is not installed, and for what is unknown or impossible.

    Examples
    --------
    It needs inspect_ai:

    >>> task = spanlab.inspect_task("vsr", trials=4)  # doctest: +SKIP
    """
    from ..exchange import FORMATS

    return FORMATS.get("inspect")().task(paradigm, **options)


def render(trial: Trial, size_px: int = 96) -> np.ndarray:
    """Render the displays of a trial that a machine sees, as pixels.

    Parameters
    ----------
    trial : from :func:`compile_trial`
    size_px : width and height of each frame; 32 gives the frames of networks

    Returns
    -------
    array of shape (steps, size_px, size_px, 3), 8 bits a channel

    Examples
    --------
    >>> trial = spanlab.compile_trial(spanlab.load_paradigm("vsr"), {"list_length": 3}, seed=1)
    >>> spanlab.render(trial, 32).shape
    (6, 32, 32, 3)
    """
    import numpy as np

    from ..stimuli.render.pixels import network_frame, picture

    scenes = [step.percept.for_machine.stimulus.scene() for step in trial.steps if step.percept.model_step]
    return np.stack(
        [network_frame(scene) if size_px == 32 else np.asarray(picture(scene, size_px)) for scene in scenes]
    )
