"""Scores of participants against a script that is written from the published formulas alone, and
reads nothing but the rows of answers."""

from __future__ import annotations

import json
import math
import statistics
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pytest
from scipy.stats import norm

from spanlab.analysis.data import apply_exclusions, score_table
from spanlab.analysis.data.coding import Declared
from spanlab.analysis.data.exclusions import OfSessions
from spanlab.analysis.data.people_table import read_people, with_people
from spanlab.analysis.data.sessions import responses_of
from spanlab.analysis.stats.signal_detection import detection
from spanlab.api import read_rules
from spanlab.core import SpanLabError
from spanlab.extensions.battery.files import gathered, write
from spanlab.extensions.battery.people import _effects, arrays, scores_by_person
from spanlab.extensions.battery.score_table import ScoreTable, alpha, correlations

LISTS = ("corsi", "digit_span", "operation_span", "symmetry_span")
#: accuracy of decisions of those whom the rule of 85 % is about: below, at, and above the edge
DECISIONS = (16, 17, 18)
Row = dict[str, Any]


def answers(people: int) -> list[Row]:
    """Everybody's answers to eight tasks."""
    random = np.random.RandomState(7)
    rows: list[Row] = []
    for number in range(people):
        person, ability = f"P{number:03}", random.uniform(0.3, 0.95)

        def row(task: str, trial: int, correct: object, person: str = person, **more: Any) -> None:
            late = random.rand() < 0.03 and correct is not None
            of = {
                "participant": person,
                "agent": "participant",
                "agent_kind": "participant",
                "paradigm": task,
                "session": f"{person}-{task}",
                "block": 1,
            }
            of |= {
                "trial": trial,
                "trial_id": f"{task}{trial}",
                "practice": False,
                "pilot": False,
                "phase": "probe",
                "chance": 0.1,
                "step": 1,
                "ask": 1,
            }
            of |= {
                "outcome": "omitted" if late else "answered",
                "correct": False if late else correct,
                "rt_ms": None if late else random.gamma(4, 200),
            }
            rows.append(of | more)

        for task in LISTS:
            for trial in range(1, 9):
                length, edits = 2 + trial % 4, 0
                for place in range(1, length + 1):
                    right = bool(random.rand() < ability)
                    edits += not right
                    given: Row = {
                        "serial_position": place,
                        "output_position": place,
                        "list_length": length,
                        "set_size": length,
                    }
                    row(
                        task, trial, right, correct_answer=str(place), answer=str(place if right else 0), ask=9, **given
                    )
                for one in rows[-length:]:
                    one["edit_distance"] = edits
            for decision in range(20 if task in ("operation_span", "symmetry_span") else 0):
                shown: Row = {
                    "set_size": 0,
                    "correct_answer": '"true"',
                    "phase": "distractor",
                    "step": decision,
                    "outcome": "answered",
                    "rt_ms": 900.0 + decision,
                }
                row(task, 1 + decision % 8, decision < DECISIONS[number % 3], **shown)
                rows[-1]["correct"] = decision < DECISIONS[number % 3]
        for task, words in (("cd", ("different", "same")), ("sternberg", ("yes", "no"))):
            for trial in range(1, 25):
                right = bool(random.rand() < 0.5 + ability / 2)
                row(
                    task,
                    trial,
                    right,
                    correct_answer=json.dumps(words[trial % 4 < 2]),
                    set_size=2 + trial // 4 % 2 * 2,
                    answer='""',
                )
        for trial in range(1, 21):
            error = float(random.normal(0, 20) if random.rand() < ability else random.uniform(-180, 180))
            row(
                "continuous_colour",
                trial,
                abs(error) < 30,
                correct_answer="90",
                error=error,
                period=360.0,
                set_size=3,
                answer="1",
            )
            if rows[-1]["outcome"] == "omitted":
                rows[-1]["error"] = None
        trait = random.normal(0, 1)
        for item in range(6):
            agreed = int(np.clip(round(3 + trait + random.normal(0, 0.8)), 1, 5))
            scale = {
                "record_scale": '"need_for_cognition"',
                "record_reverse": json.dumps(item % 3 == 0),
                "scale_from": 1,
                "scale_to": 5,
            }
            row(
                "questionnaire",
                item + 1,
                None,
                answer=str(6 - agreed if item % 3 == 0 else agreed),
                correct_answer=None,
                **scale | {"phase": f"item{item}"},
            )
    return rows


