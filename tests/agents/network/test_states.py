"""Hidden states that are kept beside a large run: those of the network gone through step by step,
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
from spanlab.core.errors import SpanLabError  # noqa: E402
from spanlab.paradigms import is_model_step, load_paradigm, plan_session  # noqa: E402
from spanlab.paradigms.language.schema import SessionDesign  # noqa: E402
from spanlab.sessions import Request, Runner, Session, begin, read_responses  # noqa: E402
from spanlab.sessions.large_run import parts_for  # noqa: E402
from spanlab.stimuli.render.fast.batch import network_frames  # noqa: E402

pytestmark = pytest.mark.slow


def taken(data: Path, agent: NetworkAgent, name: str, trials: int, part: int, states: bool = True) -> Session:
    paradigm = load_paradigm(name)
    plan = plan_session(paradigm, 1, SessionDesign(), trials=trials)
    session = begin(
        data,
        paradigm,
        agent,
        plan,
        Request(seed=1, extra=parts_for(agent, paradigm, plan, "corrected", "--workers", states, part)),
    )
    Runner(session, agent).run()
    return session


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    with one_thread():
        yield


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> NetworkAgent:
    return NetworkAgent(worm_networks.write(tmp_path_factory.mktemp("worm") / "gru.pt", "GRU", 96))


@pytest.mark.parametrize("name", ["vsr", "cd"])
def test_they_are_those_of_every_step(name: str, agent: NetworkAgent, tmp_path: Path) -> None:
    session = taken(tmp_path, agent, name, 7, part=3)
    chunks = list(read_states(session.folder))
    assert len(chunks) == 3
    assert [sorted(set(chunk.trial.tolist())) for chunk in chunks] == [[1, 2, 3], [4, 5, 6], [7]]
    for planned in session.plan:
        trial = planned.compile(session.paradigm, "corrected")
        view = session.paradigm.network_view(trial.levels)
        assert view is not None
        steps = [step for step in trial.steps if step.percept.model_step and is_model_step(step.percept)]
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
    session = taken(tmp_path, agent, "vsr", 7, part=3)
    table = read_responses(session.folder)
    asked = {
        (int(trial), int(step))
        for chunk in read_states(session.folder)
        for trial, step in zip(chunk.trial[chunk.asked], chunk.step[chunk.asked], strict=True)
    }
    assert asked == set(zip(table["trial"].astype(int), table["step"].astype(int), strict=True))


def test_they_change_no_answer(agent: NetworkAgent, tmp_path: Path) -> None:
    with_states, without = (
        taken(tmp_path / "with", agent, "vsr", 7, part=3),
        taken(tmp_path / "without", agent, "vsr", 7, part=3, states=False),
    )
    assert read_responses(with_states.folder)["answer"].tolist() == read_responses(without.folder)["answer"].tolist()
    with pytest.raises(SpanLabError, match="holds no hidden states; they are kept by: spanlab replay"):
        list(read_states(without.folder))


def test_what_is_unfinished_or_damaged(agent: NetworkAgent, tmp_path: Path) -> None:
    folder = taken(tmp_path, agent, "vsr", 7, part=3).folder
    (folder / "parts" / "00001.parquet").unlink()  # killed between the two files of a part
    assert [chunk.trial[0] for chunk in read_states(folder)] == [1, 7]
    file = folder / "states" / "00002.parquet"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(SpanLabError, match=r"00002\.parquet is damaged .* made again by: spanlab resume"):
        list(read_states(folder))
