"""The wordings that ship: paraphrases of the instructions of the ten WorM tasks and of N-back."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from spanlab.core import write_whole, written_in

#: Files of instructions by paradigm; a paradigm's own instructions are a further wording.
NAMES = ("plain", "formal", "brief", "friendly")


def shipped_text(name: str) -> str:
    """Return the file of a wording that ships."""
    return files("spanlab.extensions.wordings").joinpath("sets", f"{name}.yaml").read_text(encoding="utf-8")


def write_shipped(folder: Path) -> list[Path]:
    """Write the wordings into a folder and return their paths, and that of a set file's lines which
    name them.

    Raises
    ------
    SpanLabError
        when the folder cannot be written.
    """
    paths = [folder / f"{name}.yaml" for name in NAMES]
    lines = ["# for a set file beside this folder", "wordings:", "  own: {}"]
    lines += [f"  {name}: {{instructions: {folder.name}/{name}.yaml}}" for name in NAMES]
    with written_in(folder, f"to {folder}"):
        for path, name in zip(paths, NAMES, strict=True):
            write_whole(path, shipped_text(name).encode())
        write_whole(folder / "wordings.txt", ("\n".join(lines) + "\n").encode())
    return [*paths, folder / "wordings.txt"]
