"""Scores: A and B by hand, their tests and intervals, the published table; curves compared, errors
compared, people compared."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from command_line import Run, command_line, complaint
from observed import along, rows_by, table, together

from spanlab.analysis.data.exclusions import Rule, apply_exclusions
from spanlab.analysis.data.scoring import score_table
from spanlab.analysis.means.contrasts import contrast
from spanlab.analysis.model_vs_human.comparison import distances
from spanlab.analysis.model_vs_human.score_kinds import SCORES
from spanlab.analysis.model_vs_human.score_layout import layout, published_scores
from spanlab.analysis.model_vs_human.scores import DECISIONS, scores
from spanlab.analysis.stats.agreement import Crowd, curve_distance, error_consistency, kappa
from spanlab.core.errors import SpanLabError


def fixed(
    rights: Mapping[tuple[Any, ...], int], names: tuple[str, ...], paradigm: str, trials: int = 10, **always: Any
) -> pd.DataFrame:
    """``trials`` one-question trials in each condition, of which so many are right."""
    parts = []
    for number, (place, right) in enumerate(rights.items()):
        one = table(
            along(names[-1], {place[-1]: 1.0}, **always, **dict(zip(names[:-1], place[:-1], strict=True))),
            trials,
            paradigm=paradigm,
        )
        parts.append(
            one.assign(
                correct=[at < right for at in range(trials)],
                block=number + 1,
                trial_id=[f"{place}-{at}" for at in range(trials)],
            )
        )
    return together(*parts)


def row(found: pd.DataFrame, score: str) -> dict[str, Any]:
    return rows_by(found, "score")[score]


def test_a_and_b_of_set_sizes_by_hand() -> None:
    """People: 1, .94, .825, .68 at set sizes 1 to 4 (slope -.1075, mean .86125). A model: 1, .8,
    .6, .4 (slope -.2, mean .7)."""
    found = scores(fixed({(1,): 10, (2,): 8, (3,): 6, (4,): 4, (8,): 0}, ("set_size",), "smu"))
    a, b = row(found, "A_setsize"), row(found, "B_setsize")
    assert (a["m"], a["h"], a["value"]) == (pytest.approx(-0.2), pytest.approx(-0.1075), pytest.approx(0.0925 / 0.1075))
    assert (b["m"], b["h"], b["value"]) == (
        pytest.approx(0.7),
        pytest.approx(0.86125),
        pytest.approx(0.16125 / 0.86125),
    )
    assert a["conditions"] == "set size 1, 2, 3, 4"
    assert (a["n_points"], a["n_units"], a["unit"], a["chance"]) == (4, 40, "trial", pytest.approx(0))


def test_primacy_and_recency_by_hand() -> None:
    """Lists of 4: people .79375, .65625, .6, .75625, lowest at 3: slopes -.096875 and .15625. A
    model: 1, .7, .6, .9; its lists of 9 are left out."""
    items = fixed(
        {(4, 1): 10, (4, 2): 7, (4, 3): 6, (4, 4): 9, (9, 1): 1, (9, 2): 9}, ("list_length", "serial_position"), "vsr"
    )
    found = scores(items)
    primacy, recency, mean = row(found, "A_primacy"), row(found, "A_recency"), row(found, "B_length")
    assert (primacy["m"], primacy["h"]) == (pytest.approx(-0.2), pytest.approx(-0.096875))
    assert primacy["value"] == pytest.approx(0.103125 / 0.096875)
    assert (recency["m"], recency["h"], recency["value"]) == (
        pytest.approx(0.3),
        pytest.approx(0.15625),
        pytest.approx(0.92),
    )
    people = (0.79375 + 0.65625 + 0.6 + 0.75625) / 4
    assert (mean["m"], mean["h"], mean["value"]) == (
        pytest.approx(0.8),
        pytest.approx(people),
        pytest.approx((0.8 - people) / people),
    )
    assert primacy["conditions"] == "list length 4; serial position 1, 2, 3 (primacy part)"


@pytest.mark.parametrize(
    ("task", "model", "data"),
    [
        ("smu", "TRF-256", fixed({(size,): 10 for size in (1, 2, 3, 4)}, ("set_size",), "smu")),
        (
            "cd",
            "TRF-256",
            fixed(
                {(f, s): 10 for f in ("colour", "orientation", "size", "gap", "conjunction") for s in (2, 4, 6)},
                ("factor_feature", "set_size"),
                "cd",
            ),
        ),
        (
            "vsrec",
            "TRF-256",
            fixed({(5, n): 10 for n in (2, 4, 6)}, ("list_length", "factor_pattern_distractor_difference"), "vsrec"),
        ),
        ("vir", "TRF-96", fixed({(4, gap): 10 for gap in (0, 5)}, ("list_length", "retention_steps"), "vir")),
    ],
)
def test_a_model_without_errors_has_the_scores_that_were_published_for_such(
    task: str, model: str, data: pd.DataFrame
) -> None:
    """The published models of these rows were at about 100% throughout: B and A follow from
    people's curve alone, so the definitions are the paper's."""
    found, printed = scores(data), published_scores()
    printed = printed[(printed["task"] == task) & (printed["model"] == model)].set_index("score")["value"]
    for score, value in printed.items():
        assert row(found, str(score))["value"] == pytest.approx(
            value, abs=0.08 if str(score).startswith("A") else 0.011
        )


def test_the_test_is_a_t_test_against_guessing() -> None:
    """One person a unit: the one-sample t-test of the persons' slopes; one trial a unit and two
    conditions: Welch's."""
    random = np.random.RandomState(3)
    slopes, parts = [], []
    for number in range(8):
        rights = {(size,): int(random.randint(3, 9) - size // 2) for size in (1, 2, 3, 4)}
        one = fixed(rights, ("set_size",), "smu").assign(
            participant=f"P{number}", agent="People", agent_kind="participant", session=f"s{number}", chance=0.1
        )
        one = one.assign(trial_id=f"{number} " + one["trial_id"])
        slopes.append(np.polyfit([1, 2, 3, 4], [rights[size,] / 10 for size in (1, 2, 3, 4)], 1)[0])
        parts.append(one)
    a = row(scores(together(*parts)), "A_setsize")
    expected: Any = scipy.stats.ttest_1samp(slopes, 0.0)
    assert a["p"] == pytest.approx(expected.pvalue)
    assert (a["unit"], a["n_units"]) == ("participant", 8)
    two = fixed({(4, 0): 9, (4, 5): 4}, ("list_length", "retention_steps"), "vir", trials=20)
    welch: Any = scipy.stats.ttest_ind([1] * 4 + [0] * 16, [1] * 9 + [0] * 11, equal_var=False)
    assert row(scores(two), "A_retentioninterval")["p"] == pytest.approx(welch.pvalue)


def test_items_of_one_trial_are_not_independent() -> None:
    """A trial that is right or wrong as a whole tells nothing about slopes within it, and much
    about means."""
    together_right = np.random.RandomState(0).rand(60) < 0.6
    cells, ids = [together_right.astype(float)] * 4, [np.arange(60)] * 4
    slope, mean = contrast(cells, ids, np.array([-0.3, -0.1, 0.1, 0.3])), contrast(cells, ids, np.full(4, 0.25))
    assert (slope.value, slope.se) == (pytest.approx(0), 0)
    assert mean.se == pytest.approx(scipy.stats.sem(together_right.astype(float)))
    assert mean.df == pytest.approx(59)


def test_somebody_else_may_stand_for_people() -> None:
    model = fixed({(1,): 10, (2,): 8, (3,): 6, (6,): 4}, ("set_size",), "smu")
    people = [
        fixed({(1,): 9, (2,): 8, (6,): 2 + number % 2}, ("set_size",), "smu").assign(
            agent="People", agent_kind="participant", participant=f"P{number}", session=f"s{number}"
        )
        for number in range(4)
    ]
    found = scores(together(model, *people), against="People")
    assert found["agent"].unique().tolist() == ["network:test"]
    a = row(found, "A_setsize")
    assert a["conditions"] == "set size 1, 2, 6"
    assert a["h"] == pytest.approx(np.polyfit([1, 2, 6], [0.9, 0.8, 0.25], 1)[0])
    assert a["low"] <= a["value"] <= a["high"]
    with pytest.raises(SpanLabError, match="nobody is called 'P'"):
        scores(model, against="P")


def test_what_means_little_says_so() -> None:
    vir = fixed({(4, 0): 9, (4, 5): 6}, ("list_length", "retention_steps"), "vir")
    assert "less than it can be read off" in row(scores(vir), "A_retentioninterval")["note"]
    other = row(scores(fixed({(8, 0): 9, (8, 5): 6}, ("list_length", "retention_steps"), "vir")), "A_retentioninterval")
    assert (other["note"], math.isnan(other["value"])) == ("no conditions in common with people", True)
    alone = row(scores(fixed({(1,): 1, (2,): 1}, ("set_size",), "smu", trials=1)), "A_setsize")
    assert "no test" in alone["note"]
    assert math.isnan(alone["p"])


def test_the_layout_is_the_papers_with_the_published_values_beside() -> None:
    found = layout(scores(fixed({(1,): 10, (2,): 8, (3,): 6, (4,): 4}, ("set_size",), "smu")))
    assert found.columns[:3].tolist() == ["task", "score", "network:test"]
    assert found.columns[3:].tolist() == [
        f"{kind}-{size}" for kind in ("RNN", "GRU", "LSTM", "TRF") for size in (96, 256, 1024)
    ]
    assert found.iloc[0].tolist()[:4] == ["smu", "A_setsize", "0.860*", "0.347*"]
    assert len(published_scores()) == len(SCORES) * 12
    assert set(zip(published_scores()["task"], published_scores()["score"], strict=True)) == {
        (one.task, one.name) for one in SCORES
    }


def test_kappa_is_that_of_an_independent_computation() -> None:
    random = np.random.RandomState(5)
    one, two = random.rand(500) < 0.7, random.rand(500) < 0.6
    two = np.where(random.rand(500) < 0.4, one, two)
    observed, a, b = (one == two).mean(), one.mean(), two.mean()
    expected = a * b + (1 - a) * (1 - b)
    found = kappa((one & two).sum(), (one & ~two).sum(), (~one & two).sum(), (~one & ~two).sum())
    assert found == pytest.approx((observed - expected) / (1 - expected))
    assert math.isnan(kappa(5, 5, 0, 0))


def planted_agreement(share: float, seed: int, trials: int = 300) -> pd.DataFrame:
    """Two answerers with 60% right each, who have the same error on ``share`` of the trials and are
    independent on the others: kappa is ``share``."""
    random = np.random.RandomState(seed)
    one = random.rand(trials) < 0.6
    two = np.where(random.rand(trials) < share, one, random.rand(trials) < 0.6)
    base = table(along("set_size", {2: 1.0}), trials)
    return together(
        base.assign(correct=one), base.assign(agent="chat:test", agent_kind="chat", session="b", correct=two)
    )


def test_independent_errors_are_not_alike() -> None:
    (found,) = error_consistency(score_table(planted_agreement(0.0, 1, 2000))).to_dict("records")
    assert found["low"] < 0 < found["high"]
    assert abs(found["kappa"]) < 0.06
    assert found["observed"] == pytest.approx(found["expected"], abs=0.03), "the same outcome as often as by chance"
    always = planted_agreement(0.0, 1).assign(correct=lambda table: table["correct"] | (table["agent_kind"] == "chat"))
    (found,) = error_consistency(score_table(always)).to_dict("records")
    assert math.isnan(found["kappa"])
    assert found["note"] == "no kappa: somebody was always right or always wrong"


def test_error_consistency_comes_back_on_the_same_trials_only() -> None:
    data = planted_agreement(0.5, 1, 2000)
    (found,) = error_consistency(score_table(data)).to_dict("records")
    assert 0.4 < found["low"] < 0.5 < found["high"]
    assert (found["n_trials"], found["n_items"], found["unit"]) == (2000, 2000, "trial")
    half = data.assign(
        trial_id=np.where(
            (data["agent_kind"] == "chat") & (data["trial"] > 100),
            "other" + data["trial_id"].astype(str),
            data["trial_id"],
        )
    )
    assert error_consistency(score_table(half))["n_trials"].tolist() == [100]
    assert not len(
        error_consistency(score_table(data.assign(trial_id=data["agent"].astype(str) + data["trial_id"].astype(str))))
    )


def people_and_a_model() -> tuple[list[pd.DataFrame], pd.DataFrame]:
    """Five people and a model, for all of whom the same trials are hard."""
    base, random = table(along("set_size", {2: 1.0}), 200), np.random.RandomState(2)
    hard = random.rand(200)
    people = [
        base.assign(
            agent="People",
            agent_kind="participant",
            participant=f"P{n}",
            session=f"s{n}",
            correct=hard + 0.3 * random.randn(200) < 0.6,
        )
        for n in range(5)
    ]
    return people, base.assign(agent="net", session="n", correct=hard + 0.3 * random.randn(200) < 0.6)


def test_people_are_the_units_of_their_agreement() -> None:
    people, model = people_and_a_model()
    found = error_consistency(score_table(together(*people)))
    assert found[["agent", "other", "n_pairs", "n_units", "unit"]].to_numpy().tolist() == [
        ["People", "People", 10, 5, "participant"]
    ]
    assert found["kappa"].item() > 0.2
    always = error_consistency(score_table(together(people[0], model.assign(correct=True))))
    assert always["note"].item() == "no kappa: somebody was always right or always wrong"


def test_distances_of_curves_by_hand() -> None:
    found = rows_by(
        distances(score_table(fixed({(1,): 10, (2,): 8, (3,): 6, (4,): 4}, ("set_size",), "smu"))), "effect"
    )["set_size"]
    people, mine = np.array([1, 0.94, 0.825, 0.68]), np.array([1, 0.8, 0.6, 0.4])
    assert found["r"] == pytest.approx(np.corrcoef(people, mine)[0, 1])
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean((people - mine) ** 2)))
    flat = fixed({(1,): 5, (2,): 5, (3,): 5}, ("set_size",), "smu")
    assert distances(score_table(flat)).set_index("effect").loc["set_size", "note"] == "a curve is flat: no correlation"
    assert not len(curve_distance(pd.DataFrame(columns=["paradigm", "agent_kind", "agent", "mean", "x"]), ["x"]))


