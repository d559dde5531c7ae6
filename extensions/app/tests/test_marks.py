"""Every point and bar of a whole report, with sections of other packages: it leads to as many trials
as it is computed from, or is a published result, which has none here."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pandas as pd
import pytest
from session_tools import spanlab as command
from starlette.testclient import TestClient

import spanlab
from spanlab.analysis.figures import Sheet, draw

from .. import points
from ..curves import Curves
from ..points import MarkAnswers
from .test_app import CHAT, GOLDEN
from .test_reports import drawn, let_in, made, numbered, trials_at

pytestmark = pytest.mark.slow
PERSON = "vsr-p01-s3"
#: Those of the wordings, and how many trials each has taken.
WORDINGS, TAKEN = ("one", "two", "three"), 6


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A person, a chat model, N-back, two networks with different set sizes, and a model in three
    wordings."""
    data = tmp_path_factory.mktemp("app") / "data"
    for name in (PERSON, CHAT, "nback_verbal-chance-s13"):
        shutil.copytree(GOLDEN / name, data / name)
    asked: dict[str, Any] = {"data": data, "say": lambda _: None}
    for agent, sizes in (("network:limited", [2, 4]), ("network:laptop", [4, 8])):
        spanlab.replay("cd", agent=agent, trials=16, levels={"set_size": sizes}, seed=5, **asked)
    for number, wording in enumerate(WORDINGS, start=1):
        folder = spanlab.replay("vir", agent=f"capacity:{number}", trials=TAKEN, seed=9, **asked).folder
        info = json.loads((folder / "session.json").read_text(encoding="utf-8"))
        link = {"wording": wording, "repeat": 1, "settings": ""}
        (folder / "session.json").write_text(
            json.dumps({**info, "agent": "chat:a@here", "evaluation": link}), encoding="utf-8"
        )
    return data


@pytest.fixture(scope="module")
def report(data: Path, fitted: None) -> tuple[TestClient, str]:
    """A browser, and a report of all of them."""
    client = let_in(data)
    name, job = made(client, data, {})
    assert job.state == "done", job.printed
    return client, name


@pytest.fixture(scope="module")
def fitted(data: Path) -> None:
    """Fits that are kept beside the sessions."""
    for paradigm, model in (("cd", "slots"), ("vsr", "m3")):
        command("fit", data, "--paradigm", paradigm, "--model", model, "--simulated", "10", "--save", check=True)


