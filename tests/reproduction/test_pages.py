"""Pages of the papers made again: every printed value is held against ours, and what is not at hand is said."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_line import Run, complaint

from spanlab import replay
from spanlab.analysis.nback import published as nback_published
from spanlab.analysis.nback.measures import PUBLISHED, measured
from spanlab.reproduction import nback, worm
from spanlab.reproduction.entries import Entry, Page, Row, verdict_of, write_page

ROOT = Path(__file__).resolve().parents[2]


def test_the_sixty_rows_of_the_n_back_study_are_counted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks, printed = measured(nback_published.published_blocks(), PUBLISHED), nback_published.published_results()
    found = nback.printed_table(blocks)
    assert (len(found.rows), found.verdict) == (60, "same")
    # and a printed value that is another one is seen
    other = printed.assign(fa_rate_mean=printed["fa_rate_mean"] + [0.01 if row == 7 else 0.0 for row in range(len(printed))])
    monkeypatch.setattr(nback, "published_results", lambda: other)
    changed = nback.printed_table(blocks)
    assert changed.verdict == "differs"
    assert [(row.verdict, row.said) for row in changed.rows if row.verdict != "same"] == [("differs", "false alarms % by 0.01")]
    assert changed.said.startswith("59 of 60 rows are as published")


def test_printed_p_values_are_found_again_without_the_sign() -> None:
    found = nback.printed_tests(measured(nback_published.published_blocks(), PUBLISHED))
    assert [row.ours for row in found.rows] == ["0.14", "0.027", "0.048", "0.035"]
    assert found.verdict == "same"
    assert ["with signed d′ p = " in row.said for row in found.rows] == [True] * 4


def test_the_tables_of_worm_that_need_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [(one.key, one.verdict, len(one.rows)) for one in (worm.grid_tried(), worm.time_map(), worm.network_sizes())] == [
        ("a1", "same", 4),
        ("a2", "same", 24),
        ("a4", "same", 12),
    ]
    times = worm.published_times()
    monkeypatch.setattr(worm, "published_times", lambda: [{**times[0], "ms": "751"}, *times[1:]])
    changed = worm.time_map()
    assert (changed.verdict, changed.rows[0]) == ("differs", Row(("sfr", "present"), "750", "751", "differs", "see both"))


def test_whoever_is_at_hand_stands_beside_the_published_networks(tmp_path: Path) -> None:
    folder = replay("smu", "capacity", trials=40, levels={"set_size": [1, 2, 3, 4]}, data=tmp_path, say=lambda _: None).folder
    rows = {row.what[:2]: row for row in worm.network_scores([folder], ["x cannot take vir: it does not know it."]).rows}
    assert len(rows) == 13, "all scores of the published table"
    mine = rows["smu", "B_setsize"]
    assert (mine.verdict, mine.what[2]) == ("ours alone", "capacity (simulated)")
    assert mine.published == "0.133 (TRF-1024) to 0.680 (RNN-96)"
    assert rows["vir", "A_retentioninterval"].verdict == "not available here"
    assert worm.network_scores([], []).verdict == "not available here"


def test_verdicts_say_how_many_rows_differ() -> None:
    assert verdict_of([Row(("a",), "1", "1", "same"), Row(("b",), "", "", "")]) == ("same", "all 1 rows are as published")
    assert verdict_of([Row(("a",), "1", "1", "same"), Row(("b",), "1", "2", "differs", "by 1")])[0] == "differs"


def test_a_page_is_one_file_that_opens_offline(tmp_path: Path) -> None:
    entry = Entry("k", "A table", "differs", "by <much>", ("task",), (Row(("vsr",), "1", "2", "differs", "by 1"),))
    page = Page("Title", "Lead", ("facts",), "spanlab reproduce worm -o x", (entry,))
    text = write_page(page, tmp_path / "deep" / "folder").read_text(encoding="utf-8")
    assert "By &lt;much&gt;." in text
    assert "differs: by 1" in text
    assert not re.search(r"(src|href)=\"(?!#)", text), "nothing is fetched"
    assert page.counted() == "1 differs"


def test_what_cannot_be_asked_for_is_said_before_anything_runs(tmp_path: Path, run: Run) -> None:
    assert "give both, or neither" in complaint(*run("reproduce", "nback", "-o", "page", "--steps", "5"))
    assert "wrom" in complaint(*run("reproduce", "wrom", "-o", "page"))
    assert "unknown agent 'nobody'" in complaint(*run("reproduce", "nback", "-o", "page", "--agent", "nobody"))
    assert not (tmp_path / "page").exists()


@pytest.mark.slow
def test_one_command_trains_what_is_missing_and_makes_the_page(tmp_path: Path, run: Run) -> None:
    (tmp_path / "tiny.yaml").write_text(
        "name: tiny\nmodel: {encoder: worm, architecture: lstm, hidden: 96}\n"
        "tasks: [{paradigm: smu, batch: 2, train_trials: 16, factors: {set_size: [1, 2]}}]\n"
        "steps: 50\ncheck: {every: 1, trials: 1, test_trials: 1}\n",
        encoding="utf-8",
    )
    asked = ("reproduce", "worm", "-o", "page", "--trials", "32", "--agent", "chance", "--train", "tiny.yaml", "--steps", "1")
    status, out, said = run(*asked)
    assert status == 0, said
    assert "tiny-1.pt cannot take vsr" in said
    text = (tmp_path / "page" / "index.html").read_text(encoding="utf-8")
    assert "tiny-1.pt" in text
    assert text.count("<svg") == 6, "guessing takes all six"
    assert "spanlab reproduce worm -o page --agent chance --trials 32 --train tiny.yaml --steps 1" in text
    trained = (tmp_path / "page" / "networks" / "tiny-1" / "tiny-1.pt").read_bytes()
    sessions = sorted(one.name for one in (tmp_path / "page" / "data" / "32-trials-seed-1").iterdir())
    assert run(*asked)[:2] == (0, out)
    assert (tmp_path / "page" / "networks" / "tiny-1" / "tiny-1.pt").read_bytes() == trained
    assert sorted(one.name for one in (tmp_path / "page" / "data" / "32-trials-seed-1").iterdir()) == sessions, "nothing is taken twice"
    assert (tmp_path / "page" / "index.html").read_text(encoding="utf-8") == text
    # another network under the same name is not taken for the one that answered
    (tmp_path / "page" / "networks" / "tiny-1" / "tiny-1.json").unlink()
    (tmp_path / "page" / "networks" / "tiny-1" / "tiny-1.state.pt").unlink()
    (tmp_path / "page" / "networks" / "tiny-1" / "tiny-1.pt").unlink()
    (tmp_path / "tiny.yaml").write_text((tmp_path / "tiny.yaml").read_text(encoding="utf-8") + "seed: 2\n", encoding="utf-8")
    assert run(*asked)[0] == 0
    assert len(list((tmp_path / "page" / "data" / "32-trials-seed-1").iterdir())) == len(sessions) + 1


@pytest.mark.slow
def test_a_network_of_a_published_make_is_held_against_that_one(tmp_path: Path) -> None:
    """LSTM-96 before it has learned anything is not what was published."""
    torch = pytest.importorskip("torch")
    from spanlab.agents.network.checkpoints_io.checkpoint import TrainedOn, save
    from spanlab.agents.network.checkpoints_io.published import worm_tasks
    from spanlab.agents.network.models import build
    from spanlab.agents.network.settings import model_settings

    torch.manual_seed(0)
    network = build(model_settings(encoder="worm", architecture="lstm", hidden=96), worm_tasks(), 1)
    save(tmp_path / "mine.pt", network, "mine", TrainedOn(paradigms={}, levels={}, steps=0, trials={}, config=""))
    folder = replay("smu", f"network:{tmp_path / 'mine.pt'}", trials=64, data=tmp_path / "data", say=lambda _: None).folder
    rows = {row.what[1]: row for row in worm.network_scores([folder], []).rows if row.what[0] == "smu"}
    assert rows["B_setsize"].what[2].endswith("(LSTM-96)")
    assert (rows["B_setsize"].published, rows["B_setsize"].verdict) == ("0.159", "differs")


@pytest.mark.parametrize("paper", ["worm", "nback"])
def test_the_example_in_the_documents_is_whole(paper: str) -> None:
    text = (ROOT / "docs" / "reproduction" / paper / "index.html").read_text(encoding="utf-8")
    assert f"spanlab reproduce {paper} -o docs/reproduction/{paper}" in text
    rows = {"worm": "24 rows, ours beside what was published", "nback": "60 rows, ours beside what was published"}[paper]
    assert rows in text