def test_the_noise_ceilings_by_hand() -> None:
    values = {"A": [0.9, 0.7, 0.5], "B": [1.0, 0.8, 0.2], "C": [0.8, 0.9, 0.4]}
    curves = pd.DataFrame(
        [{"participant": name, "x": x, "mean": value} for name, line in values.items() for x, value in enumerate(line)]
    )
    alone = pd.DataFrame([{"participant": "A", "x": 3, "mean": 0.1}, {"participant": "B", "x": 3, "mean": np.nan}])
    crowd = Crowd.of(pd.concat([curves, alone]), ["x"])  # a point that not everybody has is none of theirs
    assert (crowd.points, crowd.curves.tolist()) == (((0,), (1,), (2,)), [*values.values()])
    found, lines = crowd.ceiling(), np.array(list(values.values()))
    shapes = (lines - lines.mean(axis=1, keepdims=True)) / lines.std(axis=1, keepdims=True)
    low = np.mean([np.corrcoef(shapes[at], np.delete(shapes, at, axis=0).mean(axis=0))[0, 1] for at in range(3)])
    high = np.mean([np.corrcoef(one, shapes.mean(axis=0))[0, 1] for one in shapes])
    assert (found["people"], found["n_points"]) == (3, 3)
    assert (found["r_low"], found["r_high"]) == pytest.approx((low, high))
    assert found["rmse_low"] == pytest.approx(np.sqrt(np.mean((lines - lines.mean(axis=0)) ** 2)))
    assert found["rmse_high"] == pytest.approx(
        np.sqrt(np.mean([(lines[at] - np.delete(lines, at, axis=0).mean(axis=0)) ** 2 for at in range(3)]))
    )
    assert math.isnan(Crowd.of(curves[curves["participant"] == "A"], ["x"]).ceiling()["r_high"])


