"""Draws the pictures of the guides by the commands that stand in them.

    python scripts/site_pages/guide_figures.py            all guides that show such a picture
    python scripts/site_pages/guide_figures.py analysis   one of them

A guide ``NAME.md`` that shows ``images/guides/NAME-FILE`` has a command that writes ``FILE``. Its commands are run in
an empty folder, with the paradigms and studies that it shows, and the file is kept.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
PICTURES = DOCS / "images" / "guides"
_BLOCK = re.compile(r"(?:<!-- (?P<mark>[^>]*?) -->\n)?```(?P<language>\w+)\n(?P<text>.*?)```", re.DOTALL)


def pictures(guide: str) -> list[str]:
    """The files of a guide that are shown in it."""
    return re.findall(rf"\]\(images/guides/{guide}-([\w.-]+)\)", (DOCS / f"{guide}.md").read_text(encoding="utf-8"))


def commands(guide: str, folder: Path) -> Iterator[str]:
    """The commands of a guide; paradigms and studies that it shows are written first."""
    blocks = list(_BLOCK.finditer((DOCS / f"{guide}.md").read_text(encoding="utf-8")))
    for block in blocks:
        if block["language"] == "yaml" and (name := re.match(r"(?:paradigm|study): (\w+)\n", block["text"])):
            (folder / f"{name[1]}.yaml").write_text(block["text"], encoding="utf-8")
    for block in blocks:
        if block["language"] == "console" and not (block["mark"] or "").startswith("not run"):
            for part in re.split(r"^\$ ", block["text"], flags=re.MULTILINE)[1:]:
                yield re.sub(r"\\\n", "", part).partition("\n")[0]


def draw(guide: str) -> None:
    """Run the commands of a guide, and keep its pictures."""
    wanted = pictures(guide)
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for command in commands(guide, folder):
            if all((folder / file).exists() for file in wanted):
                break
            if command.startswith("spanlab compare"):  # a report takes long, and no guide shows a file of one
                continue
            subprocess.run(command, shell=True, cwd=folder, env=environment, check=False, stdout=subprocess.DEVNULL)
        for file in wanted:
            shutil.copy(folder / file, PICTURES / f"{guide}-{file}")
            print(f"{guide}-{file}", flush=True)


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    for guide in sys.argv[1:] or sorted(path.stem for path in DOCS.glob("*.md")):
        if pictures(guide):
            draw(guide)
