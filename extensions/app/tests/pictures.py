"""Takes pictures of the app's pages, as they are now, in Chromium.

    python extensions/app/tests/pictures.py        the pictures of docs/app.md, in docs/images/app
    python extensions/app/tests/pictures.py OUT [LANGUAGE ...]    every page in both languages, or in some, at 1280 and 390 px, light and dark, to be looked at

It makes sessions of simulated observers and of the network that ships, and a report of them, in a
folder that goes when it ends.
"""  # noqa: E501

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import chdir
from itertools import product
from pathlib import Path

from PIL import Image

import spanlab
from spanlab.api.starting import Kind

ROOT = Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "tests" / "helpers" / "browser"))
from chromium import Tab, chromium  # noqa: E402

from spanlab.extensions.app.tests.test_journey import the_app  # noqa: E402

PICTURES = ROOT / "docs" / "images" / "app"
CHAT = ROOT / "tests" / "golden" / "record" / "vsr-chat-scripted-s31"
#: Of the palette of a picture of the documentation.
COLOURS = 128
#: Pages with what tells that they are drawn.
PAGES = {
    "home": ("/", "!!document.querySelector('table')"),
    "paradigms": ("/paradigms", "!!document.querySelector('.wall img')?.complete"),
    "paradigm": ("/paradigms/vsr", "document.querySelector('#figure svg a') && document.querySelector('#display').alt"),
    "sessions": ("/sessions", "!!document.querySelector('table')"),
    "study": ("/studies/lab", "!!document.querySelector('#tasks li') && !!document.querySelector('#told li')"),
    "replies": (f"/replies#{CHAT.name}/1/2", "!!document.querySelector('dialog[open] h3')"),
    "reports": ("/reports", "!!document.querySelector('tbody a')"),
    "report": ("/reports/all#vsr_serial_position", "!!document.querySelector('#inside')"),
    "point": ("", "!!document.querySelector('tbody a')"),
    "trial": ("/sessions/{session}/trials/1", "!!document.querySelector('.strip img')"),
}
#: Those of the documentation: a full page, or what is seen of it at first.
SHOWN = {"paradigm": True, "trial": True, "report": False, "study": True, "replies": False}


def sessions(data: Path) -> str:
    """Sessions of the same trials by several machines; the path of the one that others repeat."""
    first = spanlab.replay(
        "vsr", agent="capacity:4", trials=48, levels={"list_length": [3, 5]}, seed=7, data=data, say=lambda _: None
    ).folder
    for agent in ("network:limited", "observer:sum"):
        spanlab.replay(agent=agent, like=first, data=data, say=lambda _: None)
    spanlab.replay("continuous_colour", agent="capacity:3", trials=60, seed=7, data=data, say=lambda _: None)
    shutil.copytree(CHAT, data / CHAT.name)
    spanlab.new(Kind.STUDY, "lab", output=data.parent)
    return first.name


def make_report(tab: Tab, base: str) -> str:
    """Make a report of all sessions as somebody at the page does; the address of the trials of one
    of its points."""
    tab.open(base + "/sessions")
    tab.until("document.querySelector('#compare code')?.textContent.startsWith('spanlab')")
    tab.evaluate("document.querySelector('#compare .main').click()")
    tab.until("!!document.querySelector('#inside')", 300)
    return f"{base}/reports/all/points?figure=vsr_serial_position&mark=0"


def take(tab: Tab, file: Path, width: int, scheme: str, whole: bool) -> None:
    """A picture of the page that is open."""
    tab.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    tab.screen(width, 900)
    time.sleep(2.5)  # figures in a frame are drawn one after the other
    if whole:
        tab.screen(width, max(900, min(4000, int(tab.evaluate("document.documentElement.scrollHeight")))))
    time.sleep(0.5)
    file.parent.mkdir(parents=True, exist_ok=True)
    tab.screenshot(file)


def main(out: Path | None, languages: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory() as folder, chdir(folder):  # commands are shown with this folder's names alone
        data = Path("data")
        session = sessions(data)
        for language in ("en",) if out is None else languages:
            with (
                the_app(data, "--language", language) as link,
                chromium(Path(folder) / f"profile-{language}") as browser,
                browser.tab() as tab,
            ):
                tab.open(link)
                tab.until("!!document.querySelector('.job')")
                base = link.partition("/?")[0]
                point = make_report(tab, base)
                wanted = (
                    [*product(SHOWN, (1280,), ("light",))]
                    if out is None
                    else [*product(PAGES, (1280, 390), ("light", "dark"))]
                )
                for name, width, scheme in wanted:
                    address, drawn = PAGES[name]
                    tab.open(base + address.format(session=session) if address else point)
                    tab.until(drawn, 240)
                    file = PICTURES / f"{name}.png" if out is None else out / f"{name}-{language}-{width}-{scheme}.png"
                    take(tab, file, width, scheme, SHOWN.get(name, True))
                    if out is None:
                        Image.open(file).convert("P", palette=Image.Palette.ADAPTIVE, colors=COLOURS).save(
                            file, optimize=True
                        )
                    print(file, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else None, sys.argv[2:] or ("en", "de"))
