"""What a page opens with: the picture of everybody, the sentence of an effect, and who comes
nearest to people."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from analysis_tables import mixed, responses
from report_page import read

from spanlab.analysis.data.loading import load
from spanlab.analysis.data.scoring import score_table
from spanlab.analysis.inference import Claim
from spanlab.analysis.model_vs_human.leaderboard import _fit, _flat_over_sessions, fits, standings
from spanlab.analysis.report import folder as report_folder
from spanlab.analysis.report.effect_sentences import EffectClaims, Given, few
from spanlab.analysis.report.overview import stated_answers
from spanlab.analysis.report.page import Options, compare
from spanlab.analysis.report.text import between
from spanlab.analysis.stats.agreement import Crowd


@pytest.fixture(autouse=True)
def _page_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_folder, "save", lambda *_: [])


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


@pytest.mark.slow
def test_a_model_that_is_like_people_has_a_fit_of_1_and_one_that_is_not_has_not() -> None:
    table = mixed(
        *crowd(),
        machine("alike", bowl),
        machine("other", lambda length, position: 1.4 - bowl(length, position), seed=51),
    )
    found = {row["agent"]: row for row in fits(score_table(table)).to_dict("records")}
    alike = found["network:alike"]
    assert alike["fit"] == pytest.approx(1, abs=0.12)
    assert alike["low"] < alike["fit"] < alike["high"]
    assert found["network:other"]["high"] < 0
    assert standings(fits(score_table(table)))["agent"].tolist() == ["network:alike", "network:other"]


@pytest.mark.slow
def test_where_people_have_nothing_in_common_there_is_no_score() -> None:
    random = np.random.RandomState(2)
    curves = [random.permutation([0.2, 0.4, 0.6, 0.8, 0.9, 0.1]) for _ in range(9)]
    people = [
        crowd(1, lambda length, position, own=own: own[int(position) - 1])[0].assign(participant=f"P{number}")
        for number, own in enumerate(curves)
    ]
    found = fits(score_table(mixed(*people, machine("a", bowl))))
    assert found["fit"].isna().all()
    assert (
        found["note"]
        .str.contains("people's curves are not distinguishable from curves with nothing in common: no score")
        .all()
    )


def test_a_ranking_needs_eight_people_and_a_curve_that_is_not_flat() -> None:
    models = [machine("alike", bowl), machine("flat", lambda length, position: 0.6, seed=51)]
    found = fits(score_table(mixed(*crowd(8), *models))).set_index("agent")
    assert found["fit"].notna().to_dict() == {"network:alike": True, "network:flat": False}
    assert found["note"]["network:flat"] == "its curve is flat, or not distinguishable from a flat one: no score"
    few = fits(score_table(mixed(*crowd(7), *models)))
    assert few[["fit", "low", "high", "ceiling_low"]].isna().all(axis=None)
    assert (
        few["note"]
        .str.startswith("7 people with a curve that is not flat, and the interval of fewer than 8 does not hold")
        .all()
    )


def apart(sessions: list[pd.DataFrame]) -> list[pd.DataFrame]:
    """Tables as sessions of one machine."""
    return [part.assign(session=f"s{at}", trial=part["trial"] + 100 * at) for at, part in enumerate(sessions)]


@pytest.mark.slow
def test_a_flat_curve_of_sessions_that_lack_conditions_has_no_place() -> None:
    """Each of three sessions lacks a place in the list, so that none can say what is noise."""
    parts = [machine("flat", lambda length, position: 0.6, seed=seed) for seed in (60, 61, 62)]
    lacking = apart([part[part["serial_position"] != place] for place, part in zip((1, 3, 6), parts, strict=True)])
    (found,) = fits(score_table(mixed(*crowd(), *lacking))).to_dict("records")
    assert math.isnan(found["fit"])
    assert (
        found["note"] == "fewer than two of its sessions have all conditions, so that its curve may be flat: no score"
    )


@pytest.mark.slow
def test_a_flat_curve_that_was_taken_twice_has_no_place_and_a_bowl_has() -> None:
    """The second session of a network without noise has the answers of the first, and says nothing
    more."""
    for curve, note in (
        (lambda length, position: 0.6, "its curve is flat, or not distinguishable from a flat one: no score"),
        (bowl, ""),
    ):
        twice = apart([machine("same", curve, seed=51)] * 2)
        (found,) = fits(score_table(mixed(*crowd(), *twice))).to_dict("records")
        assert found["note"] == note
        assert math.isnan(found["fit"]) is bool(note)


def tilting(spread: float) -> list[pd.DataFrame]:
    """Four sessions of a machine whose curves tilt differently."""
    random, parts = np.random.RandomState(3), []
    for at in range(4):
        tilt = random.normal(0, spread)
        curve = lambda length, position, tilt=tilt: float(  # noqa: E731
            np.clip(bowl(length, position) + tilt * (position - 3.5), 0, 1)
        )
        parts.append(
            machine("seeds", curve, seed=60 + at).assign(
                session=f"s{at}", trial=lambda table, at=at: table["trial"] + 100 * at
            )
        )
    return parts


def test_a_machine_that_differs_between_sessions_has_an_interval_that_is_so_much_wider() -> None:
    """The same answers, as one session and as four."""
    parts = tilting(0.05)
    several = fits(score_table(mixed(*crowd(), *parts))).iloc[0]
    single = fits(score_table(mixed(*crowd(), *(part.assign(session="s") for part in parts)))).iloc[0]
    assert several["fit"] == pytest.approx(single["fit"])
    assert several["high"] - several["low"] > 1.05 * (single["high"] - single["low"])


@pytest.mark.slow
def test_a_shape_that_sessions_of_a_machine_do_not_share_has_no_place() -> None:
    parts = tilting(0.15)
    assert fits(score_table(mixed(*crowd(), *(part.assign(session="s") for part in parts))))["fit"].notna().all()
    found = fits(score_table(mixed(*crowd(), *parts))).iloc[0]
    assert (math.isnan(found["fit"]), found["note"]) == (
        True,
        "its curve is flat, or not distinguishable from a flat one: no score",
    )


@pytest.mark.parametrize("sessions", [2, 3, 5, 9])
def test_flat_curves_of_machines_that_tilt_differently_from_session_to_session_seldom_have_a_place(
    sessions: int,
) -> None:
    """Over trials, 44 to 45 of 100 such curves had a shape."""
    random, claims = np.random.RandomState(sessions), 0
    for _ in range(1000):
        shares = (
            0.7
            + random.normal(0, 0.05, (sessions, 1))
            + random.normal(0, 0.25, (sessions, 1)) * np.linspace(-0.5, 0.5, 5)
        )
        claims += not _flat_over_sessions(random.binomial(48, np.clip(shares, 0.01, 0.99)) / 48)
    assert claims <= 65
    assert not _flat_over_sessions(np.linspace(0.9, 0.4, 5) + random.normal(0, 0.02, (max(3, sessions), 5)))


@pytest.mark.slow
@pytest.mark.parametrize("n_people", [8, 12, 24])
def test_curves_of_people_who_have_nothing_in_common_seldom_give_a_place_and_fits_hold(n_people: int) -> None:
    """People's log odds differ by what is their own at each point (SD about .05), and they take 12
    trials at each of 6."""
    slope, places, samples = np.linspace(0.9, 0.4, 6), 0, 600
    model = (slope - slope.mean()) / np.linalg.norm(slope - slope.mean())
    limits, scored = [], []
    for number in range(samples):
        random = np.random.RandomState([n_people, number])
        crowds = []
        for truth in (np.full(6, 0.65), slope):
            shares = np.clip(
                truth + random.normal(0, 0.1, (n_people, 1)) + random.normal(0, 0.05, (n_people, 6)), 0.02, 0.98
            )
            crowds.append(Crowd(tuple((at,) for at in range(6)), random.binomial(12, shares) / 12))
        places += crowds[0].in_common(seed=number) < 0.01
        assert crowds[1].in_common(seed=number) < 0.01
        shapes, ceiling = crowds[1].with_others()
        fit = _fit(shapes @ model, ceiling, {"level": 0.95, "resamples": 2000, "seed": number})
        limits.append((fit["low"], fit["high"]))
        scored.append(((shapes @ model).mean(), ceiling.mean()))
    expected = np.divide(*np.mean(scored, axis=0))
    held = sum(low <= expected <= high for low, high in limits)
    assert places / samples <= 0.02
    assert 0.93 <= held / samples <= 0.98


def test_the_page_opens_with_everybody_and_the_effect(tmp_path: Path) -> None:
    mixed(*crowd(), machine("alike", bowl), machine("flat", lambda length, position: 0.6, seed=51)).to_csv(
        tmp_path / "all.csv", index=False
    )
    page = compare([tmp_path / "all.csv"], tmp_path / "report", Options(models=False))
    html, text = page.read_text(encoding="utf-8"), read(page).text
    assert html.index('class="glance') < html.index('class="story') < html.index('class="paradigm')
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
    assert "Fit to people" in text
    order = pd.read_csv(tmp_path / "report" / "tables" / "leaderboard.csv")
    assert order["agent"].tolist()[0] == "network:alike"
    assert f"{order['fit'][0]:.2f}" in text


@pytest.mark.slow
def test_people_stand_where_the_models_bands_are_and_not_where_published_people_are(tmp_path: Path) -> None:
    mixed(*crowd(), machine("alike", bowl)).to_csv(tmp_path / "all.csv", index=False)
    html = compare([tmp_path / "all.csv"], tmp_path / "report", Options(models=False)).read_text(encoding="utf-8")
    places = {
        row["agent"]: row for row in pd.read_csv(tmp_path / "report" / "tables" / "overview.csv").to_dict("records")
    }
    assert places["People (n = 8)"]["against"] == "Avons 1998 (people)"
    (drawn,) = re.findall(r"<title>People \(n = 8\): (\d+)% right", html)
    assert int(drawn) == round(100 * places["network:alike"]["people"])
    assert int(drawn) != round(100 * places["People (n = 8)"]["people"])


@pytest.mark.slow
def test_the_blind_guess_is_one_number_in_the_whole_story(tmp_path: Path) -> None:
    """Long trials have a higher blind guess: averaged over answers, it would be another number than
    in the comparison with guessing."""
    table = responses(lambda length, position: 0.7, lengths=[1, 9], agent="network:a", kind="network", repetitions=40)
    table = table.assign(blind=np.where(table["list_length"] == 9, 0.5, 0.2))
    table.to_csv(tmp_path / "all.csv", index=False)
    text = read(compare([tmp_path / "all.csv"], tmp_path / "report", Options(models=False))).text
    assert re.search(r"above the best blind guess \(35%; p < .001\)", text)
    assert "the best blind guess 35%." in text


@pytest.mark.slow
def test_without_several_people_it_is_said_that_there_is_no_leaderboard(tmp_path: Path) -> None:
    mixed(*crowd(1), machine("alike", bowl)).to_csv(tmp_path / "all.csv", index=False)
    text = read(compare([tmp_path / "all.csv"], tmp_path / "report", Options(models=False))).text
    assert "There is no leaderboard: one person was measured" in text


@pytest.mark.slow
def test_further_paradigms_are_folded_and_every_figure_has_its_legend(tmp_path: Path) -> None:
    parts = [machine("a", bowl).assign(paradigm=f"mine-{number}", session=f"s{number}") for number in range(5)]
    mixed(*parts).to_csv(tmp_path / "all.csv", index=False)
    html = compare([tmp_path / "all.csv"], tmp_path / "report", Options(models=False)).read_text(encoding="utf-8")
    sections = re.findall(r'<section class="paradigm".*?</section>', html, re.S)
    assert [
        bool(re.search(r"<details open>\s*<summary><h2>|<details open><summary><h2>", one)) for one in sections
    ] == [True, True, True, False, False]
    for one in sections:
        figures = re.findall(r"<figure.*?</figure>", one, re.S)
        assert figures
        assert all('class="legend"' in figure and 'data-agent="network:a"' in figure for figure in figures)


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
    html = compare([tmp_path / "all.csv"], tmp_path / "report", Options(models=False)).read_text(encoding="utf-8")
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
    of = Given(0.86, math.nan, math.nan)
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
        behind = stated_answers(scored, mark)
        answers = behind.find()
        (agent,) = set(answers["agent"].astype(str))
        assert set(answers["list_length"]) == {2, 5}
        assert mean(answers) == pytest.approx(table["in_picture"][agent])
        assert mean(answers[answers["list_length"] == 2]) != pytest.approx(table["in_picture"][agent])
    whole = {"paradigm": "vsr", "where": [{"agent": "network:a"}]}
    assert len(stated_answers(scored, whole).find()) == (scored.items["agent"] == "network:a").sum()
    with pytest.raises(KeyError):
        stated_answers(scored, {"paradigm": "vsr", "where": [{"no_column": 1}]})
