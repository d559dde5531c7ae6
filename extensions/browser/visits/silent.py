"""Connections that say nothing: each has a few seconds for its request, and few of one address wait
at the same time."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Any

from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol

#: A connection has sent the head of its request within so many seconds.
HEAD_S = 10.0
#: So many connections of one address, and so many in all, may be silent for longer than this (s).
#: The oldest goes when there is another one. Many honest pages may come in the same second, and
#: behind a proxy all have its address.
GRACE_S, MOST_OF_ADDRESS, MOST_SILENT = 3.0, 100, 400

_silent: OrderedDict[PromptHttp, str] = OrderedDict()


class PromptHttp(H11Protocol):
    """A connection that is closed when it does not say what it wants."""

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._waits = self.loop.call_later(HEAD_S, self._give_up)
        address = self.client[0] if self.client else ""
        self._since = self.loop.time()
        late = [line for line in _silent if self._since - line._since > GRACE_S]
        of_address = [line for line in late if _silent[line] == address]
        if len(of_address) >= MOST_OF_ADDRESS:
            of_address[0]._give_up()
        elif len(late) >= MOST_SILENT:
            late[0]._give_up()
        _silent[self] = address

    @override
    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.scope is not None:  # pyright: ignore[reportUnnecessaryComparison]
            self._has_spoken()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._has_spoken()
        super().connection_lost(exc)

    def _has_spoken(self) -> None:
        self._waits.cancel()
        _silent.pop(self, None)

    def _give_up(self, *_: Any) -> None:
        self._has_spoken()
        self.transport.abort()
