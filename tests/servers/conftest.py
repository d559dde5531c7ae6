"""What a server is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from chat_servers import Tap, recording

from servers.local import LocalServer


@pytest.fixture
def tap(server: LocalServer) -> Iterator[Tap]:
    with recording(server.root) as listening:
        yield listening
