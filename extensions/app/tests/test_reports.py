"""Reports in the app: made by the command that is shown, whole as plain files, and every mark of
theirs leads to exactly its trials."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from marks import ROLES
from starlette.testclient import TestClient

import spanlab

from ..jobs import Job, Jobs
from ..points import mark_of
from .test_app import BASE, CHAT, GOLDEN, ended, let_in

pytestmark = pytest.mark.slow
SIMULATED = "sfr-simulated-capacity-2-s7"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sessions of several kinds of figures, among them histograms."""
    data = tmp_path_factory.mktemp("app") / "data"
    spanlab.replay(
        "vsr", agent="capacity:3", trials=8, levels={"list_length": [3, 5]}, seed=4, data=data, say=lambda _: None
    )
    spanlab.replay("continuous_colour", agent="capacity", trials=24, seed=4, data=data, say=lambda _: None)
    for name in (CHAT, SIMULATED):
        shutil.copytree(GOLDEN / name, data / name)
    return data


def made(client: TestClient, data: Path, asked: dict[str, Any]) -> tuple[str, Job]:
    """The name of a report, and the job that made it."""
    said = client.post("/jobs/compare", json=asked, headers={"origin": BASE}).json()
    return said["report"], ended(lambda: Jobs(data).job(said["name"]))


@pytest.fixture(scope="module")
def report(data: Path) -> tuple[TestClient, str]:
    """A browser, and a report of all sessions."""
    client = let_in(data)
    name, job = made(client, data, {})
    assert job.state == "done", job.printed
    return client, name


def drawn(page: str) -> dict[str, Any]:
    """What a report draws."""
    found = re.search(r'<script type="application/json" id="figures">(.*?)</script>', page, re.S)
    assert found is not None
    return json.loads(found[1])


