"""Figures by name: the benchmark's as its code draws them, the N-back study's, reaction times; what
they show, and what is said where they cannot be drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from analysis_tables import responses
from command_line import Run, complaint
from nback_answers import block_rows
from observed import along, recall, rows_by, table, together

from spanlab.analysis.data.loading import Data
from spanlab.analysis.data.scoring import score_table
from spanlab.analysis.effects.reaction_times import timed_questions
from spanlab.analysis.figure_catalogue import FIGURES, figure_named, listing
from spanlab.analysis.figures.charts import draw
from spanlab.analysis.figures.figure import DrawnFigure, Wish
from spanlab.analysis.figures.worm import NUMBERS, OTHERS, PAPER_FIGURES, UNITS, numbered
from spanlab.core.errors import SpanLabError
from spanlab.extensions.replication.nback.chart import BIN

#: Eight matches among 24 items.
LABELS = "--m" * 8


def data_of(*tables: pd.DataFrame) -> Data:
    """Response tables as they are loaded."""
    scored = score_table(together(*tables))
    return Data(
        scored=scored,
        human={name: name for name in scored.parts},
        titles={name: name.title() for name in scored.parts},
        notes=(),
        readouts={},
    )


def drawing(name: str, *tables: pd.DataFrame, **wish: Any) -> DrawnFigure:
    return figure_named(name).draw(data_of(*tables), Wish(**wish))


def points(found: DrawnFigure, role: str = "curve", **fields: object) -> list[dict[str, Any]]:
    return [
        row
        for row in found.spec["data"]["values"]
        if row["role"] == role and all(row.get(name) == value for name, value in fields.items())
    ]


def blocks(hits: list[int], alarms: list[int], n: int = 1, **who: Any) -> pd.DataFrame:
    """Blocks of 24 items (8 matches), each with so many hits and false alarms."""
    parts = []
    for trial, (hit, alarm) in enumerate(zip(hits, alarms, strict=True), start=1):
        match, other = ["m"] * hit + ["-"] * (8 - hit), ["m"] * alarm + ["-"] * (16 - alarm)
        parts.append(
            block_rows(
                LABELS, [match.pop() if label == "m" else other.pop() for label in LABELS], n=n, trial=trial, **who
            )
        )
    return pd.concat(parts, ignore_index=True)


def test_lists_as_published_are_lines_in_a_panel_for_everybody() -> None:
    found = drawing(
        "worm-vsr", responses(lambda length, place: 0.9 - 0.05 * length, lengths=[2, 3, 4, 8], repetitions=5)
    )
    assert set(found.table["list_length"]) == {3, 4}
    assert {row["panel"] for row in points(found)} == {"network:test", "Avons 1998 (people)"}
    assert {row["agent"] for row in points(found)} == {"3 items", "4 items"}
    (people,) = points(found, panel="Avons 1998 (people)", agent="3 items", at=1)
    assert (people["mean"], people["low"]) == (0.895, None)
    assert "As published it also shows list length 5, 6, 7, 9, which these data do not have." in found.notes
    svg = draw(found.spec, found.agents)
    assert all(words in svg for words in ("3 items", "network:test", "Avons 1998 (people)", "serial position"))


def test_only_the_longest_retention_of_change_detection_is_drawn() -> None:
    parts = [
        table(
            along("set_size", {2: right, 6: right}, retention_steps=steps, factor_feature="gap"), 40, paradigm="cd"
        ).assign(session=str(steps))
        for steps, right in ((0, 1.0), (18, 0.0))
    ]
    found = drawing("worm-cd", *parts)
    assert {row["mean"] for row in points(found, panel="network:test")} == {0.0}
    assert "people's retention interval was different" in found.caption


def test_what_is_alike_in_all_lines_stands_in_the_title() -> None:
    maker = {
        steps: along("serial_position", {1: 0.9, 2: 0.5}, list_length=4, retention_steps=steps) for steps in (0, 5)
    }
    parts = [table(one, 30, paradigm="vir").assign(session=str(steps)) for steps, one in maker.items()]
    found = drawing("worm-vir", *parts)
    assert found.title == "Vir: serial positions, without and after retention (4 items)"
    assert {row["agent"] for row in points(found)} == {"retention 0", "retention 5"}
    with pytest.raises(
        SpanLabError,
        match=(
            r"vir has nothing of what it shows \(list length 4; retention 0, 5\); 'spanlab figure"
            r" serial_position_retention' draws"
        ),
    ):
        drawing("worm-vir", parts[0].assign(retention_steps=2))


def test_bars_are_intervals_or_standard_errors() -> None:
    data = table(along("set_size", {1: 0.9, 2: 0.6}), 60, paradigm="smu")
    whole, narrow = drawing("worm-smu", data), drawing("worm-smu", data, bars="sem")
    row = rows_by(whole.table[whole.table["agent"] == "network:test"], "set_size")[1]
    (drawn,) = points(narrow, agent="network:test", at=1)
    assert (drawn["low"], drawn["high"]) == (
        pytest.approx(row["mean"] - row["sem"]),
        pytest.approx(row["mean"] + row["sem"]),
    )
    assert points(whole, agent="network:test", at=1)[0]["low"] == row["low"]
    assert ("standard errors" in narrow.caption, "standard errors" in whole.caption) == (True, False)


def test_every_name_has_a_line_and_every_number_an_answer() -> None:
    assert {one.name for one in PAPER_FIGURES} <= {one.name for one in FIGURES}
    with pytest.raises(SpanLabError, match="did you mean 'nback_lures'") as told:
        figure_named("nback_lure")
    assert all(f"  {name} " in str(told.value) for name in (*FIGURES.known(), *UNITS, *NUMBERS))
    assert len(listing().splitlines()) == len(FIGURES) + len(UNITS) + len(NUMBERS)
    assert {f"worm-{number.lower()}" for number in numbered()} == {
        *NUMBERS,
        *OTHERS,
    }, "every numbered figure of the paper"
    for name in OTHERS:
        with pytest.raises(SpanLabError, match="is made neither of answers nor of a checkpoint"):
            figure_named(name)
    assert figure_named("worm-4a").name == "worm-vsr"
    with pytest.raises(
        SpanLabError, match=r"'spanlab neural mine.pt -o DIR' draws it as DIR/figures/task_switching.svg"
    ):
        figure_named("worm-5a", ["mine.pt"])


def test_histograms_hold_every_block_with_and_without_its_sign() -> None:
    hits, alarms = [8, 7, 0, 2, 5, 7, 3], [0, 1, 2, 4, 1, 0, 9]
    found, z = drawing("nback_dprime", blocks(hits, alarms)), scipy.stats.norm.ppf
    signed = z(np.clip(np.array(hits) / 8, 0.01, 0.99)) - z(np.clip(np.array(alarms) / 16, 0.01, 0.99))
    np.testing.assert_allclose(found.table["dprime"].astype(float), signed)
    for role, values in (("signed", signed), ("unsigned", np.abs(signed))):
        drawn = points(found, role)
        assert sum(row["count"] for row in drawn) == len(hits)
        assert all(np.sum((values >= row["x"]) & (values < row["x2"])) == row["count"] for row in drawn)
    assert min(row["x"] for row in points(found, "unsigned density")) >= 0
    whole = points(found, "signed density")
    area = np.trapezoid([row["count"] for row in whole], [row["x"] for row in whole])
    assert 0.75 * len(hits) * BIN < area <= 1.01 * len(hits) * BIN
    (row,) = found.shown.to_dict("records")
    assert (row["blocks"], row["below_0"]) == (7, int((signed < 0).sum()))


def test_printed_values_are_beside_answers_of_the_same_kind() -> None:
    found = drawing("nback_published", blocks([8, 7], [0, 1], n=1), blocks([8, 7], [0, 1], n=2))
    (printed,) = points(found, agent="gpt-3.5-turbo (recomputed)", measure="hit_rate", at=1)
    assert (printed["mean"], printed["hollow"]) == (pytest.approx(0.87), True)
    assert not points(found, agent="gpt-3.5-turbo (recomputed)", at=3)
    assert any("Gong" in note for note in found.notes)


def times(many: int, seed: int, mu: float = 450, sigma: float = 50, tau: float = 150, **who: Any) -> pd.DataFrame:
    random = np.random.RandomState(seed)
    given: dict[str, Any] = {
        "agent": "People",
        "kind": "participant",
        "participant": f"P{seed}",
        "paradigm": "smu",
    } | who
    return table(along("set_size", {2: 1.0, 4: 1.0}), many, **given).assign(
        rt_ms=random.normal(mu, sigma, many) + random.exponential(tau, many)
    )


def test_reaction_times_that_mean_nothing_are_not_drawn() -> None:
    with pytest.raises(SpanLabError, match=r"Times of machines \(network:x\) mean nothing and are not used"):
        drawing("reaction_time", times(80, 9, agent="network:x", kind="network", participant=""))
    with pytest.raises(SpanLabError, match="smu has no column 'colour'; its conditions are: block, set_size"):
        drawing("reaction_time", times(80, 1), by="colour")
    few = drawing("reaction_time", times(20, 1))
    assert list(few.notes) == ["1 of 1 distribution has no fit, or a fit without intervals; the table says why."]
    assert few.table["note"].tolist() == ["only 20 reaction times: no distribution fitted"]


def test_a_question_of_several_items_has_one_time() -> None:
    trials = [
        recall([1, 2, 3], [1, 2, 3] if number % 2 else [1, 2], number).assign(
            agent_kind="participant", rt_ms=500.0 + number
        )
        for number in range(1, 9)
    ]
    scored = score_table(together(*trials))
    assert sorted(timed_questions(scored)["rt_ms"]) == [501, 503, 505, 507]
    assert len(timed_questions(scored, correct_only=False)) == 8


@pytest.fixture
def spanlab(tmp_path: Path, run: Run) -> Run:
    together(blocks([8, 7, 6], [0, 1, 2]), times(60, 1)).to_csv(tmp_path / "table.csv", index=False)
    return run


def test_the_command_prints_writes_and_draws(spanlab: Run, tmp_path: Path) -> None:
    status, out, err = spanlab("figure", "nback_dprime", "table.csv")
    assert (status, err) == (0, "")
    assert "below_0" in out
    assert spanlab("figure", "nback_bars", "table.csv", "-o", "bars.csv")[0] == 0
    assert set(pd.read_csv(tmp_path / "bars.csv")["measure"]) == {
        "hit_rate",
        "false_alarm_rate",
        "accuracy",
        "dprime",
        "dprime_abs",
    }
    assert spanlab("figure", "reaction_time", "table.csv", "-o", "times.svg")[0] == 0
    assert "reaction time (ms)" in (tmp_path / "times.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("figure worm-5a table.csv", "'spanlab neural table.csv -o DIR' draws it"),
        ("figure worm-a4 table.csv", "Fig. A4 of WorM is made neither of answers nor of a checkpoint"),
        ("figure worm-4c table.csv", "no figure worm-cs: these data have no cs"),
        ("figure worm-vsr table.csv", "no figure worm-vsr: these data have no vsr"),
        ("figure nback_bars table.csv --bars both", "--bars is 'interval' (95%), 'sem'"),
        (
            "figure nback_bars table.csv --by set_size",
            "--by is for the figures conditions, error_distribution, reaction_time, roc and zroc",
        ),
        ("figure nback_bars table.csv --paradigm smu", "smu is not an N-back paradigm"),
        ("figure nback_lures table.csv", "no item of these data is recorded as a lure"),
        (
            "figure reaction_time table.csv --paradigm nback_verbal",
            "no person's correct answers in nback_verbal have a reaction time",
        ),
        ("figure set_size table.csv --paradigm smu --paradigm nback_verbal", "name one with --paradigm"),
    ],
)
@pytest.mark.slow
def test_mistakes_are_told_in_a_sentence(arguments: str, words: str, spanlab: Run) -> None:
    assert words in complaint(*spanlab(*arguments.split()))
