"""The command ``spanlab serve``: what it refuses before anybody can come."""

from __future__ import annotations

import socket

from command_line import Run


def test_a_port_in_use_is_told_before_an_address(run: Run) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        status, out, err = run("serve", "vsr", "--port", str(taken.getsockname()[1]))
    assert (status, out) == (1, "")
    assert "is another server running there? Choose another port with --port" in err