def without_links(spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The points and bars of a figure that are drawn and lead nowhere."""
    values = [{**row, "trials": f"https://mark.invalid/?{quote(json.dumps(row))}"} for row in spec["data"]["values"]]
    linked = points._linked({**spec, "data": {"values": values}})  # pyright: ignore[reportPrivateUsage]
    svg = draw(linked, (), Sheet(width_mm=200.0))
    marks = [json.loads(unquote(unescape(row))) for row in re.findall(r'href="https://mark\.invalid/\?([^"]*)"', svg)]
    assert marks, "a figure without points and bars"
    return [row for row in marks if "mark" not in row]


def test_every_mark_that_is_drawn_leads_to_trials_or_is_published(report: tuple[TestClient, str]) -> None:
    client, name = report
    page = client.get(f"/reports/{name}/page").text
    drawing = drawn(page)
    assert {figure for figure in drawing["specs"] if figure not in drawing["named"]} == {
        "cd-models-parameters",
        "cd-models-curves",
        "vsr-models-parameters",
        "vsr-models-curves",
        "wordings_vir",
    }
    alone = {
        row.get("agent", row) for spec in drawing["specs"].values() for row in without_links(spec)
    }  # a mark of nobody is told whole
    assert alone == {
        "Kerr, Avons & Ward 1999 (people)",
        "Luck & Vogel 1997 (people)",
        "gpt-3.5-turbo (recomputed)",
        "gpt-4 (recomputed)",
    }
    assert alone.isdisjoint(drawing["answerers"])


def test_every_mark_of_the_first_picture_leads_to_trials_or_is_published(report: tuple[TestClient, str]) -> None:
    client, name = report
    page = client.get(f"/reports/{name}/page").text
    glance = page[page.index('<div class="glance') : page.index('<p class="remarks">Share of correct answers')]
    titles = re.findall(r"<g([^>]*)><title>([^<]*)", glance)
    alone = [title for attributes, title in titles if "data-mark" not in attributes]
    assert len(titles) - len(alone) == len(drawn(page)["overview"]) > 6
    assert all("(group means from print)" in title for title in alone)


def recorded(data: Path) -> pd.DataFrame:
    """All finished trials as they are recorded, a row for each answer."""
    tables = [spanlab.read_responses(file.parent) for file in sorted(data.glob("*/session.json"))]
    return pd.concat([table[~table["practice"].astype(bool)] for table in tables], ignore_index=True)


def counts_of_the_first_picture(rows: pd.DataFrame, tables: Path) -> Iterator[int]:
    """How many trials its marks are of, in their order."""
    for row in pd.read_csv(tables / "overview.csv").to_dict("records"):
        agent = row["agent"].removeprefix("Participant ").partition(" (")[0]
        mine = rows[(rows["paradigm"] == row["paradigm"]) & ((rows["agent"] == agent) | (rows["participant"] == agent))]
        if row["paradigm"] == "cd":  # both networks had set size 4, and the picture is of this
            assert row["conditions"].startswith("at set size 4")
            mine = mine[mine["set_size"] == 4]
        yield trials_in(mine)


def trials_in(rows: pd.DataFrame) -> int:
    return len(rows[["session", "trial"]].drop_duplicates())


def count_of_a_section(rows: pd.DataFrame, figure: str, row: Mapping[str, Any]) -> int:
    """How many trials a mark of a section of another package is of."""
    if figure == "wordings_vir":
        return TAKEN if row["part"] == "mean" else TAKEN * len(WORDINGS)
    mine = rows[rows["paradigm"] == figure.partition("-")[0]]
    if figure.endswith("parameters"):
        name = row["answerer"].partition(" (")[0]
        return trials_in(mine[(mine["agent"] == name) | (mine["participant"] == name)])
    mine = mine[mine["participant"].ne("") if row["people"] else mine["agent"] == row["group"].partition(" (")[0]]
    if row["line"].endswith("items"):
        return trials_in(mine[mine["list_length"] == int(row["line"].split()[0])])
    side = {"hits": "different", "false alarms": "same"}[row["line"]]
    return trials_in(mine[(mine["set_size"] == row["x"]) & mine["correct_answer"].isin([side, json.dumps(side)])])


def wrong_marks(client: TestClient, name: str, data: Path) -> list[str]:
    """The marks of the first picture and of sections of other packages that do not lead to as many
    trials as the record has of them."""
    rows = recorded(data)
    counts = counts_of_the_first_picture(rows, data / ".app" / "reports" / name / "tables")
    wanted: list[tuple[str, dict[str, Any], int]] = [
        ("overview", {"mark": number}, count) for number, count in enumerate(counts)
    ]
    page = client.get(f"/reports/{name}/page").text
    wanted += [
        (figure, row, count_of_a_section(rows, figure, row))
        for figure, row in numbered(page)
        if figure not in drawn(page)["named"]
    ]
    assert len(wanted) > 30
    assert all(count for _, _, count in wanted)
    return [
        f"{figure} {row}: {found} trials, and not {count}"
        for figure, row, count in wanted
        if (found := len(set(trials_at(client, name, figure, row)))) != count
    ]


def test_marks_of_the_first_picture_and_of_sections_lead_to_exactly_their_trials(
    report: tuple[TestClient, str], data: Path
) -> None:
    assert wrong_marks(*report, data) == []


def test_a_mark_that_leads_to_other_trials_is_found(
    report: tuple[TestClient, str], data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = Curves.stated

    def without_the_last(self: Curves, *asked: Any) -> MarkAnswers | None:
        behind = right(self, *asked)
        return None if behind is None else MarkAnswers(behind.conditions, behind.answers.iloc[:-1])

    monkeypatch.setattr(Curves, "stated", without_the_last)
    assert len(wrong_marks(*report, data)) > 20
