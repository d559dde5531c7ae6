"""How far everybody is from people in the story of a report: by hand, over shared conditions only,
and with intervals that hold planted differences."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from analysis_tables import mixed, responses

from spanlab.analysis.data.loading import Data, load
from spanlab.analysis.data.scoring import score_table
from spanlab.analysis.inference import Claim
from spanlab.analysis.means.contrasts import Contrast
from spanlab.analysis.model_vs_human.differences import Difference, at_common_conditions, from_people
from spanlab.analysis.report.text import _from_people as told
from spanlab.analysis.report.text import _span as span
from spanlab.analysis.report.text import opening
from spanlab.api.analysing import compare


def data(folder: Path, *tables: pd.DataFrame) -> Data:
    mixed(*tables).to_csv(folder / "answers.csv", index=False)
    return load([folder / "answers.csv"])


def people(
    share: float, many: int = 4, lengths: tuple[int, ...] = (3, 4), seed: int = 0, repetitions: int = 4
) -> list[pd.DataFrame]:
    names = [f"P{number}" for number in range(many)]
    return [
        responses(
            lambda *_: share,
            agent="participant",
            kind="participant",
            participant=name,
            lengths=lengths,
            repetitions=repetitions,
            seed=seed + number,
        )
        for number, name in enumerate(names)
    ]


def test_only_conditions_that_both_have_are_compared_each_with_the_same_weight(tmp_path: Path) -> None:
    crowd = people(0.7)
    network = responses(lambda length, position: 0.4 if length < 6 else 1.0, lengths=(3, 6, 7), repetitions=6, seed=9)
    found = from_people(data(tmp_path, *crowd, network), "vsr")["network:test"]
    theirs = pd.concat(crowd)
    mine = network[network["list_length"] == 3].groupby("serial_position")["correct"].mean()
    expected = (mine - theirs[theirs["list_length"] == 3].groupby("serial_position")["correct"].mean()).mean()
    assert found.value == pytest.approx(expected)
    assert (found.against, found.conditions) == ("people (n = 4)", 3)
    assert found.low < found.value < found.high


@pytest.mark.slow
def test_people_themselves_are_held_against_published_ones_and_yardsticks_against_nobody(tmp_path: Path) -> None:
    found = from_people(data(tmp_path, *people(0.9), responses(lambda *_: 0.1, agent="chance", kind="chance")), "vsr")
    assert set(found) == {"People (n = 4)"}
    assert found["People (n = 4)"].against == "Avons 1998 (people)"
    assert from_people(data(tmp_path, *people(0.9, lengths=(8, 9))), "vsr") == {}


def test_one_trial_has_a_difference_and_no_interval(tmp_path: Path) -> None:
    one = responses(lambda *_: 1.0, lengths=(3,), repetitions=1)
    found = from_people(data(tmp_path, *people(0.5, many=1, lengths=(3,), repetitions=1), one), "vsr")["network:test"]
    assert np.isfinite(found.value)
    assert np.isnan(found.low)
    assert np.isnan(found.high)


def test_a_network_that_is_as_right_as_people_is_not_distinguishable_from_them(tmp_path: Path) -> None:
    crowd = people(0.6, many=6, lengths=(3,), repetitions=8)
    alike = from_people(data(tmp_path, *crowd, responses(lambda *_: 0.6, lengths=(3,), repetitions=16, seed=9)), "vsr")[
        "network:test"
    ]
    assert alike.low < 0 < alike.high
    said = told(alike)
    assert said.startswith(
        "; not distinguishable from people (n = 6) over the same list length and serial position (difference "
    )
    assert not re.search("points (above|below)|as many as", said)


def test_a_difference_says_which_levels_it_is_over(tmp_path: Path) -> None:
    """A network has lists that people lack: the difference at all of its own conditions, and that
    at those that everybody has, are numbers of their own and say of what."""
    crowd = people(0.7, lengths=(3, 4))
    all_lists = responses(lambda length, position: 0.9 if length == 4 else 0.4, lengths=(3, 4, 6), repetitions=8)
    short = responses(lambda *_: 0.5, agent="network:short", lengths=(3,), repetitions=8, seed=2)
    found = data(tmp_path, *crowd, all_lists, short)
    apart = from_people(found, "vsr")
    assert apart["network:test"].over == "list length (3 and 4) and serial position"
    assert apart["network:short"].over == "list length (3) and serial position"
    common = at_common_conditions(found, "vsr", apart)
    assert common is not None
    assert common.words == "list length 3"
    assert common.differences["network:test"].over == "list length (3) and serial position"
    assert common.differences["network:test"].value != pytest.approx(apart["network:test"].value)
    alone = from_people(data(tmp_path, *crowd, all_lists[all_lists["list_length"] < 6]), "vsr")
    assert alone["network:test"].over == "list length and serial position"


def test_sentences_of_differences_are_true(tmp_path: Path) -> None:
    """Somebody who is always right has an interval, that of so many trials; one trial has none, and
    it is said why; nobody is 0 points above anybody."""
    always = responses(lambda *_: 1.0, lengths=(3,), repetitions=16)
    few = from_people(data(tmp_path, *people(0.6, many=6, lengths=(3,), repetitions=8), always), "vsr")["network:test"]
    assert few.low < 0.025 ** (1 / 16) - 0.5 < few.value <= few.high < 0.7
    said = told(few)
    assert "points above people (n = 6) over the same list length and serial position (95% interval +" in said
    assert said.endswith("; 16 trials)")
    one = from_people(
        data(tmp_path, *people(0.6, many=6, lengths=(3,)), responses(lambda *_: 1.0, lengths=(3,), repetitions=1)),
        "vsr",
    )["network:test"]
    assert told(one).endswith("(no interval: only one trial)")

    def claim(low: float, high: float, note: str = "") -> Claim:
        return Claim(
            "difference", "net", "network", Contrast(0.002, (high - low) / 2 / 2.306, 8.0, 9), 0.0, "trial", 9, note
        )

    same = Difference("net", "people (n = 2)", claim(0.001, 0.003), 3, "list length")
    assert told(same) == (
        "; 0.2 points above people (n = 2) over the same list length (95% interval +0.1 to +0.3; 9 trials)"
    )
    alone = Difference("net", "people (n = 2)", claim(math.nan, math.nan, "only one trial"), 3, "list length")
    assert told(alone).startswith("; as many as people (n = 2) over the same list length, to half a point (no interval")
    assert "not distinguishable" in told(Difference("net", "people", claim(-0.1, 0.1), 3))


def test_cells_of_people_are_counted_in_people() -> None:
    cells = pd.DataFrame({"unit": ["participant", "participant", "trial"], "n_units": [3, 3, 8]})
    assert span(cells) == "3 participants or 8 trials"


def test_many_paradigms_are_counted_in_the_first_sentence() -> None:
    facts = score_table(responses(lambda *_: 0.5, agent="x", lengths=(3,), repetitions=2)).parts["vsr"]
    names = [f"task_{number}" for number in range(7)]
    assert opening((), facts, names)[1].startswith("x (trained network) took 7 paradigms.")
    assert " task_0, task_1, task_2, task_3, task_4 and task_5." in opening((), facts, names[:6])[1]


@pytest.mark.usefixtures("page_only")
def test_a_page_names_what_was_planned_and_says_nothing_of_it_where_nothing_was(tmp_path: Path) -> None:
    networks = [
        responses(lambda *_: 0.4, agent=name, lengths=(3, 4), repetitions=6, seed=seed)
        for seed, name in enumerate(("network:one", "network:other"), 9)
    ]
    mixed(*people(0.7), *networks).to_csv(tmp_path / "answers.csv", index=False)
    pages = {
        planned: compare([tmp_path / "answers.csv"], tmp_path / f"report{len(planned)}", planned=list(planned))
        for planned in ((), ("vsr/people/network:one",))
    }
    without, named = (page.file.read_text(encoding="utf-8") for page in pages.values())
    assert "differences from people (3)" in without
    assert "planned before the data were seen" not in without
    assert "differences from people (2)" in named
    assert "planned before the data were seen: vsr/people/network:one." in named
