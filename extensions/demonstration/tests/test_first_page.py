"""The first page of the demonstration says what the report says."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from spanlab import compare, replay
from spanlab.extensions.demonstration.command import _best, _claimed, _effects, first_page


@pytest.mark.slow
def test_the_finding_stands_above_the_figure(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    agents, levels = ["capacity", "network:limited", "network:laptop"], {"list_length": 6}
    session = replay("vsr", agents, trials=16, levels=levels, data=tmp_path / "data", say=lambda _: None)
    page = first_page(session.folder.parent, tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    found = r"<p><b>Primacy and recency in lists of 6</b>: the first item .*network:small-vsr-plain-s1@\d+% .*</p><div"
    assert re.search(
        rf"<h2>People \(Avons 1998\) [^<]*scored highest on the first item of the list .*</h2>{found}", page
    )
    (effect,) = _effects(session.folder.parent).values()
    one, other = {claim.agent for claim in effect.claims}
    assert one in (said := _claimed(effect, {one}))
    assert other not in said


@pytest.mark.parametrize(
    ("networks", "said"),
    [
        ((0.9, 0.5), "People (Avons 1998) and the network both did best at 1 (64% and 90% right)."),
        ((0.9, 0.9), "People (Avons 1998) did best at 1 (64% right)."),
        ((0.4, 0.5), "People (Avons 1998) did best at 1 (64% right). The network did best at 2 (50% right)."),
    ],
)
def test_who_did_best_where_is_said_with_people_first(networks: tuple[float, float], said: str) -> None:
    means = {("network", "network:a (noise added)"): networks, ("group means", "Avons 1998 (people)"): (0.64, 0.5)}
    rows = [(*who, at, mean) for who, both in means.items() for at, mean in enumerate(both, start=1)]
    assert _best(pd.DataFrame(rows, columns=["agent_kind", "agent", "n", "mean"]), "n", "did best at {number}") == said


@pytest.mark.usefixtures("page_only")
def test_the_first_page_says_what_the_report_says(tmp_path: Path) -> None:
    """Of each claim with the interval that holds for all of its kind on the report."""
    pytest.importorskip("torch")
    for paradigm, levels in (("vsr", {"list_length": 6}), ("smu", {"set_size": [2, 6]})):
        replay(
            paradigm, ["chance", "network:laptop"], trials=24, levels=levels, data=tmp_path / "data", say=lambda _: None
        )
    compare(tmp_path / "data", output=tmp_path / "report")
    report = tmp_path / "report" / "report.html"
    sentences = re.findall(
        r"<p><b>[^<]*</b>: ([^<]*)</p>", first_page(tmp_path / "data", report).read_text(encoding="utf-8")
    )
    assert len(sentences) == 2
    assert ": people and machines</h1>" in report.read_text(encoding="utf-8")
    text = " ".join(re.sub("<[^>]*>", "", report.read_text(encoding="utf-8")).split())
    assert [said for said in sentences if " ".join(said.split()) not in text] == []
