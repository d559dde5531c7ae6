"""Types and clicks on a screen without a window manager, through the X server's test extension, and
takes pictures of it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(
    0, str(Path(__file__).resolve().parents[1])
)  # what all tests share; programs that tests start use this, too

from effort import HANGS_S
from PIL import Image
from Xlib import XK, X, display
from Xlib.ext import xtest

_NAMES = {".": "period", ",": "comma", "-": "minus", "\t": "Tab", "\n": "Return", " ": "space", "_": "underscore"}


class Typist:
    """Somebody at keyboard and mouse of a display."""

    def __init__(self, name: str) -> None:
        self._display: Any = display.Display(name)
        self._root = self._display.screen().root

    def wait_for(self, found: Callable[[], Any], seconds: float = HANGS_S) -> Any:
        """What is found, as soon as it is."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            value = found()
            if value:
                return value
            time.sleep(0.05)
        raise AssertionError("it did not come")

    def window(self, title: str) -> Any:
        """The visible window with a title, or None."""
        for window in self._root.query_tree().children:
            try:
                if window.get_wm_name() == title and window.get_attributes().map_state == X.IsViewable:
                    return window
            except Exception:  # it was closed meanwhile
                continue
        return None

    def focus(self, window: Any) -> None:
        """What a window manager would do."""
        window.set_input_focus(X.RevertToParent, X.CurrentTime)
        self._display.sync()

    def key(self, name: str, shift: bool = False) -> None:
        """Press a key."""
        code = self._display.keysym_to_keycode(XK.string_to_keysym(name))
        held = self._display.keysym_to_keycode(XK.XK_Shift_L)
        for what, key in ((X.KeyPress, held), (X.KeyPress, code), (X.KeyRelease, code), (X.KeyRelease, held)):
            if key == code or shift:
                xtest.fake_input(self._display, what, key)
        self._display.sync()
        time.sleep(0.03)

    def type(self, text: str) -> None:
        """Type a text; a tab goes to the next field, a line feed is the return key."""
        for one in text:
            self.key(_NAMES.get(one, one), shift=one.isupper() or one == "_")

    def picture(self, path: Path | None = None) -> Image.Image:
        """The whole screen."""
        size = self._root.get_geometry()
        raw = self._root.get_image(0, 0, size.width, size.height, X.ZPixmap, 0xFFFFFFFF)
        image = Image.frombytes("RGB", (size.width, size.height), raw.data, "raw", "BGRX")
        if path is not None:
            image.save(path)
        return image

    def close(self) -> None:
        """Go away."""
        self._display.close()
