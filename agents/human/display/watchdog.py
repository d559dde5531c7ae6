"""The watchdog: notices when the display or the keyboard goes away while a session runs, so that
the session ends with a sentence and everything saved.

On Linux a thread listens to the X server (with a connection of its own, so that no frame waits for
it): input devices that vanish, the output on which the window is, and the end of the server itself.
Xlib ends the whole process when its server is gone; it is kept from that until the session has been
saved. Elsewhere nothing is looked out for.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import select
import sys
import threading
from contextlib import suppress
from typing import Any

from ....core.errors import SpanLabError

DISPLAY_GONE = "the display is gone: its X server has ended (a crash, or somebody has logged out). Start it again"
_OUTPUT_GONE = (
    "the display was unplugged, switched off or set to another mode ({name}). Plug it in and check its settings"
)
_KEYBOARD_GONE = (
    "a keyboard was unplugged or switched off ({names}). Plug it in again: a session listens to the keyboards that are"
    " there when it begins"
)
_KEYBOARD = 4  # what XInput calls a slave keyboard


class Watchdog:
    """Watches the display and the keyboards.

    Parameters
    ----------
    middle : of the window, in pixels of the whole screen
    connection : the window's connection to the X server (pyglet's); None elsewhere than on Linux
    """

    def __init__(self, middle: tuple[int, int], connection: Any) -> None:
        #: what has happened, in a sentence; empty while all is well
        self.trouble = ""
        #: whether nothing can be shown any more, and nothing closed
        self.gone = False
        self._middle = middle
        self._thread: threading.Thread | None = None
        if sys.platform.startswith("linux"):
            _outlive_display(connection, self)
            self._listen()

    def check(self) -> None:
        """Raise SpanLabError when something has happened."""
        if self.trouble:
            raise SpanLabError(self.trouble)

    def close(self) -> None:
        """Stop watching."""
        if self._thread is not None:
            with suppress(BrokenPipeError):  # it has seen something, and ended
                os.write(self._stop, b"x")
            self._thread.join(5)
            os.close(self._stop)
            self._thread = None

    def display_gone(self) -> None:
        """Note that there is no display any more."""
        self.trouble, self.gone = DISPLAY_GONE, True

    # -- listening to the X server -----------------------------------------------------------------

    def _listen(self) -> None:
        """Begin to listen; a server that has not the extensions is not listened to."""
        try:
            from Xlib import display
            from Xlib.ext import randr, xinput

            self._server: Any = display.Display()
            self._server.xinput_query_version()
            root = self._server.screen().root
            root.xinput_select_events([(xinput.AllDevices, xinput.HierarchyChangedMask)])
            self._keyboards = self._find_keyboards()
            self._output = self._find_output()
            if self._output:
                root.xrandr_select_input(
                    randr.RRScreenChangeNotifyMask | randr.RRCrtcChangeNotifyMask | randr.RROutputChangeNotifyMask
                )
            self._server.sync()
        except Exception:  # Xlib raises its own kinds; and servers differ in what they have
            return
        wake, self._stop = os.pipe()
        self._thread = threading.Thread(target=self._look, args=(wake,), name="watchdog", daemon=True)
        self._thread.start()

    def _look(self, wake: int) -> None:
        try:
            while not self.trouble:
                while self._server.pending_events():
                    self._server.next_event()
                self._compare()
                ready, _, _ = select.select([self._server.fileno(), wake], [], [])
                if wake in ready:
                    break
        except Exception:  # the connection is closed
            self.display_gone()
        os.close(wake)
        with suppress(Exception):
            self._server.close()

    def _compare(self) -> None:
        names = sorted(name for number, name in self._keyboards.items() if number not in self._find_keyboards())
        if names:
            self.trouble = _KEYBOARD_GONE.format(names=", ".join(names))
        elif self._output and self._find_output() != self._output:
            self.trouble = _OUTPUT_GONE.format(name=self._output[0])

    def _find_keyboards(self) -> dict[int, str]:
        """Every keyboard that is switched on, by its number."""
        from Xlib.ext import xinput

        devices = self._server.xinput_query_device(xinput.AllDevices).devices
        return {device.deviceid: str(device.name) for device in devices if device.use == _KEYBOARD and device.enabled}

    def _find_output(self) -> tuple[Any, ...] | None:
        """The output that shows the middle of the window, with its place, size and mode."""
        resources = self._server.screen().root.xrandr_get_screen_resources()
        for number in resources.outputs:
            output = self._server.xrandr_get_output_info(number, resources.config_timestamp)
            if output.connection != 0 or not output.crtc:
                continue
            area = self._server.xrandr_get_crtc_info(output.crtc, resources.config_timestamp)
            if area.x <= self._middle[0] < area.x + area.width and area.y <= self._middle[1] < area.y + area.height:
                return output.name, area.x, area.y, area.width, area.height, area.mode
        return None


# -- outliving the display -------------------------------------------------------------------------

_HANDLER = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
_EXIT_HANDLER = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
#: the watchdog of the last window; connections that Xlib is to return from; what C holds pointers
#: to
_present: list[Watchdog] = []
_survivors: set[int] = set()
_kept: list[Any] = []


def _outlive_display(connection: Any, watchdog: Watchdog) -> None:
    """Have Xlib tell us when the server of a connection has ended, instead of ending the process."""
    try:
        x11: Any = ctypes.CDLL("libX11.so.6")
        address = ctypes.cast(connection, ctypes.c_void_p).value
        if address is None:
            return
        if not _kept:
            _kept.extend((_HANDLER(_server_ended), _EXIT_HANDLER(lambda display, data: None)))
            x11.XSetIOErrorHandler(_kept[0])
            atexit.register(_leave)
        x11.XSetIOErrorExitHandler(ctypes.c_void_p(address), _kept[1], None)
    except (
        OSError,
        AttributeError,
        ctypes.ArgumentError,
    ):  # an Xlib from before 2020 cannot do it: then the process ends as it always did
        return
    _survivors.add(address)
    _present[:] = [watchdog]


def _server_ended(address: int | None) -> int:
    """Note that the server is gone. Xlib calls this when a connection is broken, in whichever
    thread has noticed it."""
    for watchdog in _present:
        watchdog.display_gone()
    if threading.current_thread() is not threading.main_thread():
        threading.Event().wait()  # a thread of Psychtoolbox: were it to return, the process would end
    if address not in _survivors:
        print(
            f"spanlab: {DISPLAY_GONE}, then go on with: spanlab resume SESSION (the finished trials are safe)",
            file=sys.stderr,
            flush=True,
        )
        os._exit(1)
    return 0


def _leave() -> None:
    """At the end of the program: without a display or a keyboard, libraries crash or hang while
    they tidy up."""
    if any(watchdog.trouble for watchdog in _present):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)
