"""``spanlab app``."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from spanlab.api import DataOption, public
from spanlab.core import SpanLabError, make_folder
from spanlab.core.locale import languages


@public
def app(
    *,
    data: DataOption = "data",
    port: Annotated[int, typer.Option("--port", help="port to listen on; a free one for 0", min=0, max=65535)] = 8760,
    language: Annotated[str, typer.Option("--language", help="language of the pages")] = "en",
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="open the page in the browser")] = True,
) -> None:
    """Open the app: take a trial, let machines take the same one, see the curves, on this computer
    alone.

    Sessions are those of the command line, in the same folder; each button shows the command that
    it runs. What you have started goes on after the app ends.
    """
    if language not in languages():
        raise SpanLabError(f"the languages are {', '.join(languages())}; found '{language}'")
    folder = Path(data)
    make_folder(folder, f"sessions to {data}", "choose another folder with --data")
    from .server import make_server, serve

    server, gate = make_server(folder, port, language)

    def ready(address: str) -> None:
        link = gate.link(address)
        print(f"The app, for this computer alone: {link}  (Ctrl-C ends it; what it has started goes on)", flush=True)
        if browser:
            webbrowser.open(link)

    serve(server, ready)
