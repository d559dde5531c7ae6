"""A person's own answers, scored by a chat model: with the probabilities of then, given what came
before, recorded, gone on with, and with no truth in it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from chat_likelihoods import END, like_vllm, probability, prompt_of
from chat_servers import Answer, Request, Tap, listening
from command_line import output_of
from forged_truth import forged
from session_tools import AtTheWindow, Guessing, take

from spanlab.agents.base import Response
from spanlab.agents.registry import make_agent
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import Percept, load_paradigm
from spanlab.sessions import Runner, find_sessions, reopen, replaying
from spanlab.sessions.record.reader import read_events

from ..bits import blind_bits, choice_bits, clustered
from ..scoring import INFO, TABLE

Run = Callable[..., Any]
VSR, SFR = load_paradigm("vsr"), load_paradigm("sfr")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Tap]:
    with listening(like_vllm) as tap:
        monkeypatch.setenv("OPENAI_BASE_URL", tap.base_url)
        yield tap


def person(
    folder: Path, paradigm: Any = VSR, trials: int = 3, levels: Mapping[str, Any] | None = None, **request: Any
) -> Path:
    """A session of somebody at the screen, who guesses."""
    guess = Guessing()

    def answer(percept: Percept, number: int) -> Response:
        return guess(percept, number)

    return take(
        folder,
        paradigm,
        AtTheWindow(answer),
        trials,
        2,
        levels or {"list_length": [2]},
        **{"participant": "p1", **request},
    ).folder


def score(run: Run, folder: Path, *more: Any) -> tuple[int, str, str]:
    return run("score-choices", folder, "--agent", "chat:m", "--chat", "likelihoods=prompt", *more)


def table(out: str) -> pd.DataFrame:
    return pd.read_csv(Path(out.splitlines()[-1]) / TABLE, keep_default_na=False, dtype={"answer": str})


@pytest.mark.slow
def test_bits_are_those_of_the_model_given_all_that_came_before(run: Run, server: Tap, tmp_path: Path) -> None:
    folder = person(tmp_path / "data")
    status, out, err = score(run, folder, "--concurrency", "1", "--price", "1/2")
    assert status == 0, err
    rows = table(out)
    assert len(rows) == 6
    assert len(server.requests) == 6 * 10
    log = 0.0
    for number, row in enumerate(rows.to_dict("records")):
        body = server.requests[10 * number].body
        said = [message["content"] for message in body["messages"] if message["role"] == "assistant"]
        assert said == rows["answer"].tolist()[:number], "it hears what the person answered, as if it had said so"
        shares = {digit: probability(prompt_of(body), digit, END) for digit in "123456789"}
        share = shares[str(row["answer"])] / sum(shares.values())
        assert math.exp(float(row["log_probability"])) == pytest.approx(share)
        assert float(row["mass"]) == pytest.approx(sum(shares.values()))
        log -= math.log2(share)
    assert f"answers of p1, chat:m: {log / 6:.2f} [" in out
    assert "chance 3.17" in out
    info = json.loads((Path(out.splitlines()[-1]) / INFO).read_text("utf-8"))
    assert info["account"]["requests"] == info["estimate"]["requests"] == 60
    assert info["account"]["cost"] > 0
    assert (info["participant"], info["history"]) == ("p1", "all trials before; no practice")
    assert info["summary"]["model"]["mean"] == pytest.approx(log / 6)
    assert not (Path(out.splitlines()[-1]) / "session.json").exists(), "it is not a session"
    assert score(run, folder, "--concurrency", "1", "--price", "1/2")[:2] == (status, out)
    assert len(server.requests) == 60, "nothing is asked twice"


def test_every_session_of_a_person_counts(run: Run, server: Tap, tmp_path: Path) -> None:
    folders = [person(tmp_path / f"{at}", trials=1, participant=who) for at, who in enumerate(("p1", "p1", "p2"))]
    out = output_of(*run("score-choices", *folders, "--agent", "chat:m", "--chat", "likelihoods=prompt"))
    assert "in 3 sessions of 2 people" in out


@pytest.mark.slow
def test_what_stopped_goes_on_and_nothing_is_paid_for_twice(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dies = iter([*[False] * 25, True, *[False] * 100])

    def sometimes(request: Request) -> Answer:
        return (401, "application/json", b"{}") if next(dies) else like_vllm(request)

    folder = person(tmp_path / "data")
    with listening(sometimes) as tap:
        monkeypatch.setenv("OPENAI_BASE_URL", tap.base_url)
        status, _, err = score(run, folder, "--concurrency", "1")
        assert status != 0
        assert "run the same command to continue" in err
        status, out, err = score(run, folder, "--concurrency", "1")
    assert status == 0, err
    assert len(tap.requests) == 61
    assert len(table(out)) == 6


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("vsr", []),
        pytest.param("cd", ["practice=feedback"], marks=pytest.mark.slow),
        pytest.param("nback_verbal_feedback", ["conversation_window=1"], marks=pytest.mark.slow),
    ],
)
def test_no_request_depends_on_what_is_right(
    run: Run, server: Tap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, settings: list[str]
) -> None:
    paradigm = load_paradigm(name)
    levels = {
        factor: [declared.levels[0]] for factor, declared in paradigm.factors.items() if declared.mode == "crossed"
    }
    folder = person(tmp_path / "data", paradigm, 2, levels, practice="practice=feedback" in settings)
    more = [word for one in settings for word in ("--chat", one)]
    assert score(run, folder, "--concurrency", "1", *more, "-o", tmp_path / "true")[0] == 0
    asked = [request.body for request in server.requests]
    server.requests.clear()
    compile_ = replaying.compile_trial
    monkeypatch.setattr(replaying, "compile_trial", lambda *arguments: forged(compile_(*arguments)))
    assert score(run, folder, "--concurrency", "1", *more, "-o", tmp_path / "forged")[0] == 0
    assert json.dumps([request.body for request in server.requests]) == json.dumps(asked)
    assert asked
    if settings == ["practice=feedback"]:
        assert "trials of practice" in json.loads((tmp_path / "true" / INFO).read_text("utf-8"))["history"]


@pytest.mark.slow
def test_practice_comes_first_with_what_was_said_around_it(run: Run, server: Tap, tmp_path: Path) -> None:
    folder = person(tmp_path / "data", load_paradigm("cd"), 1, {"set_size": [2], "retention_steps": [6]}, practice=True)
    status, out, err = score(run, folder, "--chat", "practice=feedback")
    assert status == 0, err
    (over,) = [event for event in read_events(folder) if event["event"] == "practice"]
    users = [message["content"] for message in server.requests[-1].body["messages"] if message["role"] == "user"]
    assert users[0].startswith("We begin with some practice. You will be told how you did.")
    assert sum("Let us practise once more." in one for one in users) == over["rounds"] - 1 > 0
    assert ["Now the real trials begin." in one for one in users] == [False] * (len(users) - 1) + [True]
    assert len(table(out)) == 1
    assert "had no practice" in score(run, person(tmp_path / "bare", trials=1), "--chat", "practice=feedback")[2]


@pytest.mark.slow
def test_of_a_session_that_is_not_finished_the_answers_so_far_are_scored_and_that_is_said(
    run: Run, server: Tap, tmp_path: Path
) -> None:
    def leaves(percept: Percept, number: int) -> Response:
        if len(taker.seen) > 2:
            raise SpanLabError("somebody left")
        return Response(0)

    taker = AtTheWindow(leaves)
    with pytest.raises(SpanLabError, match="somebody left"):
        take(tmp_path / "data", VSR, taker, 4, 2, {"list_length": [2]}, participant="p1")
    (folder,) = find_sessions([tmp_path / "data"])
    status, out, err = score(run, folder)
    assert status == 0, err
    assert "is not finished: 2 trials of it cannot be scored yet" in err
    assert len(table(out)) == 4
    Runner(reopen(folder), AtTheWindow(lambda percept, number: Response(0))).run()
    status, _, err = score(run, folder)
    assert status != 0
    assert "which may have continued since (delete the folder to score them all)" in err


@pytest.mark.slow
def test_what_cannot_be_scored_is_left_out_and_said(run: Run, server: Tap, tmp_path: Path) -> None:
    several = take(tmp_path / "several", SFR, make_agent("chance", 1), 2, 2, {"list_length": [2]}).folder
    status, _, err = score(run, several)
    assert status != 0
    assert "no answer could be scored" in err
    assert "answers of several items" in err
    assert not server.requests

    def silent(percept: Percept, number: int) -> Response:
        return Response(None, outcome="omitted") if number == 1 else Response(0)

    omits = take(tmp_path / "omits", VSR, AtTheWindow(silent), 2, 2, {"list_length": [2]}, participant="p2").folder
    status, out, err = score(run, omits, "--concurrency", "1")
    assert status == 0, err
    assert "left out: 2 answers (no answer was given)" in out
    assert "in 2 answers of 2 trials" in out
    heard = [message["content"] for message in server.requests[-1].body["messages"] if message["role"] == "assistant"]
    assert heard[:3] == ["(no answer)", "1", "(no answer)"]


def test_slips_are_told_before_anything_is_asked(run: Run, server: Tap, tmp_path: Path) -> None:
    folder = person(tmp_path / "data", trials=1)
    assert "Give --chat likelihoods=prompt" in run("score-choices", folder, "--agent", "chat:m")[2]
    assert "leave out examples" in score(run, folder, "--chat", "examples=2")[2]
    assert "scored by chat models" in run("score-choices", folder, "--agent", "ideal")[2]
    assert "is not a session" in score(run, tmp_path / "nowhere")[2]
    assert score(run, folder, "-o", tmp_path / "one")[0] == 0
    count = len(server.requests)
    assert (
        "was made with other chat settings"
        in score(run, folder, "-o", tmp_path / "one", "--chat", "conversation=trial")[2]
    )
    assert (
        "was made with other answers than those of this session"
        in score(run, person(tmp_path / "other", trials=2), "-o", tmp_path / "one")[2]
    )
    assert "holds something else already" in score(run, folder, "-o", tmp_path / "data")[2]
    status, _, err = score(run, folder, "-o", tmp_path / "dear", "--max-tokens", "10")
    assert status != 0
    assert "max_tokens 10 is reached" in err
    assert len(server.requests) == count


def test_where_the_server_tells_some_answers_only_the_bits_are_a_bound(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def top(request: Request) -> Answer:
        told = [{"token": "1", "logprob": math.log(0.5)}, {"token": "2", "logprob": math.log(0.25)}]
        choice = {
            "message": {"content": "1"},
            "finish_reason": "length",
            "logprobs": {"content": [{**told[0], "top_logprobs": told}]},
        }
        return (
            200,
            "application/json",
            json.dumps({"choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}).encode(),
        )

    answers = iter([0, 1, 2, 3])
    folder = take(
        tmp_path,
        VSR,
        AtTheWindow(lambda percept, number: Response(next(answers))),
        2,
        2,
        {"list_length": [2]},
        participant="p",
    ).folder
    with listening(top) as tap:
        monkeypatch.setenv("OPENAI_BASE_URL", tap.base_url)
        status, out, err = run("score-choices", folder, "--agent", "chat:m", "--chat", "likelihoods=top")
    assert status == 0, err
    rows = table(out)
    # of 3 and 4 nothing is known but that neither is likelier than 2, and together they have a
    # quarter
    assert [round(math.exp(value), 4) for value in rows["log_probability"].astype(float)] == [
        round(0.5 / 0.75, 4),
        round(0.25 / 0.75, 4),
        0.25,
        0.25,
    ]
    assert set(rows["at_most"]) == {True}
    assert "at least 1.5" in out
    assert "the server does not tell all probabilities" in out


def test_a_blind_guess_never_knows_the_answer_that_it_guesses() -> None:
    assert blind_bits(["a"], ["ab"], [2]) == pytest.approx([1.0]), "of one answer nothing is known: chance"
    answers, sets = ["a", "a", "a", "b"], ["ab"] * 4
    assert blind_bits(answers, sets, [2] * 4) == pytest.approx(-np.log2([2.5 / 4] * 3 + [0.5 / 4]))
    assert blind_bits([*answers, "a"], [*sets, "abc"], [2] * 4 + [3])[-1] == pytest.approx(np.log2(3)), (
        "other questions tell nothing"
    )


def test_a_habit_is_worth_what_it_is_and_none_is_chance() -> None:
    random = np.random.RandomState(1)
    for shares in ([0.25] * 4, [0.7, 0.1, 0.1, 0.1]):
        answers = [str(one) for one in random.choice(4, 4000, p=shares)]
        entropy = -sum(share * math.log2(share) for share in shares)
        assert blind_bits(answers, ["x"] * 4000, [4] * 4000).mean() == pytest.approx(entropy, abs=0.03)


def test_a_sure_model_has_no_bits_and_a_table_says_what_it_rests_on(tmp_path: Path) -> None:
    rows = {
        "trial": [1, 1, 2, 2],
        "answer": list("1211"),
        "answers": ["x"] * 4,
        "allowed": [9] * 4,
        "log_probability": [0.0] * 4,
        "at_most": [False] * 4,
    }
    found = choice_bits(pd.DataFrame({**rows, "left_out": [""] * 4}))
    assert (found.model.mean, found.answers, found.trials, found.at_least) == (0.0, 4, 2, 0)
    assert found.below_chance.mean == pytest.approx(math.log2(9))
    few = pd.DataFrame({**rows, "answer": list("1234"), "left_out": [""] * 4})
    assert choice_bits(few).blind == pytest.approx(math.log2(9)), "a blind guess is never worse than chance"
    assert math.isnan(clustered(np.array([1.0, 2.0]), np.array([1, 1])).low), "one trial has no interval"
