"""The participant of the demonstration in a browser: `spanlab serve`, a Chromium without a screen,
and hands that take the visit there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from spanlab.agents import Observer
from spanlab.core import SpanLabError
from spanlab.sessions import ChosenTrials, remove_unused

from .participant.channel import Channel
from .participant.chromium import chromium, find_chromium
from .participant.frames import FrameStore
from .participant.hands import Decision, Hands
from .participant.screen import PageScreen
from .participant.simulated import SimulatedAtPage
from .visits.offers import Looks, ParadigmOffer
from .visits.visits import VisitDesk

#: who takes part, as the link says
PARTICIPANT = "simulated"
_SCREEN_PX = (1280, 800)
#: the visit is over within so many seconds
_LONGEST_S = 1200


def check() -> None:
    """See to it that there is what a participant in a browser needs.

    Raises
    ------
    SpanLabError
        when there is not; the message says how to install it.
    """
    find_chromium()


def take_in_browser(data: Path, chosen: ChosenTrials, observer: Observer, speed: float) -> str:
    """Have a simulated participant take trials in Chromium.

    Parameters
    ----------
    data : folder for the session, and for no other
    speed : of the participant's reaction times

    Returns
    -------
    the name of the session

    Raises
    ------
    SpanLabError
        when the visit does not come to its end; a session in which nothing has happened is removed.
    """
    from .visits.serving import make_server, running  # loads what :func:`check` looks for

    said: list[str] = []
    seated: list[SimulatedAtPage] = []
    offer = ParadigmOffer(chosen.source, data, chosen.paradigm, practice=False, given=chosen)

    def seat(channel: Channel, frames: FrameStore, screen: Callable[[], PageScreen], looks: Looks) -> SimulatedAtPage:
        seated.append(
            SimulatedAtPage(channel, frames, screen, observer, looks.palette, looks.refractory, chosen.seed, speed)
        )
        return seated[-1]

    def decided(command: int, step: int) -> Decision | None:
        return seated[-1].decisions.get((command, step)) if seated else None

    try:
        with TemporaryDirectory(ignore_cleanup_errors=True) as profile, chromium(Path(profile)) as browser:
            desk = VisitDesk(offer, said.append, seat)
            with running(make_server(desk), desk) as port, browser.window() as tab:
                tab.screen(*_SCREEN_PX)
                tab.open(f"http://127.0.0.1:{port}/?participant={PARTICIPANT}")
                tab.until("document.querySelector('#sheet button') !== null")
                Hands(tab, decided, "both", seed=chosen.seed).go(_LONGEST_S)
        if said:
            raise SpanLabError(f"the visit in the browser was not finished: {'; '.join(said)}")
    except SpanLabError:
        for folder in data.iterdir() if data.is_dir() else ():
            remove_unused(folder)
        raise
    (folder,) = data.iterdir()
    return folder.name
