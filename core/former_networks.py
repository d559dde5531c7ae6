"""Networks that shipped under a name that stands for another network now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: What became of checkpoints that shipped before, by the SHA-256 of their file, as session records keep it.
_FORMER = {
    "72e7fc0fdef3f3c13581a2ec84bbecb01ce93996a3324534703a792d6d63d6e3": "network:wired-nback, with the same weights",
    "ff68406f4c70c6f9c14febd9fcd0645dc3abea76904e3a169c4602c223850f18": "",
}


def former_network(settings: Mapping[str, Any]) -> str:
    """Say which network took a session whose network ships no longer under its recorded name; empty for all others.

    Parameters
    ----------
    settings : of the agent, from the session's record

    Examples
    --------
    >>> former_network({"checkpoint": "laptop-nback", "sha256": "34d2b932"})
    ''
    """
    now = _FORMER.get(str(settings.get("sha256")))
    if now is None:
        return ""
    name = settings.get("checkpoint")
    return f"the network that was called {name} then is {now}" if now else f"the network that was called {name} then ships no longer"