def z(share: float) -> float:
    return statistics.NormalDist().inv_cdf(share)


def quantile(times: list[float], share: float) -> float:
    """The seventh definition of Hyndman and Fan (1996)."""
    ordered, at = sorted(times), (len(times) - 1) * share
    low = math.floor(at)
    return ordered[low] + (ordered[min(low + 1, len(ordered) - 1)] - ordered[low]) * (at - low)


def independent(rows: list[Row], trials: Any = lambda trial: True) -> dict[tuple[str, str], float]:
    """Every score from the formulas: Conway et al. (2005), Macmillan and Creelman (2005), Cowan
    (2001), Pashler (1988) with Chapman's inverse."""
    scores: dict[tuple[str, str], float] = {}
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        if trials(row["trial"]):
            groups[row["participant"], row["paradigm"]].append(row)
    for (person, task), everything in groups.items():
        kept = [row for row in everything if row.get("set_size") != 0 and row["correct"] is not None]
        decisions = [row for row in everything if row.get("set_size") == 0]
        said: dict[str, float] = {}
        for name, some in (("", kept), ("processing_", decisions)):
            if some:
                shares: dict[int, list[bool]] = defaultdict(list)
                for at, row in enumerate(some):
                    shares[at if name else row["trial"]].append(row["correct"])
                said[f"{name}accuracy"] = sum(sum(one) / len(one) for one in shares.values()) / len(shares)
                times = [row["rt_ms"] for row in some if row["correct"]]
                said[f"{name}rt" if name else "rt_median"] = quantile(times, 0.5)
        if kept:
            said["omitted"] = sum(row["outcome"] == "omitted" for row in kept) / len(kept)
            times = [row["rt_ms"] for row in kept if row["correct"]]
            said |= {"rt_p10": quantile(times, 0.1), "rt_p90": quantile(times, 0.9)}
        if task in LISTS:
            lists: dict[int, list[bool]] = defaultdict(list)
            for row in kept:
                lists[row["trial"]].append(row["correct"])
            said["pcu"] = sum(sum(one) / len(one) for one in lists.values()) / len(lists)
            said["pcl"] = sum(map(sum, lists.values())) / sum(map(len, lists.values()))
            said["anu"] = sum(all(one) for one in lists.values()) / len(lists)
            long = [one for one in lists.values() if len(one) > 2]
            for name, end in (("primacy", 0), ("recency", -1)):
                said[name] = sum(one[end] - sum(one[1:-1]) / len(one[1:-1]) for one in long) / len(long)
            said["absolute"] = sum(len(one) for one in lists.values() if all(one))
            lengths = {len(one) for one in lists.values()}
            whole = {length: [all(one) for one in lists.values() if len(one) == length] for length in lengths}
            said["span"] = max(
                [length for length in lengths if 2 * sum(whole[length]) >= len(whole[length])], default=0
            )
        if task in ("cd", "sternberg"):
            yes = '"different"' if task == "cd" else '"yes"'

            def rates(some: list[Row], yes: str = yes) -> tuple[int, int, int, int]:
                signals = [row for row in some if row["correct_answer"] == yes]
                others = [row for row in some if row["correct_answer"] != yes and row["outcome"] == "answered"]
                return (
                    sum(row["correct"] for row in signals),
                    len(signals),
                    sum(not row["correct"] for row in others),
                    len(others),
                )

            hits, signals, alarms, others = rates(kept)
            of_hits, of_alarms = z((hits + 0.5) / (signals + 1)), z((alarms + 0.5) / (others + 1))
            said |= {"d_prime": of_hits - of_alarms, "criterion": -(of_hits + of_alarms) / 2}
            if task == "cd":
                cowan, pashler = [], []
                for size in (2, 4):
                    hits, signals, alarms, others = rates([row for row in kept if row["set_size"] == size])
                    cowan.append(size * (hits / signals - alarms / others))
                    pashler.append(size * (1 - (1 - hits / signals) * (others + 1) / (others - alarms + 1)))
                said |= {"k_cowan": sum(cowan) / 2, "k_pashler": sum(pashler) / 2}
        if task == "continuous_colour":
            errors = [abs(row["error"]) for row in kept if row["error"] is not None]
            said["error"] = sum(errors) / len(errors)
        if task == "questionnaire":
            turned = [
                6 - int(row["answer"]) if row["record_reverse"] == "true" else int(row["answer"]) for row in everything
            ]
            said["need_for_cognition"] = sum(turned) / len(turned)
        for name, value in said.items():
            scores[person, f"{task}_{name}"] = value
    return scores


