"""Codes as samples of an LSL stream (Lab Streaming Layer): irregular, one channel of whole numbers, each with LSL's own time."""

from __future__ import annotations

import os
import socket
from typing import Any

from ....core.errors import SpanLabError


class LslOutlet:
    """A stream of markers.

    Raises
    ------
    SpanLabError
        when pylsl or its library cannot be loaded, or the stream cannot be made.
    """

    pulses = False

    def __init__(self, stream: str) -> None:
        self.name = f"LSL stream {stream}"
        try:
            import pylsl
        except (ImportError, RuntimeError, OSError) as error:  # without its library, pylsl raises RuntimeError
            raise SpanLabError(f"triggers over LSL need pylsl ({str(error).splitlines()[0]}); install it with: pip install 'spanlab[triggers]'") from error
        self._now = pylsl.local_clock
        try:
            # the same source whenever it comes back on this computer, so that recorders take up the stream again
            info = pylsl.StreamInfo(stream, "Markers", 1, pylsl.IRREGULAR_RATE, pylsl.cf_int32, f"spanlab-{stream}-{socket.gethostname()}")
            self._outlet: Any = pylsl.StreamOutlet(info)
        except Exception as error:  # pylsl raises its own kinds
            raise SpanLabError(f"the {self.name} cannot be opened ({error}); check the network and lsl_api.cfg") from None
        self._version = str(pylsl.library_version())

    def write(self, code: int) -> float:
        at = self._now()
        self._outlet.push_sample([code], at, True)
        return at

    def check(self) -> None:
        """A stream does not die: whoever records it may come and go."""

    def facts(self) -> dict[str, Any]:
        return {"liblsl": self._version, "configuration": os.environ.get("LSLAPICFG", ""), "recorded_by_somebody": self.heard}

    @property
    def heard(self) -> bool:
        """Whether somebody takes the stream at this moment."""
        return bool(self._outlet.have_consumers())

    def close(self) -> None:
        self._outlet = None
