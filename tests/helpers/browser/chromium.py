"""A real Chromium without a screen, driven by its DevTools protocol: pages are opened, keys pressed and mouse buttons clicked as the browser knows them."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from websockets.sync.client import connect

#: Keys by the names that PsychoPy gives them: the browser's name, its place, its number, and the text it types.
_SIGNS = {"minus": ("-", "Minus", 189), "comma": (",", "Comma", 188), "period": (".", "Period", 190), "slash": ("/", "Slash", 191)}
_NAMED = {
    "space": (" ", "Space", 32, " "),
    "return": ("Enter", "Enter", 13, "\r"),
    "escape": ("Escape", "Escape", 27, ""),
    "backspace": ("Backspace", "Backspace", 8, ""),
    "left": ("ArrowLeft", "ArrowLeft", 37, ""),
    "up": ("ArrowUp", "ArrowUp", 38, ""),
    "right": ("ArrowRight", "ArrowRight", 39, ""),
    "down": ("ArrowDown", "ArrowDown", 40, ""),
    **{name: (sign, code, number, sign) for name, (sign, code, number) in _SIGNS.items()},
    **{digit: (digit, f"Digit{digit}", 48 + int(digit), digit) for digit in "0123456789"},
    **{letter: (letter, f"Key{letter.upper()}", ord(letter.upper()), letter) for letter in "abcdefghijklmnopqrstuvwxyz"},
    # where they are on German keyboards
    "adiaeresis": ("ä", "Quote", 222, "ä"),
    "odiaeresis": ("ö", "Semicolon", 192, "ö"),
    "udiaeresis": ("ü", "BracketLeft", 186, "ü"),
    "ssharp": ("ß", "Minus", 219, "ß"),
}


def chromium_path() -> str:
    """Where Chromium is; the test is skipped where there is none."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    return found


#: A clock for a page that does not depend on how busy the computer is: refreshes of exactly 1/60 s follow one another as fast as they are drawn, and time
#: stands still from 24 frames after something is waited for on (400 ms, as at the virtual window) until the hands have done it, and set ``released``.
WARP = """(() => {
  const period = 1000 / 60, draw = new Map(), stamps = new WeakMap();
  let now = 1000, count = 0, presses = 0, waits = "", since = 0;
  globalThis.released = globalThis.held = "";
  performance.now = () => now;
  Object.defineProperty(Event.prototype, "timeStamp", { get() {
    if (!stamps.has(this)) stamps.set(this, now + 0.001 * ++presses);
    return stamps.get(this);
  } });
  globalThis.requestAnimationFrame = (call) => { draw.set(++count, call); return count; };
  globalThis.cancelAnimationFrame = (number) => draw.delete(number);
  const channel = new MessageChannel();
  const again = () => channel.port2.postMessage(0);
  channel.port1.onmessage = () => {
    const shown = document.getElementById("stage")?.dataset.waits ?? "";
    if (shown !== waits) { waits = shown; since = 0; }
    globalThis.held = /^(answer|on) /.test(waits) && since >= 24 && globalThis.released !== waits ? waits : "";
    if (globalThis.held || !draw.size) { setTimeout(again, 4); return; }
    [now, since, presses] = [now + period, since + 1, 0];
    const calls = [...draw.values()];
    draw.clear();
    for (const call of calls) call(now);
    if (waits) again(); else setTimeout(again, 8); // between trials nothing is in a hurry
  };
  again();
})()"""


