"""SpanLab: one working-memory experiment, for people and for machines.

Names load when they are first used, so that ``import spanlab`` is light.

>>> import spanlab
>>> spanlab.replay("vsr", agent="ideal", trials=4).accuracy
1.0
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

# By the full name: whoever imports this file under another one (test runners do, by that of the repository's folder, whatever it is) finds the same package.
from spanlab.core import re_exports
from spanlab.core.version import __version__ as __version__

if TYPE_CHECKING:
    from .api import compare, figure, inspect_task, render, replay, replay_async, resume, resume_async, run, scores, train
    from .core.errors import SpanLabError
    from .paradigms import compile_trial, list_paradigms, load_paradigm
    from .sessions.result import SessionResult, read_responses

__getattr__ = re_exports(
    "spanlab",
    {
        "api": ("compare", "figure", "inspect_task", "render", "replay", "replay_async", "resume", "resume_async", "run", "scores", "train"),
        "core.errors": ("SpanLabError",),
        "paradigms": ("compile_trial", "list_paradigms", "load_paradigm"),
        "sessions.result": ("SessionResult", "read_responses"),
    },
)

__all__ = [
    "SessionResult",
    "SpanLabError",
    "compare",
    "compile_trial",
    "figure",
    "inspect_task",
    "list_paradigms",
    "load_paradigm",
    "read_responses",
    "render",
    "replay",
    "replay_async",
    "resume",
    "resume_async",
    "run",
    "scores",
    "train",
]


def _draw_in_notebooks() -> None:
    """Where IPython runs: a trial that stands alone at the end of a cell is drawn as its timeline."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is not None:

        def timeline(trial: Any) -> bytes:
            import io

            from spanlab.paradigms.preview.sheet import trial_picture

            file = io.BytesIO()
            trial_picture(trial).save(file, format="PNG")
            return file.getvalue()

        shell.display_formatter.formatters["image/png"].for_type_by_name("spanlab.paradigms.trial", "Trial", timeline)


_draw_in_notebooks()
