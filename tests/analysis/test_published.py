"""Published human data: what the files say, and that curves of them pretend to nothing more."""

from __future__ import annotations

from pathlib import Path

import pytest

import spanlab.human_data
from spanlab.analysis.effects.curves import published_curve, sources
from spanlab.human_data import PUBLISHED_COLUMNS, published, studies


def test_every_study_is_read_with_its_source() -> None:
    table = published()
    assert studies() == ["avons1998", "kerr1999", "luck_vogel1997", "oberauer_kliegl2006", "vergauwe2009"]
    assert set(PUBLISHED_COLUMNS) <= set(table.columns)
    assert table["accuracy"].between(0, 1).all()
    assert table["source"].str.contains(r"\(\d{4}\)").all()
    assert table.groupby("paradigm").size().to_dict() == {
        "vsr": 18,
        "vsrec": 15,
        "vir": 8,
        "smu": 4,
        "cd": 15,
        "cs": 12,
    }


def test_the_files_are_described_beside_them() -> None:
    readme = (Path(spanlab.human_data.__file__).parent / "README.md").read_text(encoding="utf-8")
    assert all(f"`{study}.csv`" in readme for study in studies())
    assert "`sfr`" in readme


def test_avons_by_serial_position_is_as_printed() -> None:
    curve = published_curve("vsr", ("list_length", "serial_position"))
    assert curve[curve["list_length"] == 5]["mean"].tolist() == [0.6875, 0.5375, 0.525, 0.45, 0.625]
    assert set(curve["agent"]) == {"Avons 1998 (people)"}
    assert curve[["sem", "low", "high", "n_units", "chance"]].isna().all().all()


def test_avons_by_set_size_is_an_average_and_says_so() -> None:
    curve = published_curve("vsr", ("set_size",)).to_dict("records")
    assert curve[0]["set_size"] == 3
    assert curve[0]["mean"] == pytest.approx((0.895 + 0.85 + 0.8625) / 3)
    assert "average of 3 printed points" in curve[0]["note"]


def test_paradigms_without_digitised_numbers_give_an_empty_curve() -> None:
    for by in (("set_size",), ("list_length", "serial_position")):
        assert len(published_curve("sfr", by)) == 0
        assert len(published_curve("no such paradigm", by)) == 0
    assert len(published_curve("smu", ("list_length", "serial_position"))) == 0
    assert sources("sfr") == []
    assert [study for study, _ in sources("smu")] == ["Oberauer & Kliegl 2006"]
