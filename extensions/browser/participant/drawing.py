"""Drawing of frames: in this process, or in a pool of others, where whoever has drawn least comes
first."""

# pyright: strict
from __future__ import annotations

import io
import itertools
import multiprocessing
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from spanlab.agents.human.display import keys_picture
from spanlab.agents.human.pages import Strip
from spanlab.paradigms.preview import ExampleDisplay
from spanlab.paradigms.responses import Surface
from spanlab.stimuli import Stimulus
from spanlab.stimuli.own_files import places, remember
from spanlab.stimuli.render import PALETTES, PaletteName, picture, recoloured, ring, use_font

#: Fonts are not made for several threads at once.
DRAWING = threading.Lock()
#: What somebody has drawn counts half after so many seconds.
_HALVED_S = 30.0
#: Processor time below this (s) is no reason to wait for others.
_GRAIN_S = 0.25
#: Processes that draw give way to the server, which has to acknowledge answers.
_NICER = 3


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame of a trial: a stimulus, or the keys and scales of an answering surface; the ring of a
    tone where there is neither.

    Parameters
    ----------
    size_px : width and height of the canvas
    """

    size_px: int
    stimulus: Stimulus | None = None
    surface: Surface | None = None
    palette: PaletteName = "published"

    def draw(self) -> Image.Image:
        """The picture."""
        if self.stimulus is not None:
            return picture(recoloured(self.stimulus.scene(), PALETTES[self.palette]), self.size_px)
        return ring(self.size_px) if self.surface is None else keys_picture(self.surface, self.size_px)


@dataclass(frozen=True, slots=True)
class ExamplePicture:
    """The displays of an example side by side, as at the window.

    Parameters
    ----------
    displays : of the example
    strip : how they are arranged
    """

    displays: tuple[ExampleDisplay, ...]
    strip: Strip
    language: str
    palette: PaletteName = "published"

    def draw(self) -> Image.Image:
        """The picture."""
        return self.strip.draw(self.displays, self.language, lambda scene: recoloured(scene, PALETTES[self.palette]))


#: something to draw; two that are equal look alike
Drawable = Frame | ExamplePicture
#: gives the PNG file of a picture as soon as it is drawn, for the owner who is named
Drawer = Callable[[Drawable, str], Future[bytes]]


def png(image: Image.Image) -> bytes:
    """The PNG file of a picture."""
    file = io.BytesIO()
    image.save(file, "PNG", compress_level=1)
    return file.getvalue()


def draw_png(drawable: Drawable, seen: Sequence[tuple[str, Path]] = ()) -> bytes:
    """Draw something, and return its PNG file.

    Parameters
    ----------
    seen : contents of a laboratory's own files, and where they lie, for a process that does not know it
    """
    for sha256, path in seen:
        remember(sha256, path)
    with DRAWING:
        image = drawable.draw()
    return png(image)


def draw_here(drawable: Drawable, owner: str) -> Future[bytes]:
    """Draw in this process, before anything else is done."""
    drawn: Future[bytes] = Future()
    try:
        drawn.set_result(draw_png(drawable))
    except Exception as error:
        drawn.set_exception(error)
    return drawn


def _begin_worker(font: str) -> None:
    """Take the typeface of a study, give way to the server, and leave Ctrl-C to it."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform != "win32":  # which has no such thing
        with suppress(OSError):
            os.nice(_NICER)
    threading.Thread(target=_end_with_server, daemon=True).start()
    use_font(Path(font) if font else None)


def _end_with_server() -> None:
    """End this process when the server is gone, also where it was killed."""
    server = multiprocessing.parent_process()
    if server is not None:
        server.join()
        os._exit(0)


