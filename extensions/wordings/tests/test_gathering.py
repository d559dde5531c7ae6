"""From sessions of a set file with wordings to a verdict: models are the agents, and a single lucky
wording convinces nobody."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from chat_servers import Answer, Request, Tap, listening
from chat_stub import completion
from command_line import Run

from spanlab.sessions import find_sessions, read_session

from ..gathering import WordedModel, differences, gathered

FILE = """\
agents: [chat:a@here, chat:b@here]
paradigms:
  cd: {set: {set_size: 2, retention_steps: 6, feature: colour}, trials: 6}
wordings:
  one: {preamble: Wording one.}
  two: {preamble: Wording two.}
  three: {preamble: Wording three.}
repeats: 2
"""


def model(name: str, scores: np.ndarray, unread: float = 0.0) -> WordedModel:
    wordings, _, trials = scores.shape
    names, ids = tuple(f"w{number}" for number in range(wordings)), tuple(f"t{number}" for number in range(trials))
    sessions = tuple((f"{name}-{wording}",) for wording in names)
    return WordedModel("vsr", name, scores, names, ids, (0,) * trials, (unread, unread), float("nan"), 0, sessions)


def right(shares: list[float], seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.random((len(shares), 2, 80)) < np.array(shares)[:, None, None]).astype(float)


def test_a_model_that_is_better_in_every_wording_is_better() -> None:
    (pair,) = differences([model("a", right([0.8] * 5, 1)), model("b", right([0.5] * 5, 2))])
    assert (pair.verdict, pair.wordings) == ("better", 5)
    (pair,) = differences([model("b", right([0.5] * 5, 2)), model("a", right([0.8] * 5, 1))])
    assert pair.verdict == "worse"


def test_a_model_that_is_better_in_one_wording_only_is_not_called_better() -> None:
    """Over its 800 answers alone, the difference would be far from chance."""
    (pair,) = differences([model("a", right([0.95, 0.5, 0.5, 0.5, 0.5], 3)), model("b", right([0.5] * 5, 4))])
    assert pair.pooled is not None
    assert pair.pooled.mean > 0.05
    assert pair.verdict == "no difference shown"


def test_unread_replies_and_few_wordings_are_compared_with_nobody() -> None:
    good, bad = model("a", right([0.8] * 5, 1)), model("b", right([0.5] * 5, 2), unread=0.3)
    (pair,) = differences([good, bad])
    assert (pair.pooled, pair.verdict, pair.note) == (None, "", "30% of b's replies could not be read")
    one_session = replace(bad, unread=(0.12, 0.48))
    (pair,) = differences([good, one_session])
    assert pair.note == "48% of the replies in a session of b could not be read"
    assert differences([good, bad], accept_unread=True)[0].verdict == "better"
    (pair,) = differences([good, model("b", right([0.5] * 2, 2))])
    assert pair.note == "2 common wordings; 3 are needed"


def test_p_values_are_corrected_over_the_pairs_of_a_paradigm() -> None:
    pairs = differences(
        [
            model(name, right([share] * 5, at))
            for at, (name, share) in enumerate({"a": 0.8, "b": 0.55, "c": 0.5}.items())
        ]
    )
    assert len(pairs) == 3
    assert all(pair.pooled is not None and pair.p_holm >= pair.pooled.p for pair in pairs)


@pytest.fixture
def tap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tap]:
    def answer(request: Request) -> Answer:
        said = "same" if request.body["model"] == "a" else "different"
        return 200, "application/json", completion(said, request.body["model"], 10)

    with listening(answer) as tap:
        (tmp_path / "providers.yaml").write_text(f"providers:\n  here: {{base_url: '{tap.base_url}'}}\n", "utf-8")
        monkeypatch.setenv("SPANLAB_PROVIDERS", str(tmp_path / "providers.yaml"))
        yield tap


@pytest.mark.slow
def test_sessions_of_a_set_file_are_pooled(run: Run, tap: Tap, tmp_path: Path) -> None:
    (tmp_path / "models.yaml").write_text(FILE, "utf-8")
    status, out, err = run("replay", "--set-file", tmp_path / "models.yaml", "--data", tmp_path / "data")
    assert status == 0, err
    infos = [read_session(folder) for folder in find_sessions([tmp_path / "data"])]
    assert len(infos) == 2 * 3 * 2
    assert {info["evaluation"]["wording"] for info in infos} == {"one", "two", "three"}
    said = {
        re.sub(r"(Wording \w+\.).*", r"\1", str(json.dumps(request.body["messages"]))).rpartition('"')[2]
        for request in tap.requests
    }
    assert {f"Wording {name}." for name in ("one", "two", "three")} == said
    models, (pair,), _ = gathered([tmp_path / "data"])
    assert [(one.name, one.scores.shape) for one in models] == [("chat:a@here", (3, 2, 6)), ("chat:b@here", (3, 2, 6))]
    assert models[0].scores.mean() + models[1].scores.mean() == pytest.approx(1.0), "one says same, the other different"
    assert pair.pooled is not None
    status, out, err = run("wordings", tmp_path / "data", "-o", tmp_path / "out")
    assert (status, err) == (0, "")
    assert "chat:a@here - chat:b@here" in out
    assert "3 wordings x 2 repeats x 6 trials" in out
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "differences.csv",
        "models.csv",
        "wordings-cd.svg",
    ]
    status, out, err = run("compare", tmp_path / "data", "-o", tmp_path / "report")
    assert status == 0, err
    assert "Whatever the wording" in (tmp_path / "report" / "report.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("wordings", "message"),
    [
        ("{one: {temperature: 0.5}}", "a wording has sentences"),
        ("{one: {preamble: x}, two: {preamble: x}}", "the same wording as 'one'"),
    ],
)
def test_a_wording_holds_sentences_and_differs_from_others(
    run: Run, tap: Tap, tmp_path: Path, wordings: str, message: str
) -> None:
    text = re.sub(r"wordings:\n(  .*\n)+", f"wordings: {wordings}\n", FILE)
    (tmp_path / "models.yaml").write_text(text, "utf-8")
    status, _, err = run("replay", "--set-file", tmp_path / "models.yaml", "--data", tmp_path / "data")
    assert status == 2 or status == 1
    assert message in err
    assert tap.requests == []


def test_data_without_wordings_are_refused_in_a_sentence(run: Run) -> None:
    status, _, err = run(
        "wordings", Path(__file__).resolve().parents[3] / "tests" / "golden" / "record" / "vsr-chat-scripted-s31"
    )
    assert status != 0
    assert "no session here was taken in one of several wordings" in err
