"""Figures: real SVG and PDF files, everything that must be in them is, and colours that
colour-blind people tell apart."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from analysis_tables import mixed, responses

from spanlab.analysis.data.style import looks
from spanlab.analysis.effects.registry import effect
from spanlab.analysis.figures.charts import draw, save, size_of
from spanlab.analysis.figures.effect_figure import caption, effect_chart, looks_of
from spanlab.analysis.figures.histogram_panels import heading_of
from spanlab.core.errors import SpanLabError

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return mixed(
        responses(lambda length, position: 0.8, agent="Participant <A & B>", kind="participant", participant="A"),
        responses(lambda length, position: 0.5, agent="network:test", kind="network", seed=1),
        responses(lambda length, position: 1.0, agent="ideal (simulated)", kind="ideal"),
    )


POSITION, SIZE = effect("serial_position"), effect("set_size")


def words(svg: Path) -> list[str]:
    return [node.text or "" for node in ElementTree.parse(svg).getroot().iter(f"{SVG}text")]


def test_set_sizes_are_drawn(table: pd.DataFrame, tmp_path: Path) -> None:
    curve = SIZE.table(table, "vsr")
    agents = looks_of(curve)
    svg, _ = save(effect_chart(SIZE, curve, agents, title="Sizes"), tmp_path / "size", agents)
    assert {"Sizes", "set size", "100%", "3", "5"} <= set(words(svg))


def test_points_without_an_interval_and_without_chance_are_drawn(tmp_path: Path) -> None:
    curve = POSITION.table(
        responses(lambda length, position: 0.5, lengths=[1, 2], repetitions=1).drop(columns="chance"), "vsr"
    )
    agents = looks_of(curve)
    svg, _ = save(effect_chart(POSITION, curve, agents, title="One trial"), tmp_path / "one", agents)
    assert {"1 item", "2 items"} <= set(words(svg))


def test_people_are_drawn_last_and_thickest_and_oracles_are_dashed() -> None:
    found = looks(
        [
            ("P", "participant"),
            ("n", "network"),
            ("i", "ideal"),
            ("c", "capacity"),
            ("g", "chance"),
            ("s", "scripted"),
            ("b", "simulated"),
        ]
    )
    assert found[-1].label == "P"
    assert found[-1].width == max(look.width for look in found)
    assert {look.label for look in found if look.dash == (1, 0)} == {"P", "n", "g"}
    assert len({look.shape for look in found}) == len(found)
    assert len({(look.light, look.shape) for look in looks((f"m{number}", "chat") for number in range(9))}) == 9


def seen_by(colour: str, weights: list[list[float]]) -> np.ndarray:
    """A colour in CIE Lab as a dichromat sees it (Viénot, Brettel & Mollon, 1999, Color Research
    and Application 24, 243-252)."""
    linear = np.array([int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]) ** 2.2
    to_lms = np.array([[17.8824, 43.5161, 4.11935], [3.45565, 27.1554, 3.86714], [0.0299566, 0.184309, 1.46709]])
    rgb = np.clip(np.linalg.inv(to_lms) @ np.array(weights) @ to_lms @ linear, 0, 1)
    xyz = (
        np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
        @ rgb
        / np.array([0.9505, 1, 1.089])
    )
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize(
    "weights",
    [
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        [[0, 2.02344, -2.52581], [0, 1, 0], [0, 0, 1]],
        [[1, 0, 0], [0.494207, 0, 1.24827], [0, 0, 1]],
    ],
    ids=["everybody", "protanopia", "deuteranopia"],
)
def test_people_networks_chat_and_guessing_are_told_apart_by_colour(mode: str, weights: list[list[float]]) -> None:
    found = looks([("P", "participant"), ("n", "network"), ("c", "chat"), ("g", "chance")])
    colours = {look.label: seen_by(getattr(look, mode), weights) for look in found}
    for first, second in combinations(colours, 2):
        distance = float(np.linalg.norm(colours[first] - colours[second]))
        assert distance > 15, (first, second, distance)


def crowd(many: int, gap: float = 0.001) -> pd.DataFrame:
    """So many networks that end next to each other at 90%."""
    rows = [
        {
            "agent": f"network:{who}",
            "agent_kind": "network",
            "set_size": size,
            "mean": 0.9 - gap * who if size == 4 else 0.5,
        }
        for who in range(many)
        for size in (2, 4)
    ]
    return pd.DataFrame(rows).assign(sem=0.01, low=0.4, high=0.95, chance=0.1, unit="trial", n_units=20, note="")


def test_machines_that_are_too_many_for_a_legend_are_drawn_without_anybody_else() -> None:
    table = crowd(130)
    assert size_of(draw(effect_chart(effect("set_size"), table, looks_of(table), title=""), looks_of(table)))[0] < 1000


@pytest.mark.parametrize(
    "sides", ['width="1.7976931348623157e+308" height="200"', 'width="-3" height="2"', 'width="NaN" height="2"', ""]
)
def test_a_drawing_without_a_size_is_refused_before_it_takes_all_memory(sides: str) -> None:
    with pytest.raises(SpanLabError, match="the drawing came out"):
        size_of(f"<svg {sides}><g/></svg>")
    assert size_of('<svg width="508" height="299.5"><g/></svg>') == (508.0, 299.5)


def held(*means: float, half: float = 0.5) -> pd.DataFrame:
    """K of so many networks at two set sizes."""
    rows = [
        {"agent": f"network:{at}", "set_size": size, "mean": mean + size / 10}
        for at, mean in enumerate(means)
        for size in (4, 8)
    ]
    table = pd.DataFrame(rows).assign(
        agent_kind="network", formula="Pashler", sem=0.2, chance=0.0, unit="trial", n_units=40, note=""
    )
    return table.assign(low=table["mean"] - half, high=table["mean"] + half)


def test_no_axis_is_made_unreadable_by_an_outlier() -> None:
    def axis(table: pd.DataFrame) -> tuple[float, float]:
        (domain,) = {
            tuple(layer["encoding"]["y"]["scale"]["domain"])
            for layer in effect_chart(capacity, table, looks_of(table), title="")["spec"]["layer"]
        }
        return domain

    capacity = effect("capacity")
    low, high = axis(held(2.1, 2.4, 2.8, 3.0, -36.0))
    assert -4 < low <= 0
    assert 3.5 < high < 8
    assert "What lies beyond the axis is in the table" in caption(capacity, held(2.1, 2.4, 2.8, 3.0, -36.0))
    wide = held(2.1, 2.4, 2.8)
    wide.loc[0, "low"] = -100.0
    assert axis(wide)[0] > -6
    everything = held(2.1, 2.4, 2.8, 3.0, 1.0)
    low, high = axis(everything)
    assert low <= 0
    assert high >= everything["high"].max()
    assert "beyond the axis" not in caption(capacity, everything)


def test_a_panel_of_one_person_has_that_persons_name_alone() -> None:
    row = {"agent": "People (n = 40)", "agent_kind": "participant", "participant": "p3", "n": 2}
    assert heading_of(row, ["n"]) == "p3, n 2"
    assert heading_of(row | {"agent": "Participant p3"}, []) == "Participant p3"
    assert heading_of(row | {"agent": "simulated", "agent_kind": "simulated"}, []) == "p3, simulated"
    assert heading_of(row | {"participant": ""}, []) == "People (n = 40)"