def compare(scores: ScoreTable, wanted: dict[tuple[str, str], float]) -> int:
    """All scores of the script are in the table, to 1e-9."""
    for (person, column), value in wanted.items():
        assert scores.rows[person][column] == pytest.approx(value, abs=1e-9), (person, column)
    return len(wanted)


@pytest.fixture(scope="module")
def eight() -> tuple[list[Row], ScoreTable]:
    rows = answers(8)
    return rows, scores_by_person(pd.DataFrame(rows))


def test_every_score_is_that_of_an_independent_script(eight: tuple[list[Row], ScoreTable]) -> None:
    rows, scores = eight
    wanted = independent(rows)
    assert compare(scores, wanted) > 8 * 40
    extra = {column for column in scores.codebook if not column.endswith("_se")} - {column for _, column in wanted}
    assert extra <= {"continuous_colour_mixture_answers"}


def test_reliability_is_of_odd_and_even_trials_and_its_error_follows(eight: tuple[list[Row], ScoreTable]) -> None:
    rows, scores = eight
    halves = [independent(rows, lambda trial, half=half: trial % 2 == half) for half in (0, 1)]
    for column in ("digit_span_pcu", "corsi_absolute", "cd_d_prime", "continuous_colour_error"):
        odd, even = ([half[person, column] for person in sorted(scores.rows)] for half in halves)
        r = statistics.correlation(odd, even)
        stepped = 2 * r / (1 + r)
        assert scores.codebook[column]["reliability"] == pytest.approx(stepped, abs=1e-9)
        sd = statistics.stdev(scores.rows[person][column] for person in scores.rows)
        assert scores.codebook[column]["sem"] == pytest.approx(sd * math.sqrt(1 - stepped), abs=1e-9)


def test_the_standard_error_leaves_out_each_trial_in_turn(eight: tuple[list[Row], ScoreTable]) -> None:
    rows, scores = eight
    for column in ("digit_span_pcu", "cd_k_pashler"):
        of = column.partition("_pcu")[0].partition("_k")[0]
        mine = [row for row in rows if row["participant"] == "P003" and row["paradigm"] == of]
        trials = sorted({row["trial"] for row in mine})
        without = [independent([row for row in mine if row["trial"] != left])["P003", column] for left in trials]
        mean = sum(without) / len(without)
        wanted = math.sqrt((len(trials) - 1) / len(trials) * sum((one - mean) ** 2 for one in without))
        assert scores.rows["P003"][f"{column}_se"] == pytest.approx(wanted, abs=1e-9)


@pytest.mark.slow
def test_a_mixture_is_fitted_to_enough_answers_alone_and_as_likely_as_planted() -> None:
    """Nobody's mixture rests on 20 answers; of 400 the planted parameters come back, and the count
    says what they rest on."""
    random = np.random.RandomState(1)
    head = {
        "participant": "P1",
        "agent": "participant",
        "agent_kind": "participant",
        "paradigm": "continuous_colour",
        "session": "s",
        "block": 1,
    }
    rows = [
        head
        | {
            "trial": n,
            "trial_id": str(n),
            "correct": True,
            "correct_answer": "90",
            "outcome": "answered",
            "period": 360.0,
            "set_size": 1,
            "rt_ms": 500.0,
        }
        | {"error": float(np.degrees(random.vonmises(0, 8)) if random.rand() < 0.75 else random.uniform(-180, 180))}
        for n in range(400)
    ]
    row = scores_by_person(pd.DataFrame(rows)).rows["P1"]
    assert row["continuous_colour_mixture_answers"] == 400
    assert row["continuous_colour_mixture_guesses"] == pytest.approx(0.25, abs=0.06)
    assert row["continuous_colour_mixture_sd"] == pytest.approx(20.9, abs=2.5)
    few = scores_by_person(pd.DataFrame(rows[:20])).rows["P1"]
    assert few["continuous_colour_mixture_answers"] == 20
    assert "continuous_colour_mixture_sd" not in few


