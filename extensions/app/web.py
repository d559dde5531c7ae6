"""What pages of the app have in common: what they ask for, jobs as they show them, and what is not
there."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import chain, count
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import Request

from spanlab.core import SpanLabError
from spanlab.core.locale import sentence, sentences

from .jobs import Job

#: so many of the newest sessions and jobs stand on a page
NEWEST = 8


def say(word: object, language: str) -> str:
    """A word of a paradigm's file or of a table as pages say it; others as they are."""
    return sentences(language).get("word." + re.sub(r"\W+", "_", str(word)), str(word).replace("_", " "))


def said_levels(levels: Mapping[str, Any], language: str) -> dict[str, str]:
    """The levels of a trial as pages say them."""
    return {say(name, language): say(level, language) for name, level in levels.items()}


class MissingError(Exception):
    """There is nothing at an address."""


class RefusedError(SpanLabError):
    """What the app refuses, in a sentence of its own.

    Parameters
    ----------
    key : of the sentence
    values : what stands in its gaps
    """

    def __init__(self, key: str, **values: object) -> None:
        super().__init__(sentence(f"app.refused_{key}", "en", **values))
        self._key, self._values = key, values

    def said(self, language: str) -> dict[str, object]:
        """The sentence in the language of the pages, and what stands in its gaps."""
        return {**self._values, "problem": sentence(f"app.refused_{self._key}", language, **self._values)}


async def asked_by(request: Request) -> dict[str, Any]:
    """Return what a page asks for.

    Raises
    ------
    SpanLabError
        when it is no JSON object.
    """
    asked = None
    if (
        request.headers.get("content-type", "").partition(";")[0].strip() == "application/json"
    ):  # which no form of a page can send
        with suppress(ValueError, RecursionError):
            asked = json.loads(await request.body())
    if not isinstance(asked, dict):
        raise RefusedError("json")
    return asked


async def jobs_as_json(jobs: Sequence[Job]) -> list[dict[str, str]]:
    """The newest of some jobs, each with the page that it serves if it can be opened now."""
    return [
        {
            "name": job.name,
            "command": job.command,
            "state": job.state,
            "printed": job.printed,
            "address": as_others_open(job) if job.state == "runs" and await _listens(job.address) else "",
        }
        for job in jobs[:NEWEST]
    ]


def as_others_open(job: Job) -> str:
    """The address of the page that a job serves, by which other computers open it if they may."""
    here = "127.0.0.1"
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        asked.connect(("192.0.2.1", 9))  # which says where this computer is in its network; nothing is sent
        here = str(asked.getsockname()[0])
    return job.address.replace("127.0.0.1", here) if job.option("--host") == "0.0.0.0" else job.address


def free_port(wanted: int = 0) -> int:
    """The port that is wanted if nothing listens there; another one otherwise."""
    with suppress(OSError, OverflowError), socket.create_server(("127.0.0.1", wanted)) as tried:
        return int(tried.getsockname()[1])
    return free_port()


def first_free(name: str, is_taken: Callable[[str], bool]) -> str:
    """A name that is not taken: this one, or with a number."""
    return next(one for one in chain([name], (f"{name}_{number}" for number in count(2))) if not is_taken(one))


async def _listens(address: str) -> bool:
    """Return whether a page of this computer can be opened now."""
    try:
        page = urlsplit(address)
        if (page.scheme, page.hostname) != ("http", "127.0.0.1"):
            return False
        _, writer = await asyncio.open_connection("127.0.0.1", page.port)
    except (OSError, ValueError):
        return False
    writer.close()
    return True
