"""``spanlab app`` and ``spanlab view``."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer

from spanlab.api import DataOption, PathLike, Result, as_path, public
from spanlab.core import SpanLabError, make_folder
from spanlab.core.locale import languages

PortOption = Annotated[int, typer.Option("--port", help="port to listen on; a free one for 0", min=0, max=65535)]
LanguageOption = Annotated[str, typer.Option("--language", help="language of the pages")]
BrowserOption = Annotated[bool, typer.Option("--browser/--no-browser", help="open the page in the browser")]


@public
def app(
    file: Annotated[
        PathLike | None,
        typer.Argument(
            help="file of a paradigm that you are writing: its page follows what you save; or of a study",
            metavar="FILE",
        ),
    ] = None,
    *,
    data: DataOption = "data",
    port: PortOption = 8760,
    language: LanguageOption = "en",
    browser: BrowserOption = True,
) -> None:
    """Open the app: take a trial, let machines take the same one, see the curves, on this computer
    alone.

    Sessions are those of the command line, in the same folder; each button shows the command that
    it runs. What you have started goes on after the app ends. With the file of a paradigm, its page
    shows whenever you save: faults beside their lines, a trial to play, the words that a chat model
    gets, and the frames that a network gets. With the file of a study, the study's page opens.
    """
    folder, writing, page = Path(data), as_path(file), "/"
    if writing is not None:
        from .studies import study_in

        page = "/writing"
        if not writing.is_file():
            raise SpanLabError(f"there is no file {file}; spanlab new paradigm NAME writes one to start from")
        if study_in(writing):
            page, beside, writing = f"/studies/{quote(writing.stem)}", writing.parent / "data", None
            if folder.resolve().parent != beside.resolve().parent:
                raise SpanLabError(f"{file} is a study, and its data are in a folder beside it: add --data {beside}")
    make_folder(folder, f"sessions to {data}", "choose another folder with --data")
    _open(folder, port, language, browser, page, writing)


@public
def view(
    folder: Annotated[PathLike, typer.Argument(help="sessions, or a folder full of sessions", metavar="FOLDER")],
    *,
    output: Annotated[
        PathLike | None,
        typer.Option("-o", "--output", help="write the page into this folder, for colleagues, and end", metavar="DIR"),
    ] = None,
    port: PortOption = 0,
    language: LanguageOption = "en",
    browser: BrowserOption = True,
) -> Result:
    """Look at what chat models answered: one table over all sessions of a folder, and each
    conversation with its pictures, beside what others answered to the same questions.

    A page that is written for colleagues (-o) has the sessions that you name, and of them those of
    machines alone: no person's answers.

    Examples
    --------
    >>> result = spanlab.replay("vsr", "ideal", trials=2, seed=1, levels={"list_length": 2})
    >>> print(spanlab.view("data", output="replies"))
    replies/index.html
    """
    place = Path(folder)
    alone = place.resolve().name if (place / "session.json").is_file() else ""
    data = place.resolve().parent if alone else place
    if not data.is_dir():
        raise SpanLabError(f"{folder} is not a folder of sessions")
    if output is None:
        _open(data, port, language, browser, f"/replies?search={quote(alone)}")
        return Result()
    from .pages import AppPages
    from .replies import Replies, write_bundle

    _check_language(language)
    pages, file = AppPages(data, language), Path(output, "index.html")
    pages.replies = replies = Replies(pages.index, alone, people=False, language=language)
    left_out = write_bundle(replies, pages.replies_page(bundled=True), pages.conversation_page, file.parent)
    return Result(
        [str(file)],
        {"replies": replies.table()},
        [file],
        [f"{name} is left out, as it cannot be read" for name in left_out],
    )


def _check_language(language: str) -> None:
    if language not in languages():
        raise SpanLabError(f"the languages are {', '.join(languages())}; found '{language}'")


def _open(folder: Path, port: int, language: str, browser: bool, page: str, file: Path | None = None) -> None:
    """Serve the pages until Ctrl-C, and open one of them."""
    _check_language(language)
    from .server import make_server, serve

    server, gate = make_server(folder, port, language, file)

    def ready(address: str) -> None:
        link = gate.link(address, page)
        print(f"The app, for this computer alone: {link}  (Ctrl-C ends it; what it has started goes on)", flush=True)
        if browser:
            webbrowser.open(link)

    serve(server, ready)
