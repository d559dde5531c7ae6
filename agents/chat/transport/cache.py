"""Replies that were paid for, kept in a folder for other sessions: the same request, in the same
repetition, is not paid for again."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ....core.errors import SpanLabError
from ....paradigms.identity import digest
from ..messages import Reply, Request, stored_reply
from .replies import is_reply

_VERSION = 1


class ReplyCache:
    """A folder of replies, one file each, appearing whole or not at all; several programs may use
    it at once.

    Parameters
    ----------
    folder : where they are; made when it is not there
    scope : what a reply depends on besides the request: model, endpoint, number of the repetition

    Raises
    ------
    SpanLabError
        when the folder cannot be used.
    """

    def __init__(self, folder: Path, scope: Any) -> None:
        self._folder = folder
        self._scope = scope
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SpanLabError(
                f"replies cannot be kept in {folder}: {error.strerror or error}; choose another folder for the cache"
            ) from None

    def _key(self, request: Request) -> str:
        return digest([_VERSION, self._scope, request.identity, dict(request.options), request.trial_seed], length=40)

    def path(self, request: Request) -> Path:
        """The file of the reply to this request."""
        key = self._key(request)
        return self._folder / key[:2] / f"{key}.json"

    def get(self, request: Request) -> Reply | None:
        """The reply to this request, marked as cached; None when there is none. A damaged file is
        warned of, and counts as none."""
        path = self.path(request)
        try:
            content = json.loads(path.read_bytes())
            if content["key"] != self._key(request):
                raise ValueError("it is the reply to another request")
            reply = stored_reply(content["reply"])
            if not is_reply(reply):
                return None  # an error that was once taken for a reply
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, ValidationError):
            warnings.warn(
                f"{path} is damaged and is not used: the reply is asked for again, and the file replaced", stacklevel=2
            )
            return None
        return reply.model_copy(update={"cached": True})

    def put(self, request: Request, reply: Reply) -> None:
        """Keep a reply, without the faults that preceded it.

        Raises
        ------
        SpanLabError
            when it cannot be written.
        """
        if not is_reply(reply) or reply.refusal is not None:
            return
        path = self.path(request)
        partial = path.with_name(f".{path.name}.{os.getpid()}.part")
        kept = reply.model_copy(update={"faults": (), "waited_ms": 0.0})
        try:
            path.parent.mkdir(exist_ok=True)
            partial.write_text(
                json.dumps({"key": self._key(request), "reply": kept.model_dump(mode="json")}), encoding="ascii"
            )
            partial.replace(path)
        except OSError as error:
            raise SpanLabError(
                f"cannot write {path}: {error.strerror or error}; free some space, or continue without a cache"
            ) from None
