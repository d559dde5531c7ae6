"""The benchmark: what its verdicts promise, its cards, and their verification."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from benchmark_cards import rates, verdicts
from command_line import Run, output_of

import spanlab
from spanlab.analysis.data import Scored, load
from spanlab.analysis.means import Contrast
from spanlab.analysis.nback import PUBLISHED, layout, published_blocks
from spanlab.core.errors import SpanLabError
from spanlab.extensions.benchmark.card import (
    BLUNT,
    UNKNOWN,
    UNREAD,
    _body,
    _framed,
    card_of,
    judge,
    published_cards,
    read_card,
)
from spanlab.extensions.benchmark.command import agent_problems, problems_of, table_problems
from spanlab.extensions.benchmark.drawing import gallery, page, picture
from spanlab.extensions.benchmark.running import agent_at
from spanlab.extensions.benchmark.suite import NBACK, Effect, read_suite
from spanlab.sessions import find_sessions

SMALL = """
suite: small
version: 1
title: A small suite
seed: 5
parts:
  people:
    about: people's protocol
    settings: {practice: feedback}
    paradigms:
      smu: {set: {set_size: [1, 2, 3, 4]}, trials: 16}
      vsr: {set: {list_length: [3, 4]}, trials: 12}
  models:
    about: the study's protocol
    settings: {preset: published-other-models}
    paradigms:
      nback_verbal: {set: {n: [1, 2, 3], lures: free, block_length: 30}, trials: 6, generator: published}
effects:
  - {paradigm: smu, effect: accuracy, measure: mean, margin: 10}
  - {paradigm: smu, effect: set size, measure: slope, along: set_size, margin: 6, unit: points an item}
  - {paradigm: vsr, effect: primacy, measure: first, along: serial_position, margin: 11}
  - {paradigm: nback_verbal, effect: N-back d′, measure: mean, margin: 0.6, unit: d′}
"""
SUITE = read_suite()
#: sessions that older versions recorded
GOLDEN = Path(__file__).parents[3] / "tests" / "golden" / "sessions" / "finished"
WITH_PEOPLE = [effect for effect in SUITE.effects if effect.paradigm not in NBACK]


@pytest.fixture(scope="module")
def benchmarked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the small suite, taken by somebody who guesses."""
    place = tmp_path_factory.mktemp("benchmark")
    (place / "small.yaml").write_text(SMALL, encoding="utf-8")
    spanlab.benchmark("chance", suite=place / "small.yaml", data=place / "data", output=place / "card")
    return place


def sampled(effect: Effect, model: str, samples: int = 60) -> Any:
    return verdicts(effect, model, samples)


@pytest.mark.parametrize("effect", [SUITE.effects[0], SUITE.effects[1]], ids=lambda effect: effect.name)
@pytest.mark.slow
def test_a_model_like_people_is_the_same(effect: Effect) -> None:
    counts = sampled(effect, "machine")
    assert counts["same"] / counts.total() > 0.7
    assert not counts["differs"]


def test_a_guesser_differs() -> None:
    counts = sampled(SUITE.effects[0], "guesser")
    assert counts["differs"] == counts.total()


@pytest.mark.parametrize(("trials", "verdict"), [(3, "undecided"), (240, "same")])
def test_a_few_right_answers_are_not_the_same_as_people(trials: int, verdict: str) -> None:
    """An agent that is right in all of three trials may be right in 29 of 100; one of 240 trials,
    in 98."""
    agent = Contrast(1.0, 0.0, math.nan, trials, share=True, span=(0, 1))
    assert judge(SUITE.effects[0], agent, Contrast(0.97, 0.005, 23, 24, share=True, span=(0, 1))) == verdict


@pytest.mark.parametrize("effect", [SUITE.effects[0]], ids=lambda effect: effect.name)
@pytest.mark.slow
def test_at_the_margin_same_is_as_rare_as_the_tests_say(effect: Effect) -> None:
    counts = verdicts(effect, "at the margin", 150)
    assert counts["same"] / counts.total() <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 150)
    assert counts["differs"] / counts.total() <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 150)


@pytest.mark.slow
@pytest.mark.parametrize("effect", WITH_PEOPLE, ids=lambda effect: effect.name)
def test_every_margin_keeps_its_promise(effect: Effect) -> None:
    """Models like 24 people are the same in at least seven of ten cases, a model at the margin in
    one of twenty at most, and nobody who guesses as well."""
    like, edge, guesser = (verdicts(effect, model, 300) for model in ("machine", "at the margin", "guesser"))
    assert like["same"] / 300 >= 0.7
    assert like["differs"] / 300 <= 0.01
    assert edge["same"] / 300 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)
    if effect.effect == "accuracy":
        assert guesser["differs"] / 300 >= 0.8
        assert not guesser["same"]


