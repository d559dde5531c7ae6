"""A real Chromium without a screen, driven by its DevTools protocol: pages are opened, keys pressed
and mouse buttons clicked as the browser knows them. Tests are skipped where there is none; its pages
have a clock that does not depend on how busy the computer is."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from spanlab.core import SpanLabError

#: programs that are Chromium or made of it, as systems call them; and where they lie if they are on
#: no path
_PROGRAMS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "msedge",
)
_PLACES = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    os.path.join(os.environ.get("PROGRAMFILES", ""), "Google", "Chrome", "Application", "chrome.exe"),
    os.path.join(os.environ.get("PROGRAMFILES(X86)", ""), "Microsoft", "Edge", "Application", "msedge.exe"),
)
#: Keys by the names that PsychoPy gives them: the browser's name, its place, its number, and the
#: text it types.
_SIGNS = {
    "minus": ("-", "Minus", 189),
    "comma": (",", "Comma", 188),
    "period": (".", "Period", 190),
    "slash": ("/", "Slash", 191),
}
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
    **{
        letter: (letter, f"Key{letter.upper()}", ord(letter.upper()), letter) for letter in "abcdefghijklmnopqrstuvwxyz"
    },
    # where they are on German keyboards
    "adiaeresis": ("ä", "Quote", 222, "ä"),
    "odiaeresis": ("ö", "Semicolon", 192, "ö"),
    "udiaeresis": ("ü", "BracketLeft", 186, "ü"),
    "ssharp": ("ß", "Minus", 219, "ß"),
}


def find_chromium() -> str:
    """Return where Chromium is, or a browser made of it.

    Raises
    ------
    SpanLabError
        when there is none; the message says how to install one.
    """
    found = next(filter(None, map(shutil.which, _PROGRAMS)), None) or next(
        (place for place in _PLACES if os.path.isfile(place)), None
    )
    if found is None:
        raise SpanLabError(
            "there is no Chromium, Chrome or Edge on this computer;"
            " install one of them (Debian: apt-get install chromium; macOS: brew install --cask chromium)"
        )
    return found


def need_chromium() -> None:
    """Skip the test where there is no browser."""
    try:
        find_chromium()
    except SpanLabError as error:
        pytest.skip(str(error))


def visited(page: Path | str, profile: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """What a browser without a network makes of a page: its elements, and on ``stderr`` what it complained of.

    Parameters
    ----------
    profile : folder: where it keeps what browsers keep
    """
    need_chromium()
    plain = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={profile}",
        "--virtual-time-budget=40000",
        "--enable-logging=stderr",
        "--v=0",
    ]
    offline = ["--proxy-server=127.0.0.1:1", "--host-resolver-rules=MAP * ~NOTFOUND"]
    address = page if isinstance(page, str) else page.as_uri()
    return subprocess.run(
        [find_chromium(), *plain, *offline, *flags, "--dump-dom", address], capture_output=True, text=True, timeout=600
    )


class Tab:
    """One page of the browser."""

    def __init__(self, address: str) -> None:
        self._open, self._target = ExitStack(), address.rpartition("/")[2]
        self._socket = self._open.enter_context(connect(address, max_size=2**26, open_timeout=60))
        self._count = 0
        #: what the page has written to its console, and the exceptions that nobody caught
        self.complaints: list[str] = []
        #: called with everything that the browser tells of the page
        self.listener: Callable[[Mapping[str, Any]], None] = lambda message: None
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Have the browser do something, and give its reply.

        Raises
        ------
        SpanLabError
            when it cannot.
        """
        self._count += 1
        try:
            self._socket.send(json.dumps({"id": self._count, "method": method, "params": parameters}))
            while (message := json.loads(self._socket.recv(timeout=60))).get("id") != self._count:
                self._listen(message)
        except (WebSocketException, TimeoutError, OSError):
            raise SpanLabError("Chromium has ended, or no longer answers") from None
        if "error" in message:
            raise SpanLabError(f"Chromium cannot do {method}: {message['error']}")
        return dict(message["result"])

    def _listen(self, message: dict[str, Any]) -> None:
        self.listener(message)
        if message.get("method") == "Runtime.exceptionThrown":
            detail = message["params"]["exceptionDetails"]
            self.complaints.append(str(detail.get("exception", {}).get("description", detail.get("text"))))
        elif message.get("method") == "Log.entryAdded" and message["params"]["entry"]["level"] == "error":
            self.complaints.append(str(message["params"]["entry"]["text"]))

    def open(self, address: str) -> None:
        """Open an address."""
        self.ask("Page.bringToFront")  # browsers draw no frames of tabs that nobody sees
        self.ask("Page.navigate", url=address)

    def evaluate(self, script: str) -> Any:
        """The value of a JavaScript expression.

        Raises
        ------
        SpanLabError
            when it has none.
        """
        result = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise SpanLabError(f"{script}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def until(self, script: str, seconds: float = 60.0) -> Any:
        """The value of an expression, once it is true.

        Raises
        ------
        SpanLabError
            when it does not become true.
        """
        last = time.monotonic() + seconds
        while not (value := self.evaluate(script)):
            if time.monotonic() > last:
                raise SpanLabError(
                    f"it did not come to '{script}': {self.evaluate('document.body.innerText')!r}; {self.complaints}"
                )
            time.sleep(0.02)
        return value

    def press(self, key: str, held: bool = False) -> None:
        """A key goes down and up."""
        name, code, number, text = _NAMED[key]
        common: dict[str, Any] = {"key": name, "code": code, "windowsVirtualKeyCode": number}
        self.ask(
            "Input.dispatchKeyEvent",
            type="keyDown" if text else "rawKeyDown",
            autoRepeat=held,
            **common,
            **({"text": text} if text else {}),
        )
        self.ask("Input.dispatchKeyEvent", type="keyUp", **common)

    def write(self, text: str) -> None:
        """What an input method gives is written where the cursor is."""
        self.ask("Input.insertText", text=text)

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
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); if (!e || e.disabled) return null;"
            " const b = e.getBoundingClientRect(); return b.width ? [b.left + b.width / 2, b.top + b.height / 2,"
            " b.left, b.top, b.width, b.height] : null; })()"
        )
        return None if box is None else (box[0], box[1])

    def screenshot(self, path: Path) -> Path:
        """Save what is on the screen, as a PNG file."""
        path.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"]))
        return path

    def screen(self, width: int, height: int, ratio: float = 1.0, touch: bool = False) -> None:
        """Give the page a screen of this size."""
        self.ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=ratio, mobile=touch
        )
        self.ask("Emulation.setTouchEmulationEnabled", enabled=touch)

    def close(self) -> None:
        """Close the page, which would go on by itself."""
        with suppress(SpanLabError):  # there may be nobody left to reply
            self.ask("Target.closeTarget", targetId=self._target)
        self._open.close()

    def __enter__(self) -> Tab:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Chromium:
    """The browser: a process of its own.

    Parameters
    ----------
    folder : for its profile
    """

    def __init__(self, folder: Path) -> None:
        # containers have no sandbox for programs of root, and nothing is opened but pages of this
        # computer
        options = (
            "--headless=new",
            "--no-sandbox",
            "--remote-debugging-port=0",
            "--disable-gpu",
            "--hide-scrollbars",
            "--mute-audio",
            "--no-first-run",
        )
        quiet = (
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-default-apps",
            "--disable-sync",
            "--window-size=1280,800",
        )
        still = (
            "--disable-renderer-backgrounding",
            "--disable-background-timer-throttling",
            "--disable-backgrounding-occluded-windows",
        )
        program = find_chromium()
        self.process = subprocess.Popen(
            [program, *options, *quiet, *still, f"--user-data-dir={folder}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        file, last = folder / "DevToolsActivePort", time.monotonic() + 120
        while not file.exists() or not file.read_text().strip():
            if self.process.poll() is not None or time.monotonic() > last:
                self.close()
                raise SpanLabError(
                    f"{program} does not start; try: {program} --headless=new --no-sandbox --dump-dom about:blank"
                )
            time.sleep(0.05)
        self.port = int(file.read_text().split()[0])

    def tab(self) -> Tab:
        """A new page."""
        with urlopen(Request(f"http://127.0.0.1:{self.port}/json/new?about:blank", method="PUT"), timeout=60) as answer:
            return Tab(json.load(answer)["webSocketDebuggerUrl"])

    def window(self) -> Tab:
        """A new page in a window of its own, which draws its frames beside others."""
        with (
            urlopen(f"http://127.0.0.1:{self.port}/json/version", timeout=60) as answer,
            connect(json.load(answer)["webSocketDebuggerUrl"]) as socket,
        ):
            socket.send(
                json.dumps(
                    {"id": 1, "method": "Target.createTarget", "params": {"url": "about:blank", "newWindow": True}}
                )
            )
            target = json.loads(socket.recv(timeout=60))["result"]["targetId"]
        return Tab(f"ws://127.0.0.1:{self.port}/devtools/page/{target}")

    def close(self) -> None:
        """End the browser."""
        self.process.kill()
        self.process.wait()


@contextmanager
def chromium(folder: Path) -> Generator[Chromium]:
    """A browser that ends with the block; a test is skipped where there is none."""
    need_chromium()
    browser = Chromium(folder)
    try:
        yield browser
    finally:
        browser.close()


class Lines:
    """What goes over the WebSockets of a tab."""

    def __init__(self, tab: Tab) -> None:
        self.sent: list[dict[str, Any]] = []
        self.received: list[dict[str, Any]] = []
        tab.listener = self._hear

    def _hear(self, message: Mapping[str, Any]) -> None:
        if message.get("method") in ("Network.webSocketFrameSent", "Network.webSocketFrameReceived"):
            (self.sent if message["method"].endswith("Sent") else self.received).append(
                json.loads(message["params"]["response"]["payloadData"])
            )