def numbered(page: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The marks of a report that lead to trials, each with its figure."""
    for figure, spec in drawn(page)["specs"].items():
        yield from ((figure, row) for row in spec["data"]["values"] if "mark" in row)


def trials_at(client: TestClient, name: str, figure: str, row: dict[str, Any]) -> list[str]:
    """The trials that a mark of a report leads to."""
    answer = client.get(f"/reports/{name}/points", params={"figure": figure, "mark": str(row["mark"])})
    assert answer.status_code == 200, (figure, row)
    return re.findall(r'href="(/sessions/[^"]*/trials/[^"]*)"', answer.text)


def wrong_marks(client: TestClient, name: str, data: Path) -> list[str]:
    """The marks of a report that do not lead to as many trials as they are computed from."""
    page, wrong = client.get(f"/reports/{name}/page").text, []
    for figure, row in numbered(page):
        trials = trials_at(client, name, figure, row)
        wanted = row["count"] if row["role"] == "bar" else trials_of(data / ".app" / "reports" / name, figure, row)
        if len(set(trials)) != wanted:
            wrong.append(f"{figure} {row}: {len(set(trials))} trials, and not {wanted}")
    return wrong


def trials_of(folder: Path, figure: str, row: dict[str, Any]) -> int:
    """How many trials a point has by the table beside the report, which the report's own command
    has written."""
    import pandas as pd

    table = pd.read_csv(folder / "tables" / f"{figure}.csv")
    mine = table[(table["agent"] == row["agent"]) & (abs(table["mean"] - row["mean"]) < 1e-12)]
    counts = set(mine["n_trials"])
    for name in (
        "list_length",
        "set_size",
    ):  # where several points have one mean, their panel or their place tells them apart
        if len(counts) > 1 and name in mine:
            level = re.match(r"\d+", str(row.get("panel", row["at"])))
            counts = set(mine.loc[mine[name] == int(level[0]), "n_trials"]) if level else counts
    assert len(counts) == 1, (figure, row, mine)
    return int(counts.pop())


def test_every_mark_of_a_report_leads_to_exactly_its_trials(report: tuple[TestClient, str], data: Path) -> None:
    client, name = report
    marks = [*numbered(client.get(f"/reports/{name}/page").text)]
    assert {row["role"] for _, row in marks} == {"curve", "bar"}
    assert {figure for figure, _ in marks} >= {"vsr_serial_position", "continuous_colour_error_distribution"}
    assert wrong_marks(client, name, data) == []


def test_whoever_answered_here_is_linked_and_nobody_else(report: tuple[TestClient, str]) -> None:
    client, name = report
    drawing = drawn(client.get(f"/reports/{name}/page").text)
    rows = [row for spec in drawing["specs"].values() for row in spec["data"]["values"] if row.get("role") in ROLES]
    assert {row["agent"] for row in rows if "mark" not in row}.isdisjoint(drawing["answerers"])
    assert {row["agent"] for row in rows if "mark" in row and "agent" in row} <= set(drawing["answerers"])
    assert all(mark_of(row) for row in rows)


def test_the_report_is_that_of_the_command_line_and_works_as_a_plain_file(
    report: tuple[TestClient, str], data: Path
) -> None:
    client, name = report
    job = next(job for job in Jobs(data).all() if job.report == name)
    assert job.command == f"spanlab compare {data} -o {data / '.app' / 'reports' / name}"
    assert job.command in client.get(f"/reports/{name}").text
    file = (data / ".app" / "reports" / name / "report.html").read_text(encoding="utf-8")
    assert "/points" not in file
    assert "runs in a sandbox" not in file
    assert "runs in a sandbox" in client.get(f"/reports/{name}/page").text
    assert all("mark" not in row for spec in drawn(file)["specs"].values() for row in spec["data"]["values"])
    links = re.findall(r'href="([^"#][^"]*)"', file)
    assert len(links) > 10
    for link in links:
        assert (data / ".app" / "reports" / name / link).is_file(), link
        assert client.get(f"/reports/{name}/files/{link}").status_code == 200, link


def test_a_report_runs_in_a_sandbox(report: tuple[TestClient, str]) -> None:
    client, name = report
    assert 'sandbox="allow-scripts"' in client.get(f"/reports/{name}").text
    for address in (f"/reports/{name}/page", f"/reports/{name}/files/tables/overview.csv"):
        rules = client.get(address).headers["content-security-policy"]
        assert rules.startswith("sandbox allow-scripts;"), (
            "no page of the app: it has no cookie, and nothing that it sends has the app's origin"
        )
        assert "allow-same-origin" not in rules
        assert "frame-ancestors 'self'" in rules
        assert "form-action 'none'" in rules
        assert "connect-src" not in rules
    assert client.get("/").headers["content-security-policy"].count("frame-ancestors 'none'") == 1
    for other in (
        "../chosen.json",
        "..%2f..%2fsessions.json",
        "chosen.json",
        "report.html",
        "tables/../chosen.json",
        "figures/none.svg",
    ):
        assert client.get(f"/reports/{name}/files/{other}").status_code == 404, other


def test_chosen_sessions_have_one_report_that_is_made_again(data: Path) -> None:
    client = let_in(data)
    name, job = made(client, data, {"sessions": [CHAT]})
    assert job.command == f"spanlab compare {data / CHAT} -o {data / '.app' / 'reports' / name}"
    assert "Sessions have continued" not in client.get(f"/reports/{name}").text
    events = data / CHAT / "events.jsonl"
    events.write_bytes(events.read_bytes() + b"\n")
    assert "Sessions have continued" in client.get(f"/reports/{name}").text, "the report is older than the session"
    again, _ = made(client, data, {"sessions": [CHAT]})
    assert again == name
    assert "Sessions have continued" not in client.get(f"/reports/{name}").text
    for asked in ({"sessions": ["../elsewhere"]}, {"search": "nothing of this name"}):
        answer = client.post("/jobs/compare", json=asked, headers={"origin": BASE})
        assert (answer.status_code, answer.json()["problem"]) == (422, "choose sessions with finished trials")
    assert client.get("/reports/none").status_code == 404
