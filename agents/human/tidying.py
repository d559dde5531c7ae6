"""Tidying up where no frame waits for it."""

from __future__ import annotations

import ctypes
import gc
import sys
from typing import Any


def _trimmer() -> Any:
    """Return the function by which the C library of Linux gives free memory back; nothing on other systems, and with other libraries."""
    if not sys.platform.startswith("linux"):
        return lambda _: 0
    return getattr(ctypes.CDLL(None), "malloc_trim", lambda _: 0)


_trim = _trimmer()


def tidy() -> None:
    """Collect garbage, and give what is free back to the system: pictures of many sizes come and go, and would leave ever more holes in the memory of a long
    session."""
    gc.collect()
    _trim(0)
