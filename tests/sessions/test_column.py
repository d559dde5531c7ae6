"""A further column, as the documentation tells: a field, its place and the line that fills it, in
three files."""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from session_tools import ended_well, one_thread
from written_anew import STORED

#: the files that the documentation names, and before which of their lines what it shows has its
#: place
PLACES = {
    "sessions/record/events.py": "    chance: Annotated[",
    "sessions/record/table.py": '    *("practice", "pilot",',
    "sessions/trial_log.py": '                "chance": step.truth.chance,',
}


def package_with(folder: Path, repository: Path, changed: dict[str, str]) -> None:
    """The package beside the installed one, with some files of its own."""
    (root := folder / "spanlab").mkdir()
    folders = {parent for name in changed for parent in Path(name).parents}
    for inner in sorted(folders):
        (root / inner).mkdir(exist_ok=True)
        for entry in (repository / inner).iterdir():
            name = entry.relative_to(repository)
            if name.as_posix() in changed:
                (root / name).write_text(changed[name.as_posix()], encoding="utf-8")
            elif name not in folders and not entry.name.startswith((".", "__pycache__")):
                (root / name).symlink_to(entry)


@pytest.mark.slow
def test_the_example_of_the_documentation(tmp_path: Path, repository: Path) -> None:
    page = (repository / "docs" / "record.md").read_text(encoding="utf-8")
    (section,) = re.findall(r"### A further column\n(.*?)\n## ", page, re.DOTALL)
    shown = re.findall(r"```(?:python|text)\n(.*?)```", section, re.DOTALL)
    changed: dict[str, str] = {}
    for (file, place), lines in zip(PLACES.items(), shown, strict=True):
        assert f"`{file}`" in section
        text = (repository / file).read_text(encoding="utf-8")
        assert text.count(place) == 1
        changed[file] = text.replace(place, lines + place)
    package_with(tmp_path, repository, changed)
    shutil.copytree(STORED / "vsr-ideal-s11", tmp_path / "older")
    environment = {
        **one_thread(),
        "PYTHONPATH": os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH")))),
    }

    def run(*words: str) -> str:
        done = ended_well(
            subprocess.run(
                [sys.executable, *words],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
            )
        )
        return done

    run("-m", "spanlab", "replay", "vsr", "--agent", "ideal", "--trials", "2", "--data", "data")
    (table,) = (tmp_path / "data").glob("*/responses.csv")
    head, *rows = csv.reader(table.open(encoding="utf-8"))
    assert head[head.index("phase") + 1] == "displays"
    assert {row[head.index("displays")] for row in rows} == {"1"}
    told = run(
        "-c",
        "from spanlab.sessions.record import COLUMNS, read_events, response_rows, read_session\n"
        "print(next(column.meaning for column in COLUMNS if column.name == 'displays'))\n"
        "print({row['displays'] for row in response_rows(read_session('older'), read_events('older'))})",
    )
    assert told.split("\n")[:2] == ["displays of the step", "{None}"]
