"""From the dialog to the last page: a person's session of a study, with real keys and clicks in
real windows, left three times and gone on with.

``SPANLAB_PICTURES=docs/images/lab pytest -m slow tests/agents/human/test_journey.py`` keeps the
pictures of the documentation.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from session_tools import one_thread
from x_server import x_server

from spanlab.sessions import find_sessions, read_responses, read_session
from spanlab.sessions.record.reader import read_events

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Xvfb")]
JOURNEY = Path(__file__).resolve().parents[2] / "helpers" / "lab" / "lab_journey.py"
STUDY = """
study: first_study
title: Memory for patterns and places
paradigms:
  - {paradigm: vsr, set: {list_length: 3}, trials: 1}
  - {paradigm: sfr, set: {list_length: 3}, trials: 1, practice: false}
  - {paradigm: cd, set: {feature: colour, set_size: 4}, trials: 1, practice: false}
  - {paradigm: smu, set: {set_size: 3}, trials: 1, practice: false}
  - {paradigm: cs, set: {storage: visual, distractor_domain: spatial, load: 1}, trials: 1, practice: false}
breaks: {text: {en: Take a rest. The next task begins when you like.}, seconds: 1}
consent:
  en: |
    In this study you see patterns and places and keep them in mind for a few seconds. It takes about ten minutes.

    Taking part is voluntary. You may stop at any time with the Escape key.
debrief: {en: You have seen how many patterns and places can be held in mind at once. Thank you for your help!}
fields: [age]
"""
#: where the participant leaves, in turn: an instruction page, a question of the practice, the first
#: break
LEAVES = ("Visual Serial Recall", "vsr probe", "Break")
#: stages whose pictures the documentation has
KEPT = (
    "dialog complains",
    "Consent",
    "Visual Serial Recall",
    "sfr probe",
    "cd probe",
    "cs distractor",
    "cs probe",
    "Break",
    "pause",
)


@pytest.fixture
def display() -> Iterator[str]:
    """A screen of a size that makes good pictures."""
    with x_server("1280x800") as server:
        yield server.display


def travel(
    folder: Path, pictures: Path, display: str, leave_at: str, arguments: list[str]
) -> tuple[dict[str, Any], str]:
    """One leg of the journey: what was met, and what the assistant was told."""
    pictures.mkdir()
    environment = {**one_thread(), "DISPLAY": display}
    words = [sys.executable, str(JOURNEY), str(pictures), leave_at, *arguments]
    done = subprocess.run(words, capture_output=True, text=True, cwd=folder, timeout=3600, env=environment)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


def colours(picture: Path) -> set[tuple[int, ...]]:
    return {tuple(colour) for colour in np.unique(np.asarray(Image.open(picture)).reshape(-1, 3), axis=0).tolist()}


def test_from_the_dialog_to_the_last_page(tmp_path: Path, display: str) -> None:
    (tmp_path / "study.yaml").write_text(STUDY, encoding="utf-8")
    pictures: dict[str, Path] = {}
    arguments, legs = ["run", "study.yaml", "--data", "data", "--screen-width", "34"], []
    told: dict[str, Any] = {}
    for number, leave_at in enumerate((*LEAVES, "")):
        told, complaints = travel(tmp_path, folder := tmp_path / f"pictures{number}", display, leave_at, arguments)
        legs.append(told["stages"])
        pictures = {path.stem: path for path in folder.iterdir()} | pictures
        if leave_at:
            assert told["status"] == 1
            assert told["stages"][-2:] == [leave_at, "pause"]
            *_, what, how = complaints.strip().splitlines()
            assert (
                what
                == "the participant left the session; every finished trial is saved, and the session can be resumed"
            )
            start, arguments = how.split(": spanlab ")[0], shlex.split(how.split(": spanlab ")[1])
            assert start in ("No trial is finished yet. Continue with", "The finished trials are safe. Continue with")
    assert told["status"] == 0
    assert legs[0] == ["dialog", "Consent", "questions", "dialog complains", "Visual Serial Recall", "pause"]
    assert legs[1][0] == "Visual Serial Recall", "consent is asked for once"
    assert legs[1][-3:] == ["vsr present", "vsr probe", "pause"]
    assert "Practice" in legs[2]
    assert "Ready" in legs[2]
    assert "Visual Serial Recall" not in legs[3]
    for kind in ("sfr probe", "cd probe", "smu probe", "cs distractor", "cs probe", "Thank you"):
        assert kind in legs[3]
    folders = find_sessions([tmp_path / "data"])
    table = read_responses(folders)
    main = table[~table["practice"]]
    assert main.groupby("paradigm")["trial"].nunique().to_dict() == dict.fromkeys(("vsr", "sfr", "cd", "smu", "cs"), 1)
    assert set(main["outcome"]) == {"answered"}
    vsr = next(folder for folder in folders if read_session(folder)["paradigm"] == "vsr")
    assert [event["event"] for event in read_events(vsr)].count("interrupted") >= 1
    assert read_events(vsr)[-1]["event"] == "session_end"
    # What is asked about is on the screen, also when the pointer lies on one of the answers.
    for stage, colour in (("vsr-probe", (0, 0, 0)), ("cs-probe", (0, 0, 0)), ("sfr-present", (0, 168, 140))):
        assert colour in colours(pictures[stage]), stage
    _keep(pictures)


def _keep(pictures: dict[str, Path]) -> None:
    """Pictures for the documentation."""
    if folder := os.environ.get("SPANLAB_PICTURES"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        for name in (stage.lower().replace(" ", "-") for stage in KEPT):
            picture = Image.open(pictures[name])
            picture.crop(picture.getbbox()).quantize(64, dither=Image.Dither.NONE).save(
                Path(folder) / f"{name}.png", optimize=True
            )