class DrawingPool:
    """Processes that draw. Of those who wait, the one comes first for whom least was drawn lately.

    So a page that has everything drawn anew again and again waits for itself, and not others for
    it.

    Parameters
    ----------
    processes : how many; as many as processors if not given
    font : of the study; the shipped typeface if not given
    clock : in seconds
    """

    def __init__(
        self, processes: int | None = None, font: Path | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most = processes or os.cpu_count() or 1
        arguments = (str(font or ""),)
        self._pool = ProcessPoolExecutor(self._most, multiprocessing.get_context("spawn"), _begin_worker, arguments)
        self._queue = FairQueue(self._most, self._submit, clock)

    def __call__(self, drawable: Drawable, owner: str) -> Future[bytes]:
        """The PNG file, as soon as it is drawn."""
        return self._queue.put(drawable, owner)

    def _submit(self, drawable: Drawable) -> Future[bytes]:
        return self._pool.submit(draw_png, drawable, places())

    def start(self) -> list[Future[bytes]]:
        """Start all processes, so that nobody waits for that later. Returns what they draw first."""
        return [self._pool.submit(draw_png, Frame(96)) for _ in range(2 * self._most)]

    def close(self) -> None:
        """End the processes; a process that is itself one of several must not end before them."""
        self._pool.shutdown(cancel_futures=True)


@dataclass(frozen=True, slots=True)
class _Order:
    """Something that somebody wants to have drawn."""

    number: int
    drawable: Drawable
    owner: str
    drawn: Future[bytes]


class FairQueue:
    """Hands on what is to be drawn: a few things at the same time, and first those of whoever has
    drawn least.

    Parameters
    ----------
    most : things at the same time
    submit : has something drawn
    """

    def __init__(
        self, most: int, submit: Callable[[Drawable], Future[bytes]], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most, self._submit, self._clock = most, submit, clock
        self._lock = threading.Lock()
        self._waiting: dict[str, deque[_Order]] = {}
        self._numbers = itertools.count()
        self._under_way = 0
        self._drawn: dict[str, tuple[float, float]] = {}

    def put(self, drawable: Drawable, owner: str) -> Future[bytes]:
        """Have something drawn, when its turn has come."""
        with self._lock:
            order = _Order(next(self._numbers), drawable, owner, Future())
            self._waiting.setdefault(owner, deque()).append(order)
        self._begin_next()
        return order.drawn

    def _begin_next(self) -> None:
        """Begin what comes next, if there is somebody to draw it."""
        with self._lock:
            if self._under_way == self._most or not self._waiting:
                return
            self._under_way += 1
            order = self._next()
        began = self._clock()
        try:
            self._submit(order.drawable).add_done_callback(lambda done: self._finish(order, done, began))
        except RuntimeError as error:  # the processes have ended
            failed: Future[bytes] = Future()
            failed.set_exception(error)
            self._finish(order, failed, began)

    def _next(self) -> _Order:
        """Take what comes next out of the queue: of those for whom about equally little was drawn,
        the oldest order."""
        owner = min(
            self._waiting, key=lambda name: (int(self._drawn_lately(name) / _GRAIN_S), self._waiting[name][0].number)
        )
        orders = self._waiting[owner]
        order = orders.popleft()
        if not orders:
            del self._waiting[owner]
        return order

    def _finish(self, order: _Order, done: Future[bytes], began: float) -> None:
        """Something was drawn: hand it over, and begin what comes next."""
        with self._lock:
            self._count(order.owner, self._clock() - began)
            self._under_way -= 1
        self._begin_next()
        if done.cancelled():
            order.drawn.cancel()
        elif (error := done.exception()) is not None:
            order.drawn.set_exception(error)
        else:
            order.drawn.set_result(done.result())

    def _drawn_lately(self, owner: str) -> float:
        """For how long (s) something was drawn for somebody; what is long ago counts less."""
        seconds, at = self._drawn.get(owner, (0.0, 0.0))
        return seconds * 0.5 ** ((self._clock() - at) / _HALVED_S)

    def _count(self, owner: str, seconds: float) -> None:
        self._drawn[owner] = (self._drawn_lately(owner) + seconds, self._clock())
        if len(self._drawn) > 5000:
            now = self._clock()
            self._drawn = {name: one for name, one in self._drawn.items() if now - one[1] < 10 * _HALVED_S}
