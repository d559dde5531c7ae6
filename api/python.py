"""What programs do besides the commands: pixels of a trial, a task of inspect_ai, and a session as a
notebook shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core.errors import SpanLabError

if TYPE_CHECKING:
    import numpy as np

    from ..paradigms import Trial
    from ..sessions.result import SessionResult

#: Figures of a session in a notebook: the first that its answers give is drawn.
_FIRST_FIGURES = ("serial_position", "set_size", "nback_dprime", "error_distribution", "load")


def session_page(result: SessionResult) -> str:
    """A session as a notebook shows it: who answered what, how many answers were right, and its
    first curve.

    Parameters
    ----------
    result : of a session that is over
    """
    from html import escape

    from .analysing import figure

    info, rows = result.info, result.responses
    real = rows[~rows["practice"].astype(bool)]
    told = f"{real['trial'].nunique():,} trials, {len(real):,} answers"
    told += f", {100 * result.accuracy:.1f} % right" if result.accuracy == result.accuracy else ""
    head = (
        f"<p><b>{escape(str(info['agent']))}</b>: {escape(str(info['paradigm_title']))} ({told})."
        f" <code>{escape(str(result.folder))}</code></p>"
    )
    for name in _FIRST_FIGURES:
        try:
            drawn = figure(name, result.folder)
        except SpanLabError:
            continue
        return head + drawn._repr_svg_()  # pyright: ignore[reportPrivateUsage]
    return head


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
    from ..exchange.registry import FORMATS

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
