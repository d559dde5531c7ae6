"""Hidden states that are kept beside a session: those of the network gone through step by step,
one row for each step that it saw."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import worm_networks  # noqa: E402

from spanlab.agents.network import NetworkAgent  # noqa: E402
from spanlab.agents.network.agent import one_thread  # noqa: E402
from spanlab.agents.network.hidden_states import read_states  # noqa: E402
from spanlab.agents.oracles import Chance  # noqa: E402
from spanlab.core.errors import SpanLabError  # noqa: E402
from spanlab.paradigms import load_paradigm, plan_session  # noqa: E402
from spanlab.paradigms.language.schema import SessionDesign  # noqa: E402
from spanlab.sessions import Request, Runner, Session, begin, read_responses, reopen  # noqa: E402
from spanlab.sessions.strategies.batches import check_states  # noqa: E402
from spanlab.stimuli.render.fast.batch import network_frames  # noqa: E402


def taken(data: Path, agent: NetworkAgent, name: str, trials: int, states: bool = True) -> Session:
    paradigm = load_paradigm(name)
    plan = plan_session(paradigm, 1, SessionDesign(), trials=trials)
    session = begin(
        data,
        paradigm,
        agent,
        plan,
        Request(seed=1, extra={"states": True} if states else {}),
    )
    Runner(session, agent).run()
    return session


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    with one_thread():
        yield


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> NetworkAgent:
    network = NetworkAgent(worm_networks.write(tmp_path_factory.mktemp("worm") / "gru.pt", "GRU", 96))
    network.batch_size = 3
    return network


@pytest.mark.parametrize("name", ["vsr", "cd"])
def test_they_are_those_of_every_step(name: str, agent: NetworkAgent, tmp_path: Path) -> None:
    session = taken(tmp_path, agent, name, 7)
    chunks = list(read_states(session.folder))
    assert len(chunks) == 3
    assert [sorted(set(chunk.trial.tolist())) for chunk in chunks] == [[1, 2, 3], [4, 5, 6], [7]]
    for planned in session.plan:
        trial = planned.compile(session.paradigm, "corrected")
        view = session.paradigm.network_view(trial.levels)
        assert view is not None
        steps = [step for step in trial.steps if step.percept.model_step]
        with torch.inference_mode():
            seen = agent.network.see(
                torch.from_numpy(network_frames([step.percept.for_machine.stimulus for step in steps]))
            )
            expected = agent.network(seen.at(torch.arange(len(steps))[None]), view.task).hidden[0].numpy()
        (chunk,) = [chunk for chunk in chunks if planned.trial in chunk.trial]
        own = chunk.trial == planned.trial
        assert chunk.step[own].tolist() == [step.index + 1 for step in steps]
        assert chunk.phase[own].tolist() == [step.percept.phase for step in steps]
        assert chunk.asked[own].tolist() == [step.percept.ask is not None for step in steps]
        assert chunk.hidden.dtype == np.float32
        np.testing.assert_allclose(chunk.hidden[own], expected, atol=1e-5)


def test_questions_are_those_of_the_table(agent: NetworkAgent, tmp_path: Path) -> None:
    session = taken(tmp_path, agent, "vsr", 7)
    table = read_responses(session.folder)
    asked = {
        (int(trial), int(step))
        for chunk in read_states(session.folder)
        for trial, step in zip(chunk.trial[chunk.asked], chunk.step[chunk.asked], strict=True)
    }
    assert asked == set(zip(table["trial"].astype(int), table["step"].astype(int), strict=True))


def test_they_change_no_answer(agent: NetworkAgent, tmp_path: Path) -> None:
    with_states, without = (
        taken(tmp_path / "with", agent, "vsr", 7),
        taken(tmp_path / "without", agent, "vsr", 7, states=False),
    )
    assert read_responses(with_states.folder)["answer"].tolist() == read_responses(without.folder)["answer"].tolist()
    with pytest.raises(SpanLabError, match="holds no hidden states; they are kept by: spanlab replay"):
        list(read_states(without.folder))


def test_a_session_that_was_killed_within_a_batch_has_the_states_of_every_trial_once(
    agent: NetworkAgent, tmp_path: Path
) -> None:
    session = taken(tmp_path, agent, "vsr", 7)
    events = session.folder / "events.jsonl"
    lines = events.read_text(encoding="utf-8").splitlines(keepends=True)
    ends = [number for number, line in enumerate(lines, start=1) if '"trial_end"' in line]
    events.write_text("".join(lines[: ends[4]]), encoding="utf-8")  # five of seven trials are finished
    for table in session.folder.glob("responses.*"):
        table.unlink()
    (session.folder / "states" / "00000007.parquet").unlink()
    whole = np.concatenate([chunk.hidden for chunk in read_states(taken(tmp_path / "whole", agent, "vsr", 7).folder)])
    Runner(reopen(session.folder), agent).run()
    chunks = list(read_states(session.folder))
    assert [sorted(set(chunk.trial.tolist())) for chunk in chunks] == [[1, 2, 3], [4, 5], [6, 7]]
    np.testing.assert_allclose(np.concatenate([chunk.hidden for chunk in chunks]), whole, atol=1e-5)


def test_a_damaged_file_is_named(agent: NetworkAgent, tmp_path: Path) -> None:
    folder = taken(tmp_path, agent, "vsr", 7).folder
    file = folder / "states" / "00000004.parquet"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(SpanLabError, match=r"00000004\.parquet is damaged"):
        list(read_states(folder))


@pytest.mark.parametrize(
    ("name", "design", "why"),
    [
        ("nback_verbal_feedback", None, "gives feedback, so each trial has to be run step by step"),
        ("vsr", "span", "the design is adaptive"),
    ],
)
def test_who_cannot_keep_states_is_told_so(name: str, design: str | None, why: str, agent: NetworkAgent) -> None:
    paradigm = load_paradigm(name)
    plan = plan_session(paradigm, 1, design, trials=3)
    with pytest.raises(SpanLabError, match=f"the hidden states cannot be kept: .*{why}"):
        check_states(agent, paradigm, plan, "corrected")
    with pytest.raises(SpanLabError, match=r"chance has no hidden states\. Leave out states"):
        check_states(Chance(), paradigm, plan, "corrected")