def test_alpha_of_items_that_share_a_factor_and_of_items_that_do_not(eight: tuple[list[Row], ScoreTable]) -> None:
    rows, scores = eight
    rated = [row for row in rows if "record_scale" in row]
    turned = [6 - int(row["answer"]) if row["record_reverse"] == "true" else int(row["answer"]) for row in rated]
    matrix = np.array(turned).reshape(len(scores.rows), 6)
    wanted = (
        6
        / 5
        * (
            1
            - sum(statistics.variance(map(float, column)) for column in matrix.T)
            / statistics.variance(map(float, matrix.sum(axis=1)))
        )
    )
    assert scores.codebook["questionnaire_need_for_cognition"]["alpha"] == pytest.approx(wanted, abs=1e-9)
    ratings = pd.DataFrame(rated).drop(columns=["correct_answer", "phase"], errors="ignore")
    bare = scores_by_person(ratings.assign(record_item=pd.DataFrame(rated)["phase"]))
    assert bare.rows == {
        person: {name: value for name, value in row.items() if name in bare.codebook}
        for person, row in scores.rows.items()
    }
    plain = np.random.RandomState(3).normal(size=(300, 4))
    plain = np.linalg.solve(np.linalg.cholesky(np.cov(plain.T)), (plain - plain.mean(axis=0)).T).T
    assert abs(alpha(plain)) < 1e-9
    assert math.isnan(alpha(plain[:, :1]))


def test_the_codebook_says_what_each_column_is(eight: tuple[list[Row], ScoreTable]) -> None:
    _, scores = eight
    codes, table = scores.codes(), scores.table()
    assert [*table.columns] == ["participant", *codes["column"]]
    assert codes[["says", "unit", "source"]].map(bool).all(axis=None)
    assert codes["says"].str.endswith(".").all()
    assert (len(table), table["participant"].is_unique) == (8, True)


def test_a_preset_excludes_exactly_those_below_its_edge() -> None:
    """Of 20 decisions 16, 17 and 18 were right: 17 are 85 %, and stay."""
    kept, report = apply_exclusions(pd.DataFrame(answers(9)), read_rules(Path("complex_span_85")))
    span = kept[kept["paradigm"] == "operation_span"]["participant"].unique()
    assert set(span) == {f"P{number:03}" for number in range(9) if DECISIONS[number % 3] >= 17}
    assert set(kept[kept["paradigm"] == "digit_span"]["participant"]) == {f"P{number:03}" for number in range(9)}
    assert set(report.units["participant"]) == {"P000", "P003", "P006"}
    assert report.units["value"].tolist() == pytest.approx([0.8] * 6)


def test_a_missed_attention_check_excludes_somebody_everywhere_and_a_passed_one_nobody() -> None:
    responses = pd.DataFrame(answers(3))
    checks = {"P000-questionnaire": 1.0, "P001-questionnaire": 0.5}
    kept, report = apply_exclusions(responses, read_rules(Path("attention")), OfSessions({}, {}, checks))
    assert set(kept["participant"]) == {"P000", "P002"}
    assert report.units[["participant", "paradigm", "value"]].to_numpy().tolist() == [["P001", "questionnaire", 0.5]]
    assert set(kept[kept["participant"] == "P000"]["paradigm"]) == set(responses["paradigm"])


def test_questions_that_test_attention_are_no_memory_and_others_are() -> None:
    responses = pd.DataFrame(answers(1)).query("paradigm == 'cd'").reset_index(drop=True)
    responses["phase"] = ["check" if number < 4 else "probe" for number in range(len(responses))]

    def scored_in(session: dict[str, Any]) -> Any:
        return score_table(responses_of([("s", session, pyarrow.Table.from_pandas(responses))]))

    scored = scored_in({"paradigm_data": {"attention_checks": ["check"]}})
    assert len(scored.items) == len(responses) - 4
    assert "4 checks of attention or of the instructions left out: these need no memory." in scored.notes
    for session in ({"paradigm_data": {}}, {"paradigm_data": {"questionnaire": False}}):
        assert len(scored_in(session).items) == len(responses)
    for session in ({"quiz": {"pass": 1}}, {"paradigm_data": {"questionnaire": True}}):
        assert not len(scored_in(session).items), "it tests no memory, whatever it asks"


