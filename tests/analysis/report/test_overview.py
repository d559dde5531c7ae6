"""What a page opens with: the picture of everybody, the sentence of an effect, and who comes
nearest to people."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pandas as pd
import pytest
from analysis_tables import mixed, responses
from report_page import read

from spanlab.analysis.data.loading import load
from spanlab.analysis.inference import Claim
from spanlab.analysis.means.contrasts import Contrast
from spanlab.analysis.report.overview import stated_answers
from spanlab.analysis.report.page import compare
from spanlab.analysis.report.paradigm import EffectClaims, few
from spanlab.analysis.report.text import between

pytestmark = pytest.mark.usefixtures("page_only")


def bowl(length: float, position: float) -> float:
    """People: good at both ends."""
    return 0.95 if position in (1, length) else 0.45


def crowd(many: int = 8, curve=bowl, repetitions: int = 12) -> list[pd.DataFrame]:
    return [
        responses(
            curve,
            lengths=[6],
            agent="p",
            kind="participant",
            participant=f"P{number}",
            seed=number,
            repetitions=repetitions,
        )
        for number in range(many)
    ]


def machine(name: str, curve, seed: int = 50) -> pd.DataFrame:
    return responses(curve, lengths=[6], agent=f"network:{name}", kind="network", seed=seed, repetitions=60)


@pytest.mark.parametrize("many", [9, pytest.param(33, marks=pytest.mark.slow)])
def test_the_page_opens_with_everybody_and_the_effect(tmp_path: Path, many: int) -> None:
    others = [responses(bowl, paradigm=f"a_{at % 3}", agent=f"network:{at}", seed=at) for at in range(many)]
    mixed(*crowd(), machine("alike", bowl), machine("flat", lambda length, position: 0.6, seed=51), *others).to_csv(
        tmp_path / "all.csv", index=False
    )
    page = compare([tmp_path / "all.csv"], tmp_path / "report")
    html, text = page.read_text(encoding="utf-8"), read(page).text
    assert 0 < html.index('class="effect"><b>Visual Serial Recall. ') < html.index('class="problems')
    assert html.index('class="problems') < html.index('class="glance') < html.index('class="paradigm')
    assert html.index("<code>vsr</code>") < html.index("<code>a_0</code>")
    assert re.search(
        r"Primacy and recency in lists of 6: the first item minus those in the middle, people \(n = 8\) \+\d\d points"
        r" \(95% interval",
        text,
    )
    told = {
        row["agent"]: row for row in pd.read_csv(tmp_path / "report" / "tables" / "overview.csv").to_dict("records")
    }
    value = told["network:flat"]["difference_value"]
    assert f"{100 * value:+.0f}".replace("-", "−") in text
    assert told["network:flat"]["share"] - told["network:flat"]["people"] == pytest.approx(value)


@pytest.mark.slow
def test_people_stand_where_the_models_bands_are_and_not_where_published_people_are(tmp_path: Path) -> None:
    mixed(*crowd(), machine("alike", bowl)).to_csv(tmp_path / "all.csv", index=False)
    html = compare([tmp_path / "all.csv"], tmp_path / "report").read_text(encoding="utf-8")
    places = {
        row["agent"]: row for row in pd.read_csv(tmp_path / "report" / "tables" / "overview.csv").to_dict("records")
    }
    assert places["People (n = 8)"]["against"] == "Avons 1998 (people)"
    (drawn,) = re.findall(r"<title>People \(n = 8\): (\d+)% right", html)
    assert int(drawn) == round(100 * places["network:alike"]["people"])
    assert int(drawn) != round(100 * places["People (n = 8)"]["people"])


def by_length(length: float, _: float) -> float:
    return 1.2 - 0.15 * length


def people_of_lists(*lists: tuple[int, int]) -> list[pd.DataFrame]:
    """Three people who take lists of some lengths, each so many times."""
    people = [
        responses(
            by_length,
            lengths=[length],
            agent="p",
            kind="participant",
            participant=f"P{number}",
            seed=10 * number + length,
            repetitions=repetitions,
        )
        for number in range(3)
        for length, repetitions in lists
    ]
    return [
        part.assign(trial=part["trial"] + 100 * (at % len(lists)), session=part["participant"])
        for at, part in enumerate(people)
    ]


def row_of_picture(tmp_path: Path, *tables: pd.DataFrame) -> tuple[dict[str, int], pd.DataFrame, str]:
    """Percentages of marks by agent, the table of the picture, and what its row says."""
    mixed(*tables).to_csv(tmp_path / "all.csv", index=False)
    html = compare([tmp_path / "all.csv"], tmp_path / "report").read_text(encoding="utf-8")
    marks = {name: int(mark) for name, mark in re.findall(r"<title>([^<:]+(?::a|:b)?): (\d+)% right", html)}
    (said,) = re.findall(r'<a class="task"[^>]*>(.*?)</a>', html)
    return marks, pd.read_csv(tmp_path / "report" / "tables" / "overview.csv").set_index("agent"), said


@pytest.mark.slow
def test_marks_and_differences_of_a_row_are_over_the_same_conditions_and_the_row_names_them(tmp_path: Path) -> None:
    """People took short lists mostly, and models also long ones, each others: the mark minus
    people's mark is the difference beside it."""
    models = [
        responses(by_length, lengths=lengths, agent=f"network:{name}", kind="network", seed=7, repetitions=20)
        for name, lengths in (("a", [2, 5, 7]), ("b", [2, 5, 8]))
    ]
    marks, table, said = row_of_picture(tmp_path, *people_of_lists((2, 30), (5, 4)), *models)
    assert said.endswith("<br><small>at list length 2 and 5, each with the same weight</small>")
    for agent in ("network:a", "network:b"):
        assert marks[agent] - marks["People (n = 3)"] == pytest.approx(100 * table["difference_value"][agent], abs=1.01)
        assert marks[agent] == round(100 * table["in_picture"][agent]) == round(100 * table["share"][agent])
        assert (
            abs(table["in_picture"][agent] - table["correct"][agent]) > 0.05
        )  # over all its lists, it is another number
    assert "at list length 2 and 5" in read(tmp_path / "report" / "report.html").text


