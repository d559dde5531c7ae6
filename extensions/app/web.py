"""What pages of the app have in common: what they ask for, jobs as they show them, and what is not
there."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import Request

from spanlab.core import SpanLabError

from .jobs import Job

#: so many of the newest sessions and jobs stand on a page
NEWEST = 8


class MissingError(Exception):
    """There is nothing at an address."""


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
        raise SpanLabError("a page of the app asks in JSON")
    return asked


async def jobs_as_json(jobs: Sequence[Job]) -> list[dict[str, str]]:
    """The newest of some jobs, each with the page that it serves if it can be opened now."""
    return [
        {
            "name": job.name,
            "command": job.command,
            "state": job.state,
            "printed": job.printed,
            "address": job.address if job.state == "runs" and await _listens(job.address) else "",
        }
        for job in jobs[:NEWEST]
    ]


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
