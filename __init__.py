"""SpanLab: one working-memory experiment, for people and for machines.

Names load when they are first used, so that ``import spanlab`` is light.

>>> import spanlab
>>> spanlab.replay("vsr", agent="ideal", trials=4).accuracy
1.0
"""

from __future__ import annotations

import sys
from typing import Any

from spanlab.core.doors import door, with_others
from spanlab.core.version import __version__ as __version__

__getattr__, __dir__, __all__ = with_others(door("spanlab", __file__), "spanlab.python", "spanlab.commands")


def _draw_in_notebooks() -> None:
    """Have IPython, where it runs, draw a trial at the end of a cell as its timeline."""
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
