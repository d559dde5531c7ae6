"""Networks that read words: training, checkpoints that stand alone, replay, and everything that can
be wrong with their vectors."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from vector_sets import FORMS, some_vectors

torch = pytest.importorskip("torch")

from spanlab.agents.network import NetworkAgent, TrainingConfig  # noqa: E402
from spanlab.agents.network.checkpoints_io.checkpoint import load  # noqa: E402
from spanlab.agents.network.training.run import train  # noqa: E402
from spanlab.core.errors import SpanLabError  # noqa: E402
from spanlab.paradigms import random_vectors, read_vectors  # noqa: E402
from spanlab.paradigms.samplers.lists import nouns  # noqa: E402

TINY: dict[str, Any] = {
    "name": "tiny",
    "steps": 6,
    "seed": 3,
    "threads": 1,
    "model": {
        "hidden": 64,
        "components": 48,
        "summary": 32,
        "filters": 16,
        "code": 8,
        "embedding": 4,
        "delay_line": {"slots": 3, "width": 8},
    },
    "tasks": [{"paradigm": "lsr", "batch": 4, "train_trials": 12, "factors": {"list_length": [2, 5]}}],
    "rate": {"warmup": 3},
    "check": {"every": 3, "trials": 2, "test_trials": 4},
    "save_every": 3,
}


@pytest.fixture(autouse=True)
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Curves are drawn by one run only, that of a fixture: they take longer than such a run."""
    monkeypatch.setattr("spanlab.agents.network.training.run.draw", lambda log, figure: None)


