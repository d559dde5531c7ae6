"""Packages that come with an extra of the installation, such as ``spanlab[lab]``: whether they are
there, before anything begins that needs them."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from .errors import SpanLabError

#: What each extra brings that sessions cannot begin without: the module that is imported, and what
#: it is called.
_PACKAGES: dict[str, dict[str, str]] = {
    "lab": {"psychopy": "PsychoPy", "PyQt6": "PyQt6", "Xlib": "python-xlib"},
    "chat": {"openai": "the openai package"},
    "hf": {"torch": "PyTorch", "transformers": "the transformers package"},
    "inspect": {"inspect_ai": "the inspect-ai package"},
    "parquet": {"pyarrow": "pyarrow"},
    "figures": {"vl_convert": "vl-convert"},
    "networks": {"torch": "PyTorch"},
    "triggers": {"serial": "pyserial", "pylsl": "pylsl"},
}


def installed(package: str) -> bool:
    """Return whether a package can be found; it is not imported."""
    try:
        return find_spec(package) is not None
    except (ImportError, ValueError):
        return False


def how_to_install(extra: str) -> str:
    """Say how to install an extra, as the end of a sentence. PsychoPy does not support every Python
    version that SpanLab does.

    >>> how_to_install("chat")
    "install it with: pip install 'spanlab[chat]'"
    """
    if extra == "lab" and sys.version_info >= (3, 13):
        return (
            f"PsychoPy does not support Python {sys.version_info[0]}.{sys.version_info[1]}: install 'spanlab[lab]' with"
            " Python 3.11 or 3.12"
        )
    return f"install it with: pip install 'spanlab[{extra}]'"


def need(extra: str, package: str, what: str) -> None:
    """See to it that a package of an extra is installed.

    Parameters
    ----------
    extra : such as ``lab``
    package : the module that is imported, such as ``psychopy``
    what : what needs it, as the beginning of a sentence, such as ``a window for participants``

    Raises
    ------
    SpanLabError
        when it is not, with how to install it.
    """
    if not installed(package):
        raise SpanLabError(f"{what} needs {_PACKAGES[extra][package]}, which is not installed; {how_to_install(extra)}")
