"""The way of a laboratory through all of it: a study of one task at the window, its trials for a
chat model and a network, and one page that compares them.

Everything goes through the command line, as a user would type it; the person has real keys and
clicks in a real window.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from session_tools import command, one_thread

from spanlab.extensions.demonstration.scripted import LABEL, ScriptedServer
from spanlab.sessions import read_responses, read_session

pytestmark = pytest.mark.slow

STUDY = """
study: journey
title: Patterns in their order
paradigms:
  - {paradigm: vsr, set: {list_length: [3, 4]}, trials: 4, practice: false}
consent: {en: Do you agree to take part?}
"""
SCRIPTED = f"chat:scripted ({LABEL})"
AGENTS = {"Participant p01", SCRIPTED, "network:laptop"}


def at_the_prompt(folder: Path, *words: str, person: bool = False, address: str = "") -> str:
    """What a command printed; a person sits at the window where one is needed."""
    begin = (
        [sys.executable, str(Path(__file__).resolve().parents[1] / "helpers" / "lab" / "golden_person.py"), "0"]
        if person
        else command()
    )
    path = os.pathsep.join(
        filter(None, (str(Path(__file__).resolve().parents[1] / "helpers"), os.environ.get("PYTHONPATH")))
    )
    environment = {**one_thread(), "PYTHONPATH": path, "OPENAI_BASE_URL": address}
    done = subprocess.run(
        [*begin, *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout.strip()


def counted(table: pd.DataFrame, *by: str) -> dict[tuple[object, ...], float]:
    """The share of correct answers, counted by hand."""
    return {key: float(share) for key, share in table.groupby(list(by))["correct"].mean().items()}  # type: ignore[misc]


def drawn(file: Path, *by: str) -> dict[tuple[object, ...], float]:
    """The means of a figure's table, published people apart."""
    table = pd.read_csv(file)
    table = table[table["agent_kind"] != "group means"]
    return {tuple(row[name] for name in by): row["mean"] for row in table.to_dict("records")}


@pytest.mark.usefixtures("screen")
def test_one_study_and_two_machines_end_on_one_page(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(STUDY, encoding="utf-8")
    visit = at_the_prompt(
        tmp_path, "run", "study.yaml", "--participant", "p01", "--windowed", "--screen-width", "34", person=True
    )
    (person,) = (tmp_path / visit).glob("vsr-*")
    like = (
        "replay",
        "--like",
        str(person.relative_to(tmp_path)),
        "--agent",
        "chat:scripted",
        "--chat",
        f"label={LABEL}",
        "--agent",
        "network:laptop",
    )
    with ScriptedServer() as server:
        machines = at_the_prompt(tmp_path, *like, address=server.endpoint.url).splitlines()
    assert len(machines) == 2
    table = read_responses(tmp_path / "data")
    trials = [
        set(zip(rows["trial"], rows["trial_id"], rows["seed"], strict=True)) for _, rows in table.groupby("session")
    ]
    assert len(trials) == 3
    assert all(one == trials[0] and len(one) == 4 for one in trials), "all three have taken the very same trials"
    assert {read_session(tmp_path / folder)["like"] for folder in machines} == {person.name}

    table["who"] = table["agent"].map(
        {"participant": "Participant p01", "chat:scripted": SCRIPTED, "network:laptop": "network:laptop"}
    )
    at_the_prompt(tmp_path, "figure", "set_size", "data", "-o", "set_size.csv")
    assert drawn(tmp_path / "set_size.csv", "agent", "set_size") == pytest.approx(counted(table, "who", "set_size"))
    at_the_prompt(tmp_path, "figure", "serial_position", "data", "-o", "positions.csv")
    by = ("list_length", "serial_position")
    assert drawn(tmp_path / "positions.csv", "agent", *by) == pytest.approx(counted(table, "who", *by))
    at_the_prompt(tmp_path, "figure", "primacy_recency", "data", "-o", "ends.csv")
    assert set(pd.read_csv(tmp_path / "ends.csv")["agent"]) >= AGENTS

    report = at_the_prompt(tmp_path, "compare", "data", "--all-figures", "-o", "report")
    page = (tmp_path / report.splitlines()[-1]).read_text(encoding="utf-8")
    for name in ("Participant p01", "chat:scripted", "network:laptop", LABEL):
        assert name in page
    headings = [re.sub(r"<[^>]*>", "", heading) for heading in re.findall(r"<h[123][^>]*>.*?</h[123]>", page)]
    for title in ("Correct by serial position", "Correct by set size", "Timing at the window", "Conversations"):
        assert title in headings
    for name in ("set_size", "serial_position"):
        assert set(pd.read_csv(tmp_path / "report" / "tables" / f"vsr_{name}.csv")["agent"]) >= AGENTS
        assert (tmp_path / "report" / "figures" / f"vsr_{name}.svg").is_file()
