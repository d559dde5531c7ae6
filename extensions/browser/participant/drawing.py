"""Drawing of frames: in this process, or in a pool of others, where whoever has drawn least comes first."""

# pyright: strict
from __future__ import annotations

import heapq
import io
import itertools
import multiprocessing
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from PIL import Image

from spanlab.agents.human.display import keys_picture
from spanlab.paradigms import Surface
from spanlab.stimuli import Stimulus
from spanlab.stimuli.render import PALETTES, PaletteName, picture, recoloured, ring, use_font

#: Fonts are not made for several threads at once.
DRAWING = threading.Lock()
#: What somebody has drawn counts half after so many seconds.
_HALVED_S = 30.0
#: Processor time below this (s) is no reason to wait for others.
_GRAIN_S = 0.25


@dataclass(frozen=True, slots=True)
class Drawable:
    """Something to draw: a stimulus, or the keys and scales of an answering surface; the ring of a tone where there is neither.

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


def png(image: Image.Image) -> bytes:
    """The PNG file of a picture."""
    file = io.BytesIO()
    image.save(file, "PNG", compress_level=1)
    return file.getvalue()


def draw_png(drawable: Drawable) -> bytes:
    """Draw something, and return its PNG file."""
    with DRAWING:
        image = drawable.draw()
    return png(image)


class Drawer(Protocol):
    """Draws frames."""

    def __call__(self, drawable: Drawable, owner: str) -> bytes:
        """The PNG file.

        Parameters
        ----------
        owner : for whom it is drawn
        """
        ...


def draw_here(drawable: Drawable, owner: str) -> bytes:
    """Draw in this process."""
    return draw_png(drawable)


def _begin_worker(font: str) -> None:
    """Take the typeface of a study, and leave Ctrl-C to the server."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    use_font(Path(font) if font else None)


class DrawingPool:
    """Processes that draw. Of those who wait, the one comes first for whom least was drawn lately.

    So a page that has everything drawn anew again and again waits for itself, and not others for it.

    Parameters
    ----------
    processes : how many; as many as processors if not given
    font : of the study; the shipped typeface if not given
    clock : in seconds
    """

    def __init__(self, processes: int | None = None, font: Path | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = processes or os.cpu_count() or 1
        arguments = (str(font or ""),)
        self._pool = ProcessPoolExecutor(self._most, multiprocessing.get_context("spawn"), _begin_worker, arguments)
        self._queue = FairQueue(self._most, self._submit, clock)

    def __call__(self, drawable: Drawable, owner: str) -> bytes:
        """The PNG file."""
        return self._queue.wait(drawable, owner)

    def _submit(self, drawable: Drawable) -> Future[bytes]:
        return self._pool.submit(draw_png, drawable)

    def warm_up(self) -> None:
        """Start all processes before anybody waits for them."""
        for future in [self._pool.submit(draw_png, Drawable(96)) for _ in range(2 * self._most)]:
            future.result()

    def close(self) -> None:
        """End the processes."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class FairQueue:
    """Hands on what is to be drawn: a few things at the same time, and first those of whoever has drawn least.

    Parameters
    ----------
    most : things at the same time
    submit : has something drawn
    """

    def __init__(self, most: int, submit: Callable[[Drawable], Future[bytes]], clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._submit, self._clock = most, submit, clock
        self._lock = threading.Lock()
        self._waiting: list[tuple[int, int, threading.Event]] = []
        self._order = itertools.count()
        self._under_way = 0
        self._drawn: dict[str, tuple[float, float]] = {}

    def wait(self, drawable: Drawable, owner: str) -> bytes:
        """Have something drawn, when its turn has come."""
        turn = self._turn_of(owner)
        if turn is not None:
            turn.wait()
        began = self._clock()
        try:
            return self._submit(drawable).result()
        finally:
            self._next(owner, self._clock() - began)

    def _turn_of(self, owner: str) -> threading.Event | None:
        """What is set when it is somebody's turn; None where that is now."""
        with self._lock:
            if self._under_way < self._most:
                self._under_way += 1
                return None
            turn = threading.Event()
            heapq.heappush(self._waiting, (int(self._drawn_lately(owner) / _GRAIN_S), next(self._order), turn))
            return turn

    def _next(self, owner: str, seconds: float) -> None:
        """Something was drawn for somebody: whoever comes first is next."""
        with self._lock:
            self._count(owner, seconds)
            if self._waiting:
                heapq.heappop(self._waiting)[2].set()
            else:
                self._under_way -= 1

    def _drawn_lately(self, owner: str) -> float:
        """For how long (s) something was drawn for somebody; what is long ago counts less."""
        seconds, at = self._drawn.get(owner, (0.0, 0.0))
        return seconds * 0.5 ** ((self._clock() - at) / _HALVED_S)

    def _count(self, owner: str, seconds: float) -> None:
        self._drawn[owner] = (self._drawn_lately(owner) + seconds, self._clock())
        if len(self._drawn) > 5000:
            now = self._clock()
            self._drawn = {name: one for name, one in self._drawn.items() if now - one[1] < 10 * _HALVED_S}