def tiny(folder: Path, resume: bool = False, stop_after: int | None = None, **changes: Any) -> Any:
    return train(
        TrainingConfig.model_validate({**TINY, **changes}),
        out=folder,
        resume=resume,
        progress=False,
        stop_after=stop_after,
    )


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Vectors of all nouns, and of other words."""
    (path := tmp_path_factory.mktemp("vectors") / "glove.txt").write_bytes(
        FORMS["glove"]({word: 5 * vector for word, vector in some_vectors(["the", *reversed(nouns()), "of"]).items()})
    )
    return path


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, file: Path) -> Path:
    """A network that was trained a little on vectors from the file, and the file gone."""
    folder = tmp_path_factory.mktemp("trained")
    (copy := folder / "copy.txt").write_bytes(file.read_bytes())
    tiny(folder, vectors=str(copy))
    copy.unlink()
    return folder / "tiny.pt"


@pytest.mark.slow
def test_a_checkpoint_stands_alone_and_keeps_the_vectors_as_they_were(trained: Path, file: Path) -> None:
    checkpoint = load(trained)
    assert checkpoint.vectors is not None
    assert np.array_equal(checkpoint.vectors.of(nouns()), read_vectors(file, nouns()).of(nouns())), (
        "all nouns, not only those of its few trials"
    )
    assert (checkpoint.network.reading, checkpoint.vectors.sha256) == (
        {"lsr"},
        hashlib.sha256(file.read_bytes()).hexdigest(),
    )
    assert "eye.filters.weight" not in checkpoint.network.state_dict()
    card = trained.with_suffix(".md").read_text(encoding="utf-8")
    assert "reads one vector per step in lsr" in card
    assert f"The vectors: copy.txt (SHA-256 `{checkpoint.vectors.sha256}`)" in card
    assert "32 x 32" not in card


@pytest.mark.slow
def test_the_record_says_which_vectors(trained: Path, tmp_path: Path, run: Any) -> None:
    status, printed, complained = run("replay", "lsr", "--agent", f"network:{trained}", "--trials", "8")
    assert (status, complained.count("\n")) == (0, 1), "the result, and nothing else"
    info = json.loads((tmp_path / printed.strip() / "session.json").read_text(encoding="utf-8"))
    vectors = info["agent_settings"]["vectors"]
    assert vectors["name"] == "copy.txt"
    assert len(vectors["sha256"]) == 64


@pytest.mark.slow
def test_random_vectors_are_made_again_from_their_seed(tmp_path: Path) -> None:
    for seed in (0, 5):
        tiny(tmp_path / str(seed), vectors=seed)
        agent = NetworkAgent(tmp_path / str(seed) / "tiny.pt")
        assert agent.settings()["vectors"] == {"name": f"random unit vectors, seed {seed}", "sha256": None}
        assert np.array_equal(agent.checkpoint.vectors.of(["lion"]), random_vectors(seed).of(["lion"]))  # type: ignore[union-attr]


def test_a_run_is_not_resumed_with_other_vectors(file: Path, tmp_path: Path) -> None:
    (copy := tmp_path / "copy.txt").write_bytes(file.read_bytes())
    with pytest.raises(SpanLabError, match="interrupted"):
        tiny(tmp_path / "run", stop_after=2, vectors=str(copy))
    copy.write_bytes(FORMS["glove"](some_vectors(nouns())))
    with pytest.raises(SpanLabError, match=r"copy\.txt is another file than when this run began"):
        tiny(tmp_path / "run", resume=True, vectors=str(copy))


@pytest.mark.slow
def test_frames_and_words_can_be_learned_together(tmp_path: Path) -> None:
    tasks = [*TINY["tasks"], {"paradigm": "vsr", "batch": 4, "train_trials": 12, "factors": {"list_length": [2, 3]}}]
    result = tiny(tmp_path, tasks=tasks)
    assert {row.paradigm for row in result.rows} == {"lsr", "vsr"}
    assert NetworkAgent(result.checkpoint).network.reading == {"lsr"}
    card = result.checkpoint.with_suffix(".md").read_text(encoding="utf-8")
    assert "32 x 32" in card
    assert "reads one vector per step in lsr" in card


def test_problems_of_vectors_are_sentences(file: Path, tmp_path: Path) -> None:
    (few := tmp_path / "few.txt").write_bytes(FORMS["glove"](some_vectors(nouns()[:150])))
    (wrong := tmp_path / "wrong.yaml").write_text(
        "extends: lsr\nparadigm: wrong\nnetwork: {input: frames}\n", encoding="utf-8"
    )
    vsr = [{"paradigm": "vsr", "train_trials": 4}]
    cases: list[tuple[dict[str, Any], str]] = [
        ({"vectors": str(tmp_path / "none.txt")}, "there is no file of word vectors at"),
        ({"vectors": str(few)}, "has no vectors for 50 of the 200 words that are needed: "),
        ({"vectors": str(file), "tasks": vsr}, "none of its paradigms has words for networks; leave out 'vectors'"),
        ({"vectors": 7, "tasks": vsr}, "none of its paradigms has words for networks; leave out 'vectors'"),
        (
            {"tasks": [*TINY["tasks"], {"paradigm": str(wrong)}]},
            "wrong has frames and .* for the task 'lsr', another paradigm vectors",
        ),
    ]
    for number, (changes, said) in enumerate(cases):
        with pytest.raises(SpanLabError, match=said):
            tiny(tmp_path / str(number), **changes)


def test_a_network_of_words_takes_no_frames_and_no_strange_words(trained: Path, tmp_path: Path, run: Any) -> None:
    (tmp_path / "frames.yaml").write_text(
        "extends: lsr\nparadigm: frames\nnetwork: {input: frames}\n", encoding="utf-8"
    )
    (tmp_path / "strange.yaml").write_text(
        "extends: lsr\nparadigm: strange\nfactors: {list_length: [2]}\npractice: null\ndesigns: null\n"
        'draw: {words: {permutation: {of: [Haus, Baum]}}, classes: "=[0, 1]"}\n',
        encoding="utf-8",
    )
    for name, said in (
        ("frames", "has vectors (1 a step) and 200 outputs of the head 'lsr' for the task 'lsr', and frames frames"),
        ("strange", "no vectors for these words: "),
    ):
        status, _, complained = run("replay", f"{name}.yaml", "--agent", f"network:{trained}", "--trials", "2")
        assert status != 0
        assert said in complained
        assert "Traceback" not in complained


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.pop("vector_table"),
        lambda data: data.update(vector_table=data["vector_table"][:, :50]),
        lambda data: data.update(vector_table=data["vector_table"] * float("inf")),
        lambda data: data.update(vector_table=7),
        lambda data: data["vectors"].update(words=["lion"]),
        lambda data: data["vectors"].update(tasks=[]),
        lambda data: data.pop("vectors"),
    ],
)
def test_damaged_vectors_are_refused(trained: Path, tmp_path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    data = torch.load(trained, weights_only=True)
    change(data)
    torch.save(data, tmp_path / "damaged.pt")
    with pytest.raises(SpanLabError, match="is a damaged checkpoint"):
        NetworkAgent(tmp_path / "damaged.pt")