def test_texts_of_sessions_with_other_columns_are_kept_once_and_are_the_same() -> None:
    one = pyarrow.table({"answer": ["b", None], "phase": ["probe", "cue"], "mixed": ["x", "y"], "n": [1, 2]})
    other = pyarrow.table({"answer": ["c", "a"], "mixed": [1, 2], "feedback": ["yes", "no"]})
    table = responses_of([("s10", {}, one), ("s9", {}, other), ("s1", {}, one)])
    assert [*table.columns] == ["answer", "phase", "mixed", "n", "session", "_number", "feedback"]
    kept_once = {name: [*table[name].cat.categories] for name in table.columns[table.dtypes == "category"]}
    assert kept_once == {
        **{"answer": ["a", "b", "c"], "phase": ["cue", "probe"], "feedback": ["no", "yes"]},
        "session": ["s1", "s10", "s9"],
    }
    assert table["answer"].fillna("c").tolist() == ["b", "c", "c", "a", "b", "c"]
    assert table["mixed"].tolist() == ["x", "y", 1, 2, "x", "y"]
    assert table["session"].tolist() == ["s10", "s10", "s9", "s9", "s1", "s1"]


def test_correlations_are_corrected_by_the_root_of_both_reliabilities_and_not_where_one_is_not_above_zero() -> None:
    scores = ScoreTable()
    values = {"a": [1.0, 2.0, 4.0, 3.0, 6.0], "b": [2.0, 1.0, 5.0, 4.0, 4.5], "c": [3.0, 1.0, 2.0, 2.5, 0.0]}
    for (name, numbers), reliability in zip(values.items(), (0.8, 0.5, -0.1), strict=True):
        scores.add(
            name, "A score.", "items", "planted", dict(zip("vwxyz", numbers, strict=True)), reliability=reliability
        )
    pairs = {(one["first"], one["second"]): one for one in correlations(scores)}
    r = statistics.correlation(values["a"], values["b"])
    assert pairs["a", "b"]["r"] == pytest.approx(r, abs=1e-12)
    assert pairs["a", "b"]["corrected"] == pytest.approx(r / math.sqrt(0.8 * 0.5), abs=1e-12)
    assert pairs["a", "b"]["people"] == 5
    assert math.isnan(pairs["a", "c"]["corrected"])


def test_a_correlation_has_the_interval_of_fisher() -> None:
    scores, random = ScoreTable(), np.random.RandomState(4)
    first = random.normal(size=30)
    for name, numbers in (("a", first), ("b", first + random.normal(size=30))):
        scores.add(
            name,
            "A score.",
            "items",
            "planted",
            {str(n): float(value) for n, value in enumerate(numbers)},
            reliability=0.9,
        )
    (pair,) = correlations(scores)
    assert math.atanh(pair["high"]) - math.atanh(pair["low"]) == pytest.approx(
        2 * 1.959963984540054 / math.sqrt(27), abs=1e-12
    )
    assert math.atanh(pair["high"]) + math.atanh(pair["low"]) == pytest.approx(2 * math.atanh(pair["r"]), abs=1e-12)


def test_every_column_is_a_measure_of_rules_and_a_condition_of_figures(tmp_path: Path) -> None:
    responses = pd.DataFrame(answers(8))
    scores = scores_by_person(responses, errors=False)
    assert not [column for column in scores.codebook if column.endswith("_se")]
    write(scores, tmp_path / "scores")
    limit = statistics.median(row["digit_span_pcu"] for row in scores.rows.values())
    (tmp_path / "rules.yaml").write_text(
        "exclude:\n  - {leave_out: participants, where: score, table: scores/scores.csv, column: digit_span_pcu,"
        f" below: {limit!r}, everywhere: true}}\n"
    )
    kept, report = apply_exclusions(responses, read_rules(tmp_path / "rules.yaml"))
    low = {person for person, row in scores.rows.items() if row["digit_span_pcu"] < limit}
    assert set(report.units["participant"]) == low
    assert set(kept["participant"]) == set(scores.rows) - low
    joined = with_people(responses, read_people(tmp_path / "scores" / "scores.csv"))
    assert set(scores.codebook) == {
        name.removeprefix("record_") for name in joined.columns if name not in responses.columns
    }
    halves = joined.groupby("participant")["record_digit_span_pcu"].first()
    assert {person for person, half in halves.items() if half.startswith('"up to')} == {
        person for person, row in scores.rows.items() if row["digit_span_pcu"] <= limit
    }
    (tmp_path / "wrong.yaml").write_text(
        "exclude:\n  - {leave_out: participants, where: score, table: scores/scores.csv, column: digit_pcu, below: 1}\n"
    )
    with pytest.raises(SpanLabError, match="did you mean 'digit_span_pcu'"):
        apply_exclusions(responses, read_rules(tmp_path / "wrong.yaml"))
    (tmp_path / "wrong.yaml").write_text("exclude:\n  - {leave_out: participants, where: score, below: 1}\n")
    with pytest.raises(SpanLabError, match="'score' needs 'table'"):
        read_rules(tmp_path / "wrong.yaml")


