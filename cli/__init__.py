"""The command line."""

from __future__ import annotations


def main() -> None:
    """Run the command line with the arguments of this process."""
    from .app import main as run

    run()