@pytest.mark.slow
def test_where_everybody_has_the_same_conditions_marks_are_those_of_the_tables(tmp_path: Path) -> None:
    model = responses(by_length, lengths=[5], agent="network:a", kind="network", seed=7, repetitions=20)
    marks, table, said = row_of_picture(tmp_path, *people_of_lists((5, 20)), model)
    overall = pd.read_csv(tmp_path / "report" / "tables" / "vsr_overall.csv").set_index("agent")["mean"]
    assert "<small>" not in said
    assert table["conditions"].isna().all()
    assert {agent: mark for agent, mark in marks.items() if agent in overall} == {
        agent: round(100 * mean) for agent, mean in overall.items()
    }


@pytest.mark.slow
def test_without_a_condition_in_common_no_difference_is_beside_the_marks(tmp_path: Path) -> None:
    models = [
        responses(by_length, lengths=[length], agent=f"network:{name}", kind="network", seed=7, repetitions=20)
        for name, length in (("a", 5), ("b", 7))
    ]
    marks, table, said = row_of_picture(tmp_path, *people_of_lists((5, 20)), *models)
    assert "each over its own conditions: none in common" in said
    assert marks["network:b"] == round(100 * table["correct"]["network:b"])
    assert not re.search(
        r"network:a: \d+% right[^<]*difference", (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    )


def test_an_interval_from_0_to_100_and_one_trial_are_not_said() -> None:
    assert (between(0.0, 1.0), between(0.2, 1.0), between(math.nan, math.nan)) == ("", "20–100%", "")
    of = Contrast(0.86, math.nan, math.nan, 2)
    claims = [Claim("effect", "network:a", "network", of, 0.0, "trial", units) for units in (1, 2)]
    assert few(claims) == (claims[1],)
    assert EffectClaims("Cost", (("", few(claims)),)).sentence[1] == ": network:a +86 points (no interval)."


@pytest.mark.slow
def test_the_marks_of_the_picture_state_answers_that_have_their_numbers(tmp_path: Path) -> None:
    """The answers that a mark names, averaged by hand (over trials, people, then conditions with the
    same weight), are the number of the mark; with those of one list length less they are not."""
    models = [
        responses(by_length, lengths=lengths, agent=f"network:{name}", kind="network", seed=7, repetitions=20)
        for name, lengths in (("a", [2, 5, 7]), ("b", [2, 5, 8]))
    ]
    _, table, _ = row_of_picture(tmp_path, *people_of_lists((2, 9), (5, 4)), *models)
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    drawing = re.search(r'<script type="application/json" id="figures">(.*?)</script>', page, re.S)
    assert drawing is not None
    stated = json.loads(drawing[1])["overview"]
    assert [int(number) for number in re.findall(r'data-mark="(\d+)"', page)] == [*range(len(stated))] == [0, 1, 2]
    scored = load([tmp_path / "all.csv"]).scored

    def mean(answers: pd.DataFrame) -> float:
        by = ["list_length", "serial_position"]
        people = answers.groupby([*by, "participant", "trial"], observed=True)["correct"].mean()
        return people.groupby([*by, "participant"], observed=True).mean().groupby(by, observed=True).mean().mean()

    for mark in stated:
        answers = stated_answers(scored, mark).find()
        (agent,) = set(answers["agent"].astype(str))
        assert set(answers["list_length"]) == {2, 5}
        assert mean(answers) == pytest.approx(table["in_picture"][agent])
        assert mean(answers[answers["list_length"] == 2]) != pytest.approx(table["in_picture"][agent])
    assert (
        len(stated_answers(scored, {"paradigm": "vsr", "where": [{"agent": "network:a"}]}).find())
        == (scored.items["agent"] == "network:a").sum()
    )
    with pytest.raises(KeyError):
        stated_answers(scored, {"paradigm": "vsr", "where": [{"no_column": 1}]})