class Tab:
    """One page of the browser."""

    def __init__(self, address: str) -> None:
        self._open = ExitStack()
        self._socket = self._open.enter_context(connect(address, max_size=2**26, open_timeout=60))
        self._count = 0
        self.warped = False
        #: what the page has written to its console, and the exceptions that nobody caught
        self.complaints: list[str] = []
        #: what went over WebSockets, in both directions
        self.sent: list[dict[str, Any]] = []
        self.received: list[dict[str, Any]] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Have the browser do something, and give its reply."""
        self._count += 1
        self._socket.send(json.dumps({"id": self._count, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv(timeout=60))
            if message.get("id") == self._count:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return dict(message["result"])
            self._listen(message)

    def _listen(self, message: dict[str, Any]) -> None:
        if message.get("method") in ("Network.webSocketFrameSent", "Network.webSocketFrameReceived"):
            (self.sent if message["method"].endswith("Sent") else self.received).append(json.loads(message["params"]["response"]["payloadData"]))
        elif message.get("method") == "Runtime.exceptionThrown":
            detail = message["params"]["exceptionDetails"]
            self.complaints.append(str(detail.get("exception", {}).get("description", detail.get("text"))))
        elif message.get("method") == "Log.entryAdded" and message["params"]["entry"]["level"] == "error":
            self.complaints.append(str(message["params"]["entry"]["text"]))

    def warp(self) -> None:
        """Have a clock of their own for the pages that are opened from now on: see :data:`WARP`."""
        self.ask("Page.addScriptToEvaluateOnNewDocument", source=WARP)
        self.warped = True

    def release(self, waits: str) -> None:
        """What was waited for is done: time goes on."""
        if self.warped:
            self.evaluate(f"globalThis.released = {json.dumps(waits)}")

    def open(self, address: str) -> None:
        self.ask("Page.bringToFront")  # browsers draw no frames of tabs that nobody sees
        self.ask("Page.navigate", url=address)

    def evaluate(self, script: str) -> Any:
        """The value of a JavaScript expression."""
        result = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{script}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def until(self, script: str, seconds: float = 60.0) -> Any:
        """The value of an expression, once it is true."""
        last = time.monotonic() + seconds
        while not (value := self.evaluate(script)):
            assert time.monotonic() < last, f"it did not come to '{script}': {self.evaluate('document.body.innerText')!r}; {self.complaints}"
            time.sleep(0.02)
        return value

    def press(self, key: str, held: bool = False) -> None:
        """A key goes down and up."""
        name, code, number, text = _NAMED[key]
        common: dict[str, Any] = {"key": name, "code": code, "windowsVirtualKeyCode": number}
        self.ask("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", autoRepeat=held, **common, **({"text": text} if text else {}))
        self.ask("Input.dispatchKeyEvent", type="keyUp", **common)

    def click(self, x: float, y: float) -> None:
        """A click of the left mouse button, in CSS pixels."""
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def touch(self, x: float, y: float) -> None:
        """A finger touches the screen and is lifted."""
        self.ask("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        self.ask("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def middle(self, selector: str) -> tuple[float, float] | None:
        """The middle of an element, in CSS pixels; None where it cannot be seen."""
        box = self.evaluate(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); if (!e || e.disabled) return null; const b = e.getBoundingClientRect(); "
            "return b.width ? [b.left + b.width / 2, b.top + b.height / 2, b.left, b.top, b.width, b.height] : null; })()"
        )
        return None if box is None else (box[0], box[1])

    def screenshot(self, path: Path) -> Path:
        path.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"]))
        return path

    def screen(self, width: int, height: int, ratio: float = 1.0, touch: bool = False) -> None:
        """Give the page a screen of this size."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=ratio, mobile=touch)
        self.ask("Emulation.setTouchEmulationEnabled", enabled=touch)

    def close(self) -> None:
        self.open("about:blank")  # it would go on by itself
        self._open.close()

    def __enter__(self) -> Tab:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Chromium:
    """The browser: a process of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        options = ("--headless=new", "--no-sandbox", "--remote-debugging-port=0", "--disable-gpu", "--hide-scrollbars", "--mute-audio", "--no-first-run")
        quiet = ("--disable-background-networking", "--disable-component-update", "--disable-default-apps", "--disable-sync", "--window-size=1280,800")
        still = ("--disable-renderer-backgrounding", "--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows")
        self.process = subprocess.Popen(
            [chromium_path(), *options, *quiet, *still, f"--user-data-dir={folder}", "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        told, last = folder / "DevToolsActivePort", time.monotonic() + 120
        while not told.exists() or not told.read_text().strip():
            assert self.process.poll() is None, "Chromium did not start"
            assert time.monotonic() < last, "Chromium did not say where it listens"
            time.sleep(0.05)
        self.port = int(told.read_text().split()[0])

    def tab(self) -> Tab:
        """A new page."""
        with urlopen(Request(f"http://127.0.0.1:{self.port}/json/new?about:blank", method="PUT"), timeout=60) as answer:
            return Tab(json.load(answer)["webSocketDebuggerUrl"])

    def window(self) -> Tab:
        """A new page in a window of its own, which draws its frames beside others."""
        with urlopen(f"http://127.0.0.1:{self.port}/json/version", timeout=60) as answer, connect(json.load(answer)["webSocketDebuggerUrl"]) as socket:
            socket.send(json.dumps({"id": 1, "method": "Target.createTarget", "params": {"url": "about:blank", "newWindow": True}}))
            target = json.loads(socket.recv(timeout=60))["result"]["targetId"]
        return Tab(f"ws://127.0.0.1:{self.port}/devtools/page/{target}")

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def chromium(folder: Path) -> Generator[Chromium]:
    """A browser that ends with the test."""
    browser = Chromium(folder)
    try:
        yield browser
    finally:
        browser.close()