def test_kappa_with_people_stands_beside_that_of_people() -> None:
    people, model = people_and_a_model()
    found = rows_by(error_consistency(score_table(together(*people, model))), "other")
    among, beside = found["People"], found["net"]
    assert beside["among_people"] == among["kappa"]
    assert math.isnan(among["among_people"])
    assert beside["kappa"] == pytest.approx(among["kappa"], abs=0.1)
    assert (beside["n_pairs"], beside["n_trials"]) == (5, 200)


@pytest.fixture
def spanlab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command line in a folder with a response table and two files that are none."""
    data = together(
        fixed({(1,): 10, (2,): 8, (3,): 6, (4,): 4}, ("set_size",), "smu"),
        fixed({(4, 0): 9, (4, 5): 6}, ("list_length", "retention_steps"), "vir"),
    )
    data.infer_objects().to_csv(tmp_path / "table.csv", index=False)
    (tmp_path / "bad.parquet").write_bytes(b"nothing")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    return command_line(tmp_path, monkeypatch, capsys)


@pytest.mark.slow
def test_commands(spanlab: Run, tmp_path: Path) -> None:
    status, out, err = spanlab("scores", "table.csv", "-o", "scores.csv")
    assert status == 0, err
    assert "0.860*" in out
    assert DECISIONS[0][:40] in " ".join(out.split())
    assert set(pd.read_csv(tmp_path / "scores.csv")["score"]) == {
        "A_setsize",
        "B_setsize",
        "A_retentioninterval",
        "B_retentioninterval",
    }
    for ending, start in ((".svg", b"<svg"), (".png", b"\x89PNG"), (".pdf", b"%PDF"), (".csv", b"paradigm")):
        status, _, err = spanlab("figure", "set_size", "table.csv", "-o", f"size{ending}")
        assert status == 0, err
        assert (tmp_path / f"size{ending}").read_bytes().lstrip().startswith(start)
    assert "0.800" in spanlab("figure", "set_size", "table.csv", "--paradigm", "smu")[1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("figure sizes table.csv", "there is no figure called 'sizes'"),
        ("figure features table.csv", "no figure features"),
        ("figure set_size table.csv --paradigm vsr", "these data have no paradigm 'vsr'; they have smu, vir"),
        ("figure set_size table.csv -o x.jpg", "found 'x.jpg'"),
        ("figure set_size nothing.parquet", "nothing.parquet does not exist"),
        ("figure set_size nowhere", "nowhere"),
        ("scores table.csv --against Bob", "nobody is called 'Bob'"),
        ("scores bad.parquet", "cannot be read as a table"),
        ("scores other.csv", "nothing says who answered"),
    ],
)
def test_mistakes_are_told_in_a_sentence(arguments: str, words: str, spanlab: Run) -> None:
    assert words in complaint(*spanlab(*arguments.split()))


def starred(share: float, trials: int) -> dict[str, bool]:
    """Whether each mean of a network that is right so often has the star that says p < .01 against
    guessing (50 % here)."""
    found = scores(
        fixed({(size,): round(trials * share) for size in (1, 2, 3, 4)}, ("set_size",), "smu", trials=trials).assign(
            chance=0.5
        )
    )
    return {
        row["score"]: str(row["net"]).endswith("*")
        for row in layout(found.assign(agent="net"), published=False).to_dict("records")
    }


def test_who_guesses_has_no_star() -> None:
    assert starred(0.5, 20) == {"A_setsize": False, "B_setsize": False}
    assert starred(0.6, 40)["B_setsize"] is False, "p is .012"


def test_whoever_was_chosen_by_right_answers_has_no_star() -> None:
    """The same answers have one where nothing was left out for them."""
    answers = fixed({(size,): 18 for size in (1, 2, 3, 4)}, ("set_size",), "smu", trials=20).assign(chance=0.5)
    assert row(scores(answers), "B_setsize")["p"] < 0.01
    kept, _ = apply_exclusions(answers, [Rule(leave_out="trials", where="accuracy", below=0.5)])
    assert len(kept) < len(answers)
    chosen = row(scores(kept), "B_setsize")
    assert math.isnan(chosen["p"])
    assert chosen["note"].endswith("not tested: what was left out depended on how right it was")


def test_who_knows_has_a_star() -> None:
    assert starred(0.9, 20) == {"A_setsize": False, "B_setsize": True}, "a flat curve above guessing"
    slope = scores(fixed({(1,): 20, (2,): 14, (3,): 8, (4,): 2}, ("set_size",), "smu", trials=20).assign(chance=0.5))
    assert "*" in str(layout(slope, published=False).set_index("score").loc["A_setsize"].iloc[-1])


def test_a_slope_against_that_of_people_has_no_star() -> None:
    """It differs from guessing, and leads away from people."""
    found = scores(fixed({(1,): 2, (2,): 8, (3,): 14, (4,): 20}, ("set_size",), "smu", trials=20).assign(chance=0.5))
    assert row(found, "A_setsize")["p"] < 0.01
    assert "*" not in str(layout(found, published=False).set_index("score").loc["A_setsize"].iloc[-1])
