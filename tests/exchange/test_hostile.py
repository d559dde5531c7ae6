"""Names and texts that are hostile, disks that are full or read-only, and several writers in one
folder: nothing outside, nothing half, nothing lost."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from command_line import Run, output_of

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "sessions" / "finished"
SCRIPT = "<script>alert(1)</script>"
HOSTILE = f"../../outside/{SCRIPT}\"'&$(touch outside)=1+1"
FORMATS = ("bids", "psychds", "csv", "psych101", "chat-jsonl")


def everything(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """Sessions of a person and of a machine in which every name and text is hostile."""
    for name in ("vsr-p01-s3", "vsr-chat-scripted-s31"):
        folder = tmp_path / "data" / name
        shutil.copytree(GOLDEN / name, folder)
        info = json.loads((folder / "session.json").read_text(encoding="utf-8"))
        info |= {
            "session": HOSTILE,
            "label": HOSTILE,
            "paradigm_title": HOSTILE,
            "instructions": HOSTILE,
            "paradigm_source": HOSTILE,
            "design": HOSTILE,
        }
        info |= {"participant": HOSTILE} if info["participant"] else {"agent": f"chat:{HOSTILE}"}
        (folder / "session.json").write_text(json.dumps(info), encoding="utf-8")
        for table in folder.glob("responses.*"):
            table.unlink()
        transcript = folder / "transcripts.jsonl"
        if transcript.exists():
            text = transcript.read_text(encoding="utf-8")
            transcript.write_text(
                re.sub(r'"content":"[^"]*"', lambda _: f'"content":{json.dumps(HOSTILE)}', text, count=2),
                encoding="utf-8",
            )
    return tmp_path / "data"


def test_hostile_names_stay_inside_the_data_set(tmp_path: Path, run: Run, hostile: Path) -> None:
    before = everything(tmp_path)
    for name in FORMATS:
        output_of(
            *run(
                "export",
                name,
                hostile,
                f"out-{name}",
                *(["--machines"] if name in ("psych101", "chat-jsonl") else []),
            )
        )
    new = everything(tmp_path) - before
    assert {name.partition("/")[0] for name in new} == {f"out-{name}" for name in FORMATS}
    assert not [name for name in new if re.search(r"\.\.|[<>\"'&$=;|]", name)]
    assert not (tmp_path / "outside").exists()
    status, _, err = run("import", "table", "out-bids", "-o", "back.csv")
    assert (status, "Traceback" in err) == (0, False), err
    assert everything(tmp_path) - before - new == {"back.csv"}


@pytest.mark.slow
def test_hostile_names_run_no_script_in_pages(tmp_path: Path, run: Run, hostile: Path) -> None:
    before = everything(tmp_path)
    output_of(*run("compare", hostile, "-o", "report"))
    assert "<script>alert" not in (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert {name.partition("/")[0] for name in everything(tmp_path) - before} == {"report"}
