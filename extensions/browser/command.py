"""``spanlab serve``: sessions with people in browsers; ``spanlab study links``: signed links to them."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import secrets
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spanlab.api import DataOption, PathLike, Result, Words, public, words
from spanlab.api.options import LevelsOption, as_lists
from spanlab.core import SpanLabError, make_folder

if TYPE_CHECKING:
    from .visits.board import MonitorBoard
    from .visits.neighbours import Neighbours
    from .visits.visits import Offer, VisitDesk

#: Python lets another thread run after so long (s): the server's own answers pages, and must not
#: wait for those of sessions.
_SWITCH_S = 0.001


@public
def serve(
    paradigm: Annotated[
        str,
        typer.Argument(
            help="name in the library (spanlab list), or a YAML file: a paradigm or a study",
            metavar="PARADIGM_OR_STUDY",
        ),
    ],
    *,
    port: Annotated[int, typer.Option("--port", help="port to listen on", min=1, max=65535)] = 8765,
    host: Annotated[
        str, typer.Option("--host", help="address to listen on; 127.0.0.1 is this computer alone")
    ] = "127.0.0.1",
    data: DataOption = "data",
    most: Annotated[int, typer.Option("--most", help="participants at the same time", min=1, max=2000)] = 60,
    workers: Annotated[
        int,
        typer.Option("--workers", help="processes that share the visits, for hundreds of them", min=1, max=64),
    ] = 1,
    pilot: Annotated[bool, typer.Option("--pilot", help="mark the data as pilot data")] = False,
    language: Annotated[
        str, typer.Option("--language", help="paradigms: language of the instructions; en when not given")
    ] = "",
    trials: Annotated[
        int | None,
        typer.Option("--trials", help="paradigms: number of trials instead of the design's repetitions", min=1),
    ] = None,
    levels: LevelsOption = None,
    design: Annotated[
        str | None, typer.Option("--design", help="paradigms: session design of the paradigm; 'human' if not given")
    ] = None,
    practice: Annotated[bool, typer.Option("--practice/--no-practice", help="paradigms: begin with practice")] = True,
    keys: Annotated[
        str,
        typer.Option(
            "--keys",
            help="paradigms: keys for questions with two words: standard (when not given), swapped or counterbalanced",
        ),
    ] = "",
    key: Annotated[
        Words,
        typer.Option("--key", help="paradigms: another key for an answer, such as same=s", metavar="ANSWER=KEY"),
    ] = (),
    palette: Annotated[
        str, typer.Option("--palette", help="paradigms: colours of the stimuli", metavar="published|safe")
    ] = "",
) -> None:
    """Serve a study or a paradigm to participants in browsers, until Ctrl-C.

    A participant opens http://HOST:PORT/?participant=ID (Prolific's PROLIFIC_PID is understood;
    without either, the page makes an identifier). The record is that of every session. After a
    reload, a cut connection or a restart of the server the session goes on with the next trial.

    Not in a browser, and refused at the start: trigger codes, button boxes, display files, and
    questions that take any number of marks.

    Examples
    --------
    It ends with Ctrl-C:

    >>> spanlab.serve("vsr", data="data")  # doctest: +SKIP
    """
    from spanlab.sessions.key_mapping import key_setting
    from spanlab.sessions.studies import is_study
    from spanlab.stimuli.render import checked_palette

    from .visits.one_paradigm import ParadigmOffer

    folder = Path(data)
    if is_study(paradigm):
        in_files = {
            "language": language,
            "trials": trials,
            "set": levels,
            "design": design,
            "no-practice": not practice,
        }
        in_files |= {"keys": keys, "key": key, "palette": palette}
        if typed := [f"--{name}" for name, value in in_files.items() if value]:
            raise SpanLabError(f"leave out {' and '.join(typed)}: the study file says that")
        offering = partial(_study_offer, paradigm, folder, pilot)
    else:
        more = {
            "language": language or "en",
            "trials": trials,
            "levels": as_lists(levels),
            "design": design,
            "practice": practice,
            "pilot": pilot,
            "keys": key_setting(keys or "standard", words(key)),
            "palette": checked_palette(palette or "safe"),
        }
        offering = partial(ParadigmOffer.checked, paradigm, folder, **more)
    offer = offering()
    make_folder(folder, f"sessions to {data}", "choose another folder with --data")
    _check_port(host, port)
    if workers > 1:
        _serve_by_several(offering, offer, host, port, most, workers)
    else:
        _serve(offer, host, port, most)


def _study_offer(file: str, data: Path, pilot: bool) -> Offer:
    """Return what visitors of a study are offered."""
    from spanlab.sessions.studies import load_study

    from .visits.offers import StudyOffer

    return StudyOffer.checked(load_study(file), data, "pilot" if pilot else "person")


def _serve(offer: Offer, host: str, port: int, most: int) -> None:
    """Serve an offer until Ctrl-C.

    Raises
    ------
    SpanLabError
        when nothing can listen there.
    """
    from .visits.serving import make_server

    with _desk(offer, most) as desk:
        board = _board(desk)
        _announce(offer.title, host, port, board.token)
        server = make_server(desk, board, host, port)
        with suppress(SystemExit, KeyboardInterrupt):  # nothing can listen; Ctrl-C, which the server has heeded
            server.run()
    if not server.started:
        raise _nothing_listens(host, port)


@contextmanager
def _desk(offer: Offer, most: int, neighbours: Neighbours | None = None) -> Generator[VisitDesk]:
    """A desk for visits, whose pictures are drawn by processes of its own; its sessions end with the block."""
    from .participant.drawing import DrawingPool
    from .participant.frames import FrameStore
    from .visits.visits import VisitDesk

    sys.setswitchinterval(_SWITCH_S)
    share = 1 if neighbours is None else neighbours.workers
    pool = DrawingPool(max(1, (os.cpu_count() or 1) // share), offer.font)
    pool.start()
    desk = VisitDesk(offer, _say, most=most, frames=FrameStore(draw=pool), neighbours=neighbours)
    try:
        yield desk
    finally:
        desk.close()
        pool.close()


def _say(text: str) -> None:
    print(f"spanlab: {text}", file=sys.stderr)


def _board(desk: VisitDesk, token: str = "") -> MonitorBoard:
    """The page of the assistant."""
    from spanlab.analysis.data import timing_in_short

    from .visits.board import MonitorBoard

    return MonitorBoard(desk, timing_in_short, token)


def _serve_by_several(
    offering: Callable[[], Offer], offer: Offer, host: str, port: int, most: int, workers: int
) -> None:
    """Serve an offer by several processes until Ctrl-C.

    Raises
    ------
    SpanLabError
        when nothing can listen there, or a process does not begin.
    """
    from .visits.neighbours import Neighbours
    from .visits.workers import Gate

    token, places = secrets.token_urlsafe(32), Neighbours(*offer.exchange)
    places.forget()
    gate = Gate(workers, partial(_work, offering, most, workers, token), _say)
    try:
        asyncio.run(gate.serve(host, port, lambda: _announce(offer.title, host, port, token)))
    except OSError:
        raise _nothing_listens(host, port) from None
    except KeyboardInterrupt:
        pass
    finally:
        places.forget()


def _work(
    offering: Callable[[], Offer], most: int, workers: int, token: str, number: int, run: Callable[[Any], None]
) -> None:
    """Serve as one of several processes."""
    from .visits.neighbours import Neighbours
    from .visits.serving import make_server

    offer = offering()
    with _desk(offer, most, Neighbours(*offer.exchange, number, workers)) as desk:
        run(make_server(desk, None if number else _board(desk, token)))


def _announce(title: str, host: str, port: int, monitor: str) -> None:
    """Print where the pages are."""
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    print(f"{title}: {address}/?participant=ID  (Ctrl-C ends it)", flush=True)
    print(f"for the assistant alone: {address}/monitor#{monitor}", flush=True)
    if not _here(host):
        print(
            "spanlab: other computers can reach this server. Put it behind a reverse proxy with TLS: without it,"
            " answers travel unencrypted, and browsers tell the time less precisely",
            file=sys.stderr,
        )


def _nothing_listens(host: str, port: int) -> SpanLabError:
    return SpanLabError(
        f"nothing can listen on {host} port {port}: is another server running there? Choose another port with --port"
    )


@public
def links(
    study: Annotated[PathLike, typer.Argument(help="the study file", metavar="STUDY")],
    *,
    n: Annotated[int, typer.Option("--n", help="how many links", min=1, max=100_000)],
    address: Annotated[
        str, typer.Option("--address", help="address of the server, as participants open it")
    ] = "http://127.0.0.1:8765",
    prefix: Annotated[str, typer.Option("--prefix", help="beginning of the identifiers")] = "p",
    data: DataOption = "data",
) -> Result:
    """Print signed links for a study, one for each participant.

    Each link names one participant, who takes one place, however often it is opened. With online:
    {admission: links} in the study file nobody else is let in. The key with which links are signed
    is in the data folder of the study; whoever has it can make more.

    Examples
    --------
    >>> study = spanlab.new("study", "my_study").file
    >>> spanlab.study_links(study, n=2)
    Traceback (most recent call last):
    ...
    spanlab.core.errors.SpanLabError: my_study.yaml lets in whoever has the address, so a signature has no meaning: ...
    """
    from spanlab.sessions.studies import load_study
    from spanlab.sessions.studies.participants import misnamed

    from .visits.admission import Tickets
    from .visits.offers import TICKET

    loaded = load_study(study)
    if loaded.online is None or loaded.online.admission != "links":
        raise SpanLabError(
            f"{study} lets in whoever has the address, so a signature has no meaning: write online: {{admission:"
            " links} in the study file"
        )
    if not address.startswith(("http://", "https://")) or any(sign in address for sign in "?#"):
        raise SpanLabError(
            f"is where the server is, such as https://lab.example.org; found '{address}'", option="address"
        )
    tickets, identifier = Tickets.of_study(loaded, Path(data)), loaded.online.identifier or "participant"
    found = Result()
    for _ in range(n):
        name = f"{prefix}-{secrets.token_hex(6)}"
        if why := misnamed(name):
            raise SpanLabError(f"{prefix}: {why}", option="prefix")
        found.lines.append(f"{address.rstrip('/')}/?{identifier}={name}&{TICKET}={tickets.sign(name)}")
    found.tables = {"links": [{"link": link} for link in found.lines]}
    return found


def _check_port(host: str, port: int) -> None:
    """Make sure that nothing listens there, before an address is printed.

    Raises
    ------
    SpanLabError
        when something does, or the address is not one of this computer.
    """
    import socket

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((host, port))
        except OSError:
            raise _nothing_listens(host, port) from None


def _here(host: str) -> bool:
    """Return whether an address is that of this computer alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