def test_a_card_has_the_published_means_of_people_and_no_verdict(benchmarked: Path) -> None:
    card = read_card(benchmarked / "card" / "card.json")
    assert card["trials"] == card["comparable"] == 34
    accuracy = card["effects"][0]
    assert accuracy["against"][0]["reference"] == {"value": 86.125, "low": None, "high": None}
    assert accuracy["against"][0]["verdict"] == UNKNOWN
    assert accuracy["against"][0]["difference"]["low"] == pytest.approx(accuracy["agent"]["low"] - 86.125, abs=1e-4)
    assert accuracy["unread"] == 0
    session = card["sessions"][0]
    assert session["paradigm_hash"]
    assert len(session["record_sha256"]) == 64


def test_a_picture_names_every_network_that_answered(benchmarked: Path) -> None:
    card = read_card(benchmarked / "card" / "card.json")
    assert {session["answered"] for session in card["sessions"]} == {card["agent"]["name"]}
    assert card["agent"]["name"] + ":" not in picture(card)
    names = ["network:laptop", "network:laptop", "network:wired-nback (wired, not learned)"]
    several = [session | {"answered": name} for session, name in zip(card["sessions"], names, strict=True)]
    assert "laptop: smu, vsr · wired-nback (wired, not learned): nback_verbal" in picture(card | {"sessions": several})


def test_a_guesser_differs_from_published_models_by_their_raw_answers(benchmarked: Path) -> None:
    against = {
        beside["name"]: beside for beside in read_card(benchmarked / "card" / "card.json")["effects"][3]["against"]
    }
    assert against["gpt-4"]["verdict"] == "differs"
    assert against["gpt-4"]["n"] == 90
    assert against["bloomz-7b"]["verdict"] == BLUNT, "guessing is no further from it than the margin"


@pytest.mark.slow
def test_published_d_primes_are_those_of_the_study() -> None:
    card = next(card for card in published_cards(SUITE) if card["agent"]["name"] == "gpt-4")
    blocks = published_blocks()
    table = layout(blocks[blocks["model"].eq("gpt-4")], PUBLISHED)
    effect = next(effect for effect in card["effects"] if effect["paradigm"] == "nback_verbal")
    assert effect["agent"]["value"] == pytest.approx(table["dprime_signed_mean"].mean(), abs=1e-6)
    assert [beside["name"] for beside in effect["against"]].count("gpt-4") == 0


def test_a_laboratorys_own_people_give_verdicts(benchmarked: Path, tmp_path: Path) -> None:
    from spanlab.sessions import read_responses

    table = read_responses(next((benchmarked / "data").glob("smu-*")))
    people = [
        table.assign(participant=f"P{number}", agent="participant", agent_kind="participant", session=f"s{number}")
        for number in range(6)
    ]
    for number, rows in enumerate(people):
        rows["correct"] = np.random.RandomState(number).rand(len(rows)) < 0.95
    import pandas as pd

    pd.concat(people).to_csv(tmp_path / "people.csv", index=False)
    longer = [one.assign(retention_steps=9, correct=False, trial=one["trial"] + 100) for one in people]
    pd.concat([*people, *longer]).to_csv(tmp_path / "longer.csv", index=False)
    people[0].to_csv(tmp_path / "one.csv", index=False)
    suite = read_suite(benchmarked / "small.yaml")
    card = card_of(suite, benchmarked / "data", tmp_path / "people.csv")
    first = card["effects"][0]["against"][0]
    assert first["name"] == "your people (6)"
    assert first["verdict"] == "differs"
    assert first["n"] == 6
    assert card_of(suite, benchmarked / "data", tmp_path / "longer.csv")["effects"] == card["effects"], (
        "the agent had no such delay"
    )
    (alone, *_) = card_of(suite, benchmarked / "data", tmp_path / "one.csv")["effects"][0]["against"]
    assert (alone["name"], alone["verdict"]) == ("your people (1)", UNKNOWN)
    assert [beside["verdict"] for beside in card["effects"][0]["against"]][1] == UNKNOWN
    with pytest.raises(SpanLabError, match="give their data with --people"):
        problems_of(card, suite, str(benchmarked / "data"))
    assert problems_of(card, suite, str(benchmarked / "data"), tmp_path / "people.csv") == []


def test_a_card_is_computed_again_from_its_record(benchmarked: Path) -> None:
    suite = read_suite(benchmarked / "small.yaml")
    assert problems_of(read_card(benchmarked / "card" / "card.json"), suite, str(benchmarked / "data")) == []
    assert problems_of(json.loads(json.dumps(next(published_cards(SUITE)))), SUITE, "published") == []


