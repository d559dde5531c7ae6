"""Runs a command, unless it passed before on the very same files.

python scripts/unchanged.py STAMP PATTERN... -- COMMAND...

The files are those of git's index and new ones that git does not ignore. STAMP keeps a hash of
their names and contents, and of the command, after it passed.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


def digest(patterns: Sequence[str], command: Sequence[str]) -> str:
    """A hash of the files' names and contents, and of the command."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns]
    names = subprocess.run(listing, capture_output=True, text=True, check=True).stdout.split("\0")
    hashed = hashlib.sha256("\0".join(command).encode())
    for name in sorted({name for name in names if name and Path(name).is_file()}):
        hashed.update(f"\0{name}\0".encode())
        hashed.update(Path(name).read_bytes())
    return hashed.hexdigest()


def main(arguments: Sequence[str]) -> int:
    """The command's exit status; 0 where it passed before."""
    border = arguments.index("--")
    stamp, patterns, command = Path(arguments[0]), arguments[1:border], arguments[border + 1 :]
    try:
        before = digest(patterns, command)
    except (OSError, subprocess.CalledProcessError):  # no git: nothing is known of what changed
        return subprocess.run(command).returncode
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == before:
        print(f"{Path(command[0]).name}: passed before, and no file has changed since")
        return 0
    status = subprocess.run(command).returncode
    if status == 0 and digest(patterns, command) == before:
        stamp.write_text(before, encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
