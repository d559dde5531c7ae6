"""Figures for a journal: width, theme, heading, single people, bars within people."""

from __future__ import annotations

import math
import re
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from analysis_tables import mixed, responses
from command_line import Run

import spanlab
from spanlab.analysis.data.scoring import WHO, score_table
from spanlab.analysis.effects.registry import effect
from spanlab.analysis.figures.charts import Sheet, draw, held, sheet_for, text_width, wrapped
from spanlab.analysis.figures.effect_figure import effect_chart, looks_of
from spanlab.analysis.figures.figure import with_bars
from spanlab.analysis.means.over_people import of_each_person, within_people
from spanlab.core.errors import SpanLabError

POSITION = effect("serial_position")


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    """Six people of different strength, and a network."""
    parts = [
        responses(
            lambda length, position, own=own: own - 0.1 * position,
            lengths=[3, 12],
            agent="p",
            kind="participant",
            participant=f"P{own}",
            repetitions=6,
        )
        for own in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    ]
    return mixed(
        *parts,
        responses(lambda length, position: 0.6, lengths=[3, 12], agent="network:test", kind="network", repetitions=12),
    )


def test_what_has_no_bars_within_people_has_no_others_in_their_place() -> None:
    assert with_bars(pd.DataFrame({"mean": [1.0], "low": [0.0], "high": [2.0]}), "within")["low"].isna().all()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("width", [88.0, 180.0])
def test_a_figure_is_as_wide_as_asked(people: pd.DataFrame, width: float) -> None:
    table = POSITION.table(people, "vsr")
    agents = looks_of(table)
    spec = effect_chart(POSITION, table, agents, title="A title", subtitle="What is dotted")
    svg = draw(spec, agents, Sheet(width_mm=width))
    assert f'width="{width:g}mm"' in svg.partition(">")[0]
    box = re.search(r'viewBox="0 0 ([\d.]+) ', svg)
    assert box is not None
    assert float(box[1]) == pytest.approx(width * 96 / 25.4, rel=0.02)  # letters keep their size
    assert "3 items" in svg
    bare = draw(spec, agents, Sheet(width_mm=width, theme="dark", heading=False))
    assert "A title" not in bare
    assert "What is dotted" not in bare
    assert "#15171b" in bare
    assert "#c84a00" in svg  # people on white, and on black
    assert "#c84a00" not in bare
    assert "#ff8c42" in bare


def test_a_picture_has_the_dots_that_were_asked_for(people: pd.DataFrame, tmp_path: Path, run: Run) -> None:
    from PIL import Image

    people.to_csv(tmp_path / "people.csv", index=False)
    status, out, err = run(
        "figure", "set_size", "people.csv", "--width", "88mm", "--points", "--bars", "within", "-o", "small.png"
    )
    assert status == 0, out + err
    picture = Image.open(BytesIO((tmp_path / "small.png").read_bytes()))
    assert picture.width == round(88 / 25.4 * 300)
    assert picture.info["dpi"][0] == pytest.approx(300, abs=1)
    for wrong in (("--width", "88"), ("--width", "3mm"), ("--theme", "blue"), ("--dpi", "7"), ("--bars", "between")):
        status, out, err = run("figure", "set_size", "people.csv", *wrong, "-o", "no.png")
        assert status != 0
        assert wrong[0] in out + err
        assert "Traceback" not in out + err


def test_what_is_no_sheet_is_said() -> None:
    assert sheet_for("8.8cm").width_mm == pytest.approx(88)
    with pytest.raises(SpanLabError, match="88mm"):
        sheet_for("wide")


def test_bars_within_people_are_those_of_differences() -> None:
    """Of two conditions, each bar is as wide as the interval of the difference over the root of 2."""
    random, parts = np.random.RandomState(5), []
    for person in range(9):
        strength = random.rand() * 0.6 + 0.2
        parts.append(
            responses(
                lambda length, position, own=strength: own,
                lengths=[2, 5],
                agent="p",
                kind="participant",
                participant=f"P{person}",
                seed=person,
            )
        )
    cells = effect("set_size").evidence(score_table(mixed(*parts)), "vsr").cells[""]
    (low, high), (other_low, other_high) = within_people(cells, len(WHO))
    one, two = (cells.values[number][np.argsort(cells.ids[number])] for number in (0, 1))
    from scipy import stats

    half = stats.t.ppf(0.975, 8) * (one - two).std(ddof=1) / math.sqrt(9)
    assert high - low == pytest.approx(2 * half / math.sqrt(2))
    assert other_high - other_low == pytest.approx(2 * half / math.sqrt(2))
    assert (low + high) / 2 == pytest.approx(one.mean())
    assert len(of_each_person(cells)) == 18


def test_somebody_without_a_condition_leaves_no_bars_within_people() -> None:
    whole = responses(lambda length, position: 0.5, lengths=[2, 5], agent="p", kind="participant", participant="A")
    half = responses(lambda length, position: 0.5, lengths=[2], agent="p", kind="participant", participant="B")
    cells = effect("set_size").evidence(score_table(mixed(whole, half)), "vsr").cells[""]
    assert all(math.isnan(low) for low, _ in within_people(cells, len(WHO)))


def test_lines_of_text_are_no_wider_than_they_may_be() -> None:
    text = "In free recall an item is correct when it was recalled at all, in whatever order."
    lines = wrapped(text, 9, 150)
    assert " ".join(lines) == text
    assert len(lines) > 1
    assert max(text_width(line, 9) for line in lines) <= 150


def test_texts_of_a_page_keep_the_width_that_they_were_measured_to_have() -> None:
    text = '<text x="1" font-size="10px" fill="red">{}</text>'
    assert held(text.format("a &amp; b")) == (
        '<text x="1" font-size="10px" fill="red" textLength="23.4" lengthAdjust="spacingAndGlyphs">a &amp; b</text>'
    )
    assert held(text.format("7")) == text.format("7")
    bold = '<text font-size="10px" font-weight="600">ab</text>'
    assert f'textLength="{1.06 * text_width("ab", 10):.1f}"' in held(bold)


def test_a_figure_is_saved_and_shown_as_it_was_asked_for(tmp_path: Path) -> None:
    responses(lambda *_: 0.5).to_csv(tmp_path / "answers.csv", index=False)
    asked: dict[str, Any] = {"width": "88mm", "title": False, "theme": "dark"}
    kept = spanlab.figure("serial_position", [tmp_path / "answers.csv"], **asked)
    written = spanlab.figure("serial_position", [tmp_path / "answers.csv"], output=tmp_path / "one.svg", **asked)
    plain = spanlab.figure("serial_position", [tmp_path / "answers.csv"])
    files = kept.save(tmp_path / "other.svg"), written.files[0], plain.save(tmp_path / "plain.svg")
    # parts of a picture are numbered through a program
    same, asked_for, other = (re.sub(r"clip\d+", "clip", file.read_text(encoding="utf-8")) for file in files)
    assert same == asked_for != other