def test_effects_of_the_file_are_scores_of_each_person() -> None:
    """Two people with 20 rows of each level: the differences by hand."""
    rows = [
        {
            "participant": person,
            "session": person,
            "trial": trial,
            "record_shift": json.dumps("switch" if trial % 2 else "repeat"),
            "correct": trial >= 2 * wrong or not trial % 2,
            "rt_ms": 700.0 if trial % 2 else 500.0,
            "outcome": "answered",
        }
        for person, wrong in (("P1", 5), ("P2", 0))
        for trial in range(40)
    ]
    effects = {
        "cost": {"of": "shift", "contrast": {"switch": "repeat"}, "caption": "A cost."},
        "in_time": {"of": "shift", "contrast": {"switch": "repeat"}, "value": "rt_ms"},
        "told": {"of": "shift", "contrast": {"repeat": "switch"}, "value": "d_prime"},
        "elsewhere": {"of": "lure", "contrast": {"near": "far"}},
    }
    facts: Any = SimpleNamespace(declared=Declared.read({"effects": effects}))
    found = {
        (measure.name, person): measure.value(arrays(own))
        for compared, (measure,), _ in _effects(pd.DataFrame(rows), facts)
        for person, own in compared.groupby("participant")
    }
    assert found[("cost", "P1")] == pytest.approx(-5 / 20)
    assert found[("cost", "P2")] == 0
    assert found[("in_time", "P1")] == 200
    hits, alarms = 20.5 / 21, 5.5 / 21
    assert found[("told", "P1")] == pytest.approx(norm.ppf(hits) - norm.ppf(alarms))
    assert {name for name, _ in found} == {"cost", "in_time", "told"}


def test_a_table_of_anybody_has_its_scores(tmp_path: Path) -> None:
    """Changes at one set size in words, lists of letters, and lists that were recalled freely, of one length."""
    changes = [
        {"id": person, "set_size": 4, "correct_answer": truth, "response": said}
        for person in ("P1", "P2")
        for truth, said, many in (
            ("change", "change", 8),
            ("change", "same", 2),
            ("same", "same", 9),
            ("same", "change", 1),
        )
        for _ in range(many)
    ]
    pd.DataFrame(changes).to_csv(tmp_path / "changes.csv", index=False)
    lists = [
        {"id": "P1", "trial": trial, "position": at + 1, "target": letter, "response": given[at]}
        for trial, given in enumerate(("BCDF", "BDCF"))
        for at, letter in enumerate("BCDF")
    ]
    pd.DataFrame(lists).to_csv(tmp_path / "lists.csv", index=False)
    free = [
        {"id": "P1", "trial": trial, "serial_position": at, "correct": at in out, "output_position": order.get(at)}
        for trial, out in enumerate(([1, 2, 4], [3, 4, 1], [4, 3]))
        for order in [{one: number for number, one in enumerate(out, start=1)}]
        for at in range(1, 5)
    ]
    pd.DataFrame(free).to_csv(tmp_path / "free.csv", index=False)
    row = gathered([tmp_path / f"{name}.csv" for name in ("changes", "lists", "free")])[0].rows["P1"]
    assert row["changes_k_cowan"] == pytest.approx(4 * (0.8 - 0.1))
    assert row["changes_d_prime"] == pytest.approx(detection(8, 2, 1, 9).dprime)
    assert (row["lists_pcu"], row["lists_anu"], row["lists_span"]) == (0.75, 0.5, 4.0)
    assert (row["lists_primacy"], row["lists_recency"]) == (0.5, 0.5)  # nothing and all of one list, by hand
    assert (row["free_first_recall_start"], row["free_first_recall_end"]) == pytest.approx((1 / 3, 1 / 3))
    # the next one was recalled from 1 and from 3, and not from 2; the one before from 4, and not from 3
    assert (row["free_lag_crp_forward"], row["free_lag_crp_backward"]) == pytest.approx((2 / 3, 1 / 2))
