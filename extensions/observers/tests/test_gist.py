"""Observers of the gist: by hand, against what is known, and behind the wall."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from spanlab.paradigms import list_paradigms
from spanlab.stimuli.kinds.arrays import Matrix, SideBySide
from spanlab.stimuli.kinds.lettering import Letter
from spanlab.stimuli.kinds.plain import Blank

from ..gist import GISTS, Gist, alternatives, elements

ROOT = Path(__file__).resolve().parents[3]


def test_what_each_keeps_by_hand() -> None:
    kept = {keeps: Gist(keeps) for keeps in GISTS}
    for gist in kept.values():
        for cells in ((1, 2), (), (2, 3, 4)):
            gist.take(cells)
    assert dict(kept["sum"].held) == {1: 1, 2: 2, 3: 1, 4: 1}
    assert dict(kept["first"].held) == {1: 1, 2: 1}
    assert dict(kept["last"].held) == {2: 1, 3: 1, 4: 1}
    assert not kept["filled"].held
    assert (kept["filled"].displays, kept["filled"].shown) == (2, 5)
    assert kept["sum"].familiarity((2, 3)) == 1.5
    assert kept["sum"].known((1, 4))
    assert not kept["last"].known((1,))
    assert kept["filled"].alike((7, 8, 9, 10, 11))
    assert not kept["filled"].alike((1, 2))


def test_elements_of_displays() -> None:
    assert elements(Matrix.model_validate({"filled": [3, 9]})) == (3, 9)
    assert elements(Letter.model_validate({"symbol": "w%#^*"})) == ("w",)
    assert elements(Blank.model_validate({})) == ()
    assert alternatives(SideBySide.model_validate({"left": [1], "right": [2, 3]})) == [(1,), (2, 3)]


def test_the_table_has_every_paradigm_and_every_observer() -> None:
    table = pd.read_csv(ROOT / "analysis" / "published" / "gist.csv", dtype={"level": str})
    assert set(table["paradigm"]) == set(list_paradigms())
    assert set(table["observer"]) == set(GISTS)
    assert table.groupby(["paradigm", "level"], dropna=False).size().eq(len(GISTS)).all()
    by_length = table[(table["paradigm"] == "vir") & (table["observer"] == "sum")].set_index("level")["right"]
    assert by_length["4"] > by_length["10"] + 0.05