def test_a_changed_number_and_a_changed_record_are_found(benchmarked: Path, tmp_path: Path) -> None:
    suite, card = read_suite(benchmarked / "small.yaml"), read_card(benchmarked / "card" / "card.json")
    card["effects"][0]["agent"]["value"] += 0.01
    (problem,) = problems_of(card, suite, str(benchmarked / "data"))
    assert "smu accuracy.agent.value" in problem
    card = read_card(benchmarked / "card" / "card.json")
    data = shutil.copytree(benchmarked / "data", tmp_path / "data")
    events = next(data.glob("smu-*")) / "events.jsonl"
    events.write_text(
        events.read_text("utf-8")
        .replace('"correct": false', '"correct": true')
        .replace('"correct":false', '"correct":true'),
        "utf-8",
    )
    problems = problems_of(card, suite, str(data))
    assert any("its events say True" in problem for problem in problems)
    assert any("record_sha256" in problem for problem in problems)
    assert "the card is of suite" in problems_of(card, SUITE, str(data))[0]


def rewritten(benchmarked: Path, place: Path, name: str, change: Callable[[pd.DataFrame], pd.DataFrame]) -> list[str]:
    """Problems of a card made of sessions of which a table was changed and the events were not."""
    suite, data = read_suite(benchmarked / "small.yaml"), shutil.copytree(benchmarked / "data", place / "data")
    table = next(data.glob("smu-*")) / name
    if table.suffix == ".csv":
        change(pd.read_csv(table, dtype=str)).to_csv(table, index=False)
    else:
        change(pd.read_parquet(table)).to_parquet(table)
    return problems_of(card_of(suite, data), suite, str(data))


@pytest.mark.parametrize("name", ["responses.parquet", "responses.csv"])
def test_a_changed_cell_of_a_table_is_found(benchmarked: Path, tmp_path: Path, name: str) -> None:
    nine = "9" if name.endswith("csv") else 9
    (problem,) = rewritten(
        benchmarked,
        tmp_path,
        name,
        lambda table: table.assign(set_size=table["set_size"].where(table.index != 2, nine)),
    )
    assert re.search(r"in row 3 set_size '?9(\.0)?'?, and its events say \d", problem)


@pytest.mark.slow
def test_tables_of_older_versions_lack_columns_and_are_not_changed(benchmarked: Path, tmp_path: Path) -> None:
    for name in ("responses.parquet", "responses.csv"):
        assert rewritten(benchmarked, tmp_path / name, name, lambda table: table.drop(columns="blind")) == []
    for folder in find_sessions([GOLDEN]):
        assert not [*table_problems(folder), *agent_problems(folder)], folder.name


@pytest.mark.slow
def test_another_name_of_the_agent_is_found(benchmarked: Path, tmp_path: Path) -> None:
    suite, data = read_suite(benchmarked / "small.yaml"), shutil.copytree(benchmarked / "data", tmp_path / "data")
    for folder in find_sessions([data]):
        info = (folder / "session.json").read_text("utf-8").replace('"agent": "chance"', '"agent": "chat:gpt-9"')
        (folder / "session.json").write_text(info, "utf-8")
    problems = problems_of(card_of(suite, data), suite, str(data))
    assert any("row 1 agent 'chance', and its events say 'chat:gpt-9'" in problem for problem in problems)
    assert any("agent_settings_hash is not that of chat:gpt-9" in problem for problem in problems)


def test_the_command_runs_compares_and_verifies(benchmarked: Path, run: Run, tmp_path: Path) -> None:
    shutil.copytree(benchmarked / "card", tmp_path / "cards" / "chance")
    shutil.copytree(benchmarked / "card", tmp_path / "cards" / "again")
    out = output_of(*run("benchmark", "--compare", "cards", "-o", "cards.html"))
    assert "accuracy" in out
    assert (tmp_path / "cards.html").exists()
    status, out, err = run(
        "benchmark",
        "--verify",
        "cards/chance/card.json",
        str(benchmarked / "data"),
        "--suite",
        str(benchmarked / "small.yaml"),
    )
    assert (status, err) == (0, "")
    assert "every number was computed again" in out
    status, _, err = run("benchmark", "--verify", "cards/chance/card.json", str(benchmarked / "data"))
    assert status == 1
    assert "does not agree with" in err


def test_pages_and_pictures_are_whole(benchmarked: Path) -> None:
    card = read_card(benchmarked / "card" / "card.json")
    import xml.dom.minidom

    xml.dom.minidom.parseString(picture(card))
    assert "people&#39;s spread unknown" in page([card])
    assert page([card]).count("<svg") == 1
    assert gallery([card, card]).count("<svg") == 2


