"""Pages of the papers made again: every printed value is held against ours, and what is not at hand
is said."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import Run, complaint

from spanlab import replay
from spanlab.analysis.figures.worm import numbered
from spanlab.analysis.model_vs_human.score_layout import published_scores
from spanlab.analysis.nback import published as nback_published
from spanlab.analysis.nback.measures import PUBLISHED, measured
from spanlab.core.errors import SpanLabError
from spanlab.extensions.replication.command import networks_in
from spanlab.extensions.replication.pages import nback, worm
from spanlab.extensions.replication.pages.entries import Entry, Page, Row, verdict_of, write_page
from spanlab.extensions.replication.pages.worm import above_blind, judged, margins

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def blocks() -> pd.DataFrame:
    return measured(nback_published.published_blocks(), PUBLISHED)


@pytest.mark.slow
def test_what_the_notebooks_print_is_told_from_what_their_answers_give(blocks: pd.DataFrame) -> None:
    """Of 39 rows of the study's own model 15 are printed otherwise, in 33 of 156 cells; how they
    came out so is found again."""
    found = nback.printed_table(blocks)
    own = [row for row in found.rows if row.what[0] != "verbal_other_models"]
    apart = [row for row in own if row.verdict == "differs"]
    cells = sum(
        ours != printed
        for row in own
        for ours, printed in zip(row.ours.split(" · "), row.published.split(" · "), strict=True)
    )
    assert (found.verdict, len(own), len(apart), cells) == ("differs", 39, 15, 33)
    assert {row.what[0] for row in apart} == {
        *("verbal_with_noise", "verbal_with_feedback", "verbal_think_by_step"),
        *("spatial_4x4", "spatial_abstraction_2"),
    }
    assert all("in that way, ours are as printed" in row.said for row in apart)
    assert "printed" in found.source


def test_a_printed_value_that_is_another_one_is_seen(blocks: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    printed = nback_published.printed_means()
    printed.loc[0, "hit_rate_mean"] = "87.01"
    printed.loc[3, "accuracy_mean"] = "11.01"
    monkeypatch.setattr(nback, "printed_means", lambda: printed)
    rows = nback.printed_table(blocks).rows
    assert (rows[0].verdict, rows[0].said) == ("differs", "hits %: the reason is not known")
    assert rows[3].said.endswith("as accuracy"), "the reason does not give this value"


def test_all_printed_tests_are_found_again_without_the_sign(
    blocks: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = nback.printed_tests_again(blocks)
    assert (len(found.rows), found.verdict) == (161, "same")
    assert Counter(row.what[1] for row in found.rows) == {
        "Kruskal-Wallis": 23,
        "Mann-Whitney": 69,
        "Wilcoxon above 1": 69,
    }
    assert sum("another decision" in row.said for row in found.rows) == 7
    printed = nback_published.printed_tests()
    printed.loc[1, "p"] = "0.141163"
    monkeypatch.setattr(nback, "printed_tests", lambda: printed)
    changed = nback.printed_tests_again(blocks)
    assert [row.what[2] for row in changed.rows if row.verdict == "differs"] == ["verbal_with_noise, gpt-3.5-turbo"]


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.48, 0.52, "same"),
        (0.53, 0.57, "not resolved"),
        (0.57, 0.60, "differs"),
        (0.1, 0.9, "not resolved"),
        (0.2, 0.4, "differs"),
    ],
)
def test_a_score_is_the_same_another_or_not_resolved(low: float, high: float, verdict: str) -> None:
    assert judged((low + high) / 2, low, high, printed=0.5, margin=0.06, trials=100)[0] == verdict


def test_the_fewer_trials_the_fewer_scores_are_the_same() -> None:
    """A network with the very score that is printed: with few trials its interval is wide, and
    nothing is claimed."""
    verdicts = [
        judged(0.5, 0.5 - 1 / trials**0.5, 0.5 + 1 / trials**0.5, 0.5, 0.05, trials)
        for trials in (25, 100, 390, 410, 10_000)
    ]
    assert [verdict for verdict, _ in verdicts] == ["not resolved"] * 3 + ["same"] * 2
    assert verdicts[0][1] == verdicts[1][1] == "some 400 trials would resolve it"


def test_verdicts_are_wrong_as_rarely_as_they_say() -> None:
    """A true score on the edge of the margin is called the same in at most 2.5% of samples; one at
    the printed value is never called another."""
    random = np.random.default_rng(1)
    for true, verdict in ((0.56, "same"), (0.44, "same")):
        means = random.normal(true, 0.01, 4000)
        wrong = sum(judged(mean, mean - 0.0196, mean + 0.0196, 0.5, 0.06, 100)[0] == verdict for mean in means)
        assert wrong / 4000 < 0.035
    means = random.normal(0.5, 0.02, 4000)
    assert not any(judged(mean, mean - 0.04, mean + 0.04, 0.5, 0.06, 100)[0] == "differs" for mean in means)


def test_every_score_has_a_margin_that_follows_from_the_printed_values() -> None:
    printed = published_scores().groupby(["task", "score"])["value"].std() / 2
    assert set(margins()) == set(printed.index)
    for key, margin in margins().items():
        assert margin == pytest.approx(printed[key], abs=6e-5)


def answered(right: Sequence[bool] | np.ndarray, blind: float = 0.2) -> pd.DataFrame:
    """Items of a network, one in each trial."""
    return pd.DataFrame(
        {
            "paradigm": "smu",
            "session": "s",
            "unit_trial": np.arange(len(right)),
            "correct": right,
            "blind": blind,
            "chance": 1 / 9,
        }
    )


def test_who_knows_is_above_the_best_blind_guess() -> None:
    knows, said = above_blind(answered(np.random.default_rng(2).random(400) < 0.4))
    assert knows
    assert re.fullmatch(r"it is right in 0\.\d{3} of 400 answers, the best blind guess in 0\.200", said)
    assert above_blind(answered([True] * 5)) == (
        True,
        "it is right in 1.000 of 5 answers, the best blind guess in 0.200",
    )


@pytest.mark.slow
def test_who_guesses_is_not_above_the_best_blind_guess() -> None:
    """Guessers with the best blind answer pass in at most a few of a thousand samples; somebody who
    knows a little passes with enough trials only."""
    random = np.random.default_rng(2)
    assert sum(above_blind(answered(random.random(200) < 0.2))[0] for _ in range(1000)) <= 6
    knows, said = above_blind(answered(np.arange(60) < 15))
    assert not knows
    assert re.search(r"; some [\d,]+ trials would resolve it$", said)
    knows, said = above_blind(answered(np.arange(60) < 11))
    assert not knows
    assert said.endswith("; more trials would not change that")


@pytest.mark.parametrize("trials", [1, 2, 4])
def test_a_few_right_answers_are_not_above_the_best_blind_guess(trials: int) -> None:
    """Of guesses, 20 in 100 are right: all of four by chance in 16 of 10,000 cases."""
    knows, said = above_blind(answered([True] * trials))
    assert not knows
    assert said.endswith("; some 5 trials would resolve it")


@pytest.mark.slow
def test_the_tables_of_worm_that_need_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [
        (one.key, one.verdict, len(one.rows)) for one in (worm.grid_tried(), worm.time_map(), worm.network_sizes())
    ] == [
        ("a1", "same", 4),
        ("a2", "same", 24),
        ("a4", "differs", 12),
    ]
    rounded = {row.what[0]: row.verdict for row in worm.network_sizes().rows}
    assert {name for name, verdict in rounded.items() if verdict == "differs"} == {"RNN-96", "LSTM-1024", "TRF-1024"}
    times = worm.published_times()
    monkeypatch.setattr(worm, "published_times", lambda: [{**times[0], "ms": "751"}, *times[1:]])
    changed = worm.time_map()
    assert (changed.verdict, changed.rows[0]) == (
        "differs",
        Row(("sfr", "present"), "750", "751", "differs", "see both"),
    )


def test_scores_of_another_definition_are_not_held_against_print() -> None:
    items = pd.DataFrame(
        {"session": "s", "unit_trial": range(20), "correct": True, "blind": 0.5, "chance": 0.5, "paradigm": "vsrec"}
    )
    row = {"value": 0.9, "low": 0.89, "high": 0.91, "p": 0.5, "note": ""}
    names = [("vsrec", "A_patterndiff"), ("vsr", "A_primacy"), ("vsrec", "B_patterndiff")]
    judged_rows = [worm._held_against((*name, "mine"), row, 0.9, items) for name in names]
    assert [one.verdict for one in judged_rows] == ["ours alone", "ours alone", "same"]
    assert "over serial positions (A2.3)" in judged_rows[0].said


def test_whoever_is_at_hand_stands_beside_the_published_networks(tmp_path: Path) -> None:
    folder = replay(
        "smu", "capacity", trials=40, levels={"set_size": [1, 2, 3, 4]}, data=tmp_path, say=lambda _: None
    ).folder
    found = worm.network_scores([folder], ["x cannot take vir: it does not know it."])
    assert "--" not in found.said, "options that another command has"
    rows = {row.what[:2]: row for row in found.rows}
    assert len(rows) == 13, "all scores of the published table"
    mine = rows["smu", "B_setsize"]
    assert (mine.verdict, mine.what[2]) == ("ours alone", "capacity (simulated)")
    assert mine.published == "0.133* (TRF-1024) to 0.680* (RNN-96)"
    assert re.match(r"0\.\d+\* \[", mine.ours), "told from guessing by the paper's test"
    assert rows["vir", "A_retentioninterval"].verdict == "not available here"
    assert worm.network_scores([], []).verdict == "not available here"


def test_a_figure_says_who_guesses_and_of_which_tasks_a_network_knows_one(tmp_path: Path) -> None:
    levels = {"list_length": 3}
    for agent in ("chance", "network:worm-vsr"):
        replay("vsr", agent, trials=40, levels=levels, data=tmp_path, say=lambda _: None)
    sessions = worm.find_sessions([tmp_path])
    entry = worm.behaviour(worm.PAPER_FIGURES[0], worm.load(sessions), [])
    assert [note.partition(":")[0] for note in entry.notes if "guess:" in note] == [
        "chance (guessing) is not shown to do better than guess"
    ]
    said = [row.said for row in worm.network_scores(sessions, []).rows if row.what[2] == "network:worm-vsr"]
    assert said
    assert all(one.startswith("lstm with 256 units, trained on vsr alone") for one in said)
    curves = {number: worm._training(number, sessions) for number in worm._TRAINING}
    assert "network:worm-vsr" in curves["worm-a14"].said
    assert "<svg" in curves["worm-a14"].picture
    assert curves["worm-a4"].verdict == "not available here", "one task is no mean over tasks"


def test_verdicts_say_how_many_rows_differ() -> None:
    assert verdict_of([Row(("a",), "1", "1", "same"), Row(("b",), "", "", "")]) == (
        "same",
        "all 1 rows are as published",
    )
    assert verdict_of([Row(("a",), "1", "1", "same"), Row(("b",), "1", "2", "differs", "by 1")])[0] == "differs"


def test_one_row_that_is_not_resolved_leaves_the_whole_open() -> None:
    same, open_, other = (Row(("a",), "1", "1", verdict) for verdict in ("same", "not resolved", "differs"))
    assert verdict_of([same, open_])[0] == "not resolved"
    assert verdict_of([same, open_, other])[0] == "differs"


def test_every_numbered_figure_is_on_the_page() -> None:
    titles = " ".join(entry.title for entry in worm.entries([], [], worm.Units("", "there is none")))
    assert all(re.search(rf"\b{number}\b", titles) for number in numbered())


@pytest.mark.slow
def test_an_ablation_has_an_entry_of_its_own() -> None:
    titles = {entry.key: entry.title for entry in worm.entries([], [], worm.Units("", "there is none"))}
    assert titles["worm-a2a"].startswith("Figure A2A: vsr")
    assert titles["worm-vsr"].startswith("Figures 4A, A7: vsr")


def test_a_page_is_one_file_that_opens_offline(tmp_path: Path) -> None:
    entry = Entry("k", "A table", "differs", "by <much>", ("task",), (Row(("vsr",), "1", "2", "differs", "by 1"),))
    page = Page("Title", "Lead", ("facts",), "spanlab reproduce worm -o x", (entry,))
    text = write_page(page, tmp_path / "deep" / "folder").read_text(encoding="utf-8")
    assert "By &lt;much&gt;." in text
    assert "differs: by 1" in text
    assert not re.search(r"(src|href)=\"(?!#)", text), "nothing is fetched"
    assert page.counted() == "1 differs"


def test_what_cannot_be_asked_for_is_said_before_anything_runs(tmp_path: Path, run: Run) -> None:
    assert "wrom" in complaint(*run("reproduce", "wrom", "-o", "page"))
    assert "unknown agent 'nobody'" in complaint(*run("reproduce", "nback", "-o", "page", "--agent", "nobody"))
    assert not (tmp_path / "page").exists()


@pytest.mark.slow
def test_one_command_makes_the_page(tmp_path: Path, run: Run) -> None:
    (tmp_path / "tiny.yaml").write_text(
        "name: tiny\nmodel: {encoder: worm, architecture: lstm, hidden: 96}\n"
        "tasks: [{paradigm: smu, batch: 2, train_trials: 16, factors: {set_size: [1, 2]}}]\n"
        "steps: 50\ncheck: {every: 1, trials: 1, test_trials: 1}\n",
        encoding="utf-8",
    )
    asked = (
        "reproduce",
        "worm",
        "-o",
        "page",
        "--trials",
        "32",
        "--agent",
        "chance",
        "--agent",
        "network:runs/tiny.pt",
    )
    assert run("train", "tiny.yaml", "-o", "runs", "--steps", "1")[0] == 0
    status, out, said = run(*asked)
    assert status == 0, said
    assert "tiny.pt cannot take vsr" in said
    text = (tmp_path / "page" / "index.html").read_text(encoding="utf-8")
    assert "tiny.pt" in text
    drawn = re.findall(r'<div class="picture" role="img" aria-label="Figures? ([^:]+):', text)
    figures_of_curves = [
        "4A, A7",
        "4B, A8",
        "4C, A9",
        "4D, A10",
        "4E, A11",
        "4F, A12",
        "A2A",
        "A2B",
        "A2C",
        "A3",
    ]  # guessing takes all of these
    assert drawn == [*figures_of_curves, "5C"], "the units of the network that was trained"
    assert text.count("<svg") == len(drawn)
    assert "spanlab reproduce worm -o page --agent chance --agent network:runs/tiny.pt --trials 32" in text
    sessions = sorted(one.name for one in (tmp_path / "page" / "data" / "32-trials-seed-1").iterdir())
    assert run(*asked)[:2] == (0, out)
    assert sorted(one.name for one in (tmp_path / "page" / "data" / "32-trials-seed-1").iterdir()) == sessions, (
        "nothing is taken twice"
    )
    assert (tmp_path / "page" / "index.html").read_text(encoding="utf-8") == text
    # another network under the same name is not taken for the one that answered
    shutil.rmtree(tmp_path / "runs")
    (tmp_path / "tiny.yaml").write_text(
        (tmp_path / "tiny.yaml").read_text(encoding="utf-8") + "seed: 2\n", encoding="utf-8"
    )
    assert run("train", "tiny.yaml", "-o", "runs", "--steps", "1")[0] == 0
    assert run(*asked)[0] == 0
    assert len(list((tmp_path / "page" / "data" / "32-trials-seed-1").iterdir())) == len(sessions) + 1


@pytest.mark.parametrize("paper", ["worm", "nback"])
def test_the_example_in_the_documents_is_whole(paper: str) -> None:
    text = (ROOT / "docs" / "reproduction" / paper / "index.html").read_text(encoding="utf-8")
    assert f"spanlab reproduce {paper} -o docs/reproduction/{paper}" in text
    rows = {"worm": "24 rows, ours beside what was published", "nback": "161 rows, ours beside what was published"}[
        paper
    ]
    assert rows in text


def test_no_row_at_all_is_no_agreement() -> None:
    from spanlab.extensions.replication.pages.entries import verdict_of

    assert verdict_of([])[0] == "not resolved"


def test_a_folder_of_networks_is_all_checkpoints_in_it(tmp_path: Path) -> None:
    with pytest.raises(SpanLabError, match="has no checkpoint"):
        networks_in(tmp_path)
    (tmp_path / "lstm").mkdir()
    for name in ("lstm/256.pth", "rnn-96.pt", "rnn-96.state.pt", "notes.txt"):
        (tmp_path / name).write_bytes(b"")
    assert networks_in(tmp_path) == [f"network:{tmp_path / name}" for name in ("lstm/256.pth", "rnn-96.pt")]
