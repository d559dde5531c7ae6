"""The first page of the demonstration says what the report says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spanlab import compare, replay
from spanlab.extensions.demonstration.command import first_page


@pytest.mark.slow
def test_the_finding_stands_above_the_figure(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    agents, levels = ["capacity", "network:limited"], {"list_length": 6}
    session = replay("vsr", agents, trials=16, levels=levels, data=tmp_path / "data", say=lambda _: None)
    page = first_page(session.folder.parent, tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    found = "<p><b>Primacy and recency in lists of 6</b>: the first item .*network:small-vsr-plain-s1@54% .*</p><div"
    assert re.search(found, page)


def test_the_first_page_says_what_the_report_says(tmp_path: Path) -> None:
    """Of each claim with the interval that holds for all of its kind on the report."""
    pytest.importorskip("torch")
    for paradigm, levels in (("vsr", {"list_length": 6}), ("smu", {"set_size": [2, 6]})):
        agents = ["chance", "network:laptop"]
        replay(paradigm, agents, trials=24, levels=levels, data=tmp_path / "data", say=lambda _: None)
    compare(tmp_path / "data", output=tmp_path / "report")
    report = tmp_path / "report" / "report.html"
    page = first_page(tmp_path / "data", report).read_text(encoding="utf-8")
    sentences = re.findall(r"<p><b>[^<]*</b>: ([^<]*)</p>", page)
    assert len(sentences) == 2
    text = " ".join(re.sub("<[^>]*>", "", report.read_text(encoding="utf-8")).split())
    assert [said for said in sentences if " ".join(said.split()) not in text] == []