def test_a_server_with_several_models_is_asked_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "")
    with pytest.raises(
        SpanLabError, match="has 2 models; name one:\n  spanlab benchmark http://localhost:9/v1 --model a"
    ):
        agent_at("http://localhost:9/v1", "", lambda _: ["a", "b"])
    assert agent_at("http://localhost:9/v1", "", lambda _: ["a"]) == "chat:a"


def test_what_is_wrong_with_a_suite_is_said_by_line(tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text(
        SMALL.replace("margin: 10}", "margin: -1}").replace("paradigm: vsr, effect", "paradigm: cd, effect"),
        encoding="utf-8",
    )
    with pytest.raises(SpanLabError, match=r"wrong.yaml:\d+"):
        read_suite(tmp_path / "wrong.yaml")
    (tmp_path / "wrong.yaml").write_text(
        SMALL.replace("paradigm: vsr, effect", "paradigm: cd, effect"), encoding="utf-8"
    )
    with pytest.raises(SpanLabError, match="no part of the suite has"):
        read_suite(tmp_path / "wrong.yaml")


@pytest.mark.slow
def test_the_table_of_the_documentation_can_be_made() -> None:
    assert rates(SUITE.model_copy(update={"effects": SUITE.effects[:1]}), 5).count("\n") == 4


# replies that could not be read, and wordings -----------------------------------------------------


def unread_card(benchmarked: Path, lost: Any, **options: Any) -> dict[str, Any]:
    """The card of a chat model that guesses, of which some replies could not be read: ``lost`` says
    which rows of the items."""
    suite, scored = read_suite(benchmarked / "small.yaml"), load([benchmarked / "data"]).scored
    items = scored.items.assign(agent_kind="chat", oracle=False)
    which = lost(items).to_numpy(bool)
    items = items.assign(
        outcome=items["outcome"].astype(str).mask(which, "invalid"), correct=items["correct"].mask(which, 0.0)
    )
    body = _body(suite, Scored(items, scored.intrusions, (), **options), "chance", None, {"smu", "vsr", "nback_verbal"})
    head = {"name": "chat:m", "kind": "chat", "oracle": False, "settings": {}}
    return _framed(suite, head) | {"sessions": [], "not_taken": {}, "people": None} | body


def every(share: float) -> Any:
    return lambda items: pd.Series(np.arange(len(items)) % 100 < 100 * share, index=items.index)


def test_a_card_has_the_share_of_unread_replies_and_what_it_leaves_open(benchmarked: Path) -> None:
    card = unread_card(benchmarked, lambda items: (items["paradigm"] == "smu") & (np.arange(len(items)) % 10 == 0))
    smu, _, vsr, _ = card["effects"]
    assert 0.05 < smu["unread"] < 0.15
    assert smu["if_guessed"] == pytest.approx(smu["agent"]["value"] + 100 * smu["unread"] / 9, abs=1.5), (
        "a guess is right once in nine"
    )
    assert "if_guessed" not in vsr
    for text in (picture(card), page([card])):
        assert f"{100 * smu['unread']:.0f} % unread, as guesses {smu['if_guessed']:.1f}" in text
    assert "unread" not in picture(unread_card(benchmarked, every(0.0)))


@pytest.mark.slow
def test_conditions_that_were_hardly_read_are_compared_with_nobody(benchmarked: Path) -> None:
    def lost(items: pd.DataFrame) -> pd.Series:
        return (
            (items["paradigm"] == "nback_verbal")
            & items["factor_n"].astype(str).isin(["3", "3.0"])
            & (np.arange(len(items)) % 2 == 0)
        )

    whole, cut, accepted = (
        unread_card(benchmarked, every(0.0)),
        unread_card(benchmarked, lost),
        unread_card(benchmarked, lost, accept_unread=True),
    )
    conditions = [card["effects"][-1]["against"][0]["conditions"] for card in (whole, cut, accepted)]
    assert conditions == [3, 2, 3]


def test_a_model_that_was_hardly_read_has_no_verdict(benchmarked: Path) -> None:
    card, accepted = unread_card(benchmarked, every(0.5)), unread_card(benchmarked, every(0.5), accept_unread=True)
    verdicts_of = [
        [beside["verdict"] for effect in one["effects"] for beside in effect["against"]] for one in (card, accepted)
    ]
    assert set(verdicts_of[0]) == {UNREAD}
    assert UNREAD not in verdicts_of[1]
    assert len(verdicts_of[0]) == len(verdicts_of[1])
    assert all(beside["difference"]["value"] is None for effect in card["effects"] for beside in effect["against"])
