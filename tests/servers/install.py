"""Makes the environments of the servers; ``python tests/servers/install.py``."""

from __future__ import annotations

import sys
from pathlib import Path

_TESTS = Path(__file__).resolve().parent.parent
#: as pytest finds them, too
sys.path[:0] = [str(_TESTS), str(_TESTS / "helpers" / "chat")]

from servers.environments import ENVIRONMENTS  # noqa: E402 - found by the lines above
from spanlab.core.errors import SpanLabError  # noqa: E402


def main() -> int:
    """All of them; each that cannot be made is said in one sentence."""
    failed = 0
    for wanted in ENVIRONMENTS:
        try:
            wanted.install()
        except SpanLabError as error:
            failed += 1
            print(f"error: {error}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
