"""Large runs: their table is that of an ordinary run, whoever computes the parts, and whatever
stops them; a large plan takes little room."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
import pytest
from command_line import Run, command_line, complaint
from hypothesis import given
from hypothesis import strategies as st
from paradigm_texts import text
from session_tools import GO_NOGO, lasting

from spanlab.agents.base import BatchAgent, Response, TrialContext
from spanlab.agents.oracles import Chance
from spanlab.analysis.data.sessions import gather
from spanlab.core.agent_kinds import NETWORK, AgentKind
from spanlab.core.errors import SpanLabError
from spanlab.core.worker_pool import open_pool
from spanlab.paradigms import Paradigm, Percept, list_paradigms, load_paradigm, plan_session
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.paradigms.paradigm import Generator
from spanlab.sessions import (
    Request,
    Runner,
    Session,
    begin,
    complete,
    read_responses,
    read_session,
    reopen,
    same_trials,
)
from spanlab.sessions.large_run import LARGE, parts_for
from spanlab.sessions.record.reader import read_chunks, read_table
from spanlab.sessions.record.session_files import part_path
from spanlab.sessions.session import compacted, expanded

pytestmark = pytest.mark.slow


class Batched(Chance, BatchAgent):
    """Guesses many trials at once; stops after so many batches."""

    kind: ClassVar[AgentKind] = NETWORK
    name = "batched"

    def __init__(self, stop_after: int = 10**9) -> None:
        self.batches, self.stop_after = 0, stop_after

    def answer(
        self, contexts: Sequence[TrialContext], trials: Sequence[Sequence[Percept]], keep: Any = None
    ) -> list[list[Response | None]]:
        if self.batches == self.stop_after:
            raise SpanLabError("the network has gone out")
        self.batches += 1
        return [self._one(context, trial) for context, trial in zip(contexts, trials, strict=True)]

    def _one(self, context: TrialContext, trial: Sequence[Percept]) -> list[Response | None]:
        episode, answers = self.start(context), []
        for percept in trial:
            try:
                episode.step(percept).send(None)
            except StopIteration as end:
                answers.append(end.value)
        return answers


def with_feedback(paradigm: Paradigm) -> bool:
    plan = plan_session(paradigm, 1, SessionDesign(), trials=1)
    return any(step.feedback is not None for step in plan[0].compile(paradigm, "corrected").steps)


PARADIGMS = [name for name in list_paradigms() if not with_feedback(load_paradigm(name))]


def large(
    data: Path,
    paradigm: Paradigm,
    agent: Any,
    trials: int,
    part: int,
    states: bool = False,
    generator: Generator = "corrected",
) -> Session:
    plan = plan_session(paradigm, 1, SessionDesign(), trials=trials)
    return begin(
        data,
        paradigm,
        agent,
        plan,
        Request(
            seed=1, generator=generator, extra=parts_for(agent, paradigm, plan, generator, "--workers", states, part)
        ),
    )


def ordinary(data: Path, paradigm: Paradigm, agent: Any, trials: int, generator: Generator = "corrected") -> Path:
    session = begin(
        data,
        paradigm,
        agent,
        plan_session(paradigm, 1, SessionDesign(), trials=trials),
        Request(seed=1, generator=generator),
    )
    Runner(session, agent).run()
    return session.folder


def the_same(one: Path, other: Path) -> None:
    pd.testing.assert_frame_equal(lasting(one), lasting(other))
    assert list(read_responses(one).columns) == list(read_responses(other).columns)
    tables: list[Any] = [read_table(one), read_table(other)]
    assert tables[0].schema == tables[1].schema


@pytest.mark.parametrize("name", PARADIGMS)
def test_the_table_is_that_of_an_ordinary_run(name: str, tmp_path: Path) -> None:
    paradigm = load_paradigm(name)
    trials = 3 if name.startswith("nback") else 11
    folder = ordinary(tmp_path / "ordinary", paradigm, Batched(), trials)
    session = large(tmp_path / "large", paradigm, Batched(), trials, part=4)
    Runner(session, Batched()).run()
    the_same(folder, session.folder)
    assert complete(session.folder)
    assert not (session.folder / "responses.parquet").exists()
    assert reopen(session.folder).plan == reopen(folder).plan == session.plan
    assert same_trials(session.folder).plan == session.plan


def test_it_says_what_it_is(tmp_path: Path) -> None:
    session = large(tmp_path, load_paradigm("vsr"), Batched(), 11, part=4)
    Runner(session, Batched()).run()
    info = read_session(session.folder)
    assert info["format_version"] == 3
    assert info["parts"] == {"trials": 4, "states": False}
    assert info["plan"]["trials"] == 11
    assert [part_path(session.folder, number).exists() for number in range(4)] == [True, True, True, False]


def test_it_is_read_part_by_part_and_column_by_column(tmp_path: Path) -> None:
    session = large(tmp_path, load_paradigm("sfr"), Batched(), 11, part=4)
    Runner(session, Batched()).run()
    whole = read_responses(session.folder)
    pieces = list(read_chunks(session.folder, ["trial", "correct", "no such column"]))
    assert [piece.column_names for piece in pieces] == [["trial", "correct"]] * 3
    together = pd.concat([piece.to_pandas() for piece in pieces], ignore_index=True)
    pd.testing.assert_frame_equal(together, whole[["trial", "correct"]])
    pd.testing.assert_frame_equal(read_responses(tmp_path, ["trial", "correct"]), together)
    facts = gather([tmp_path]).sessions[0]
    assert (facts.trials, facts.planned, facts.finished) == (11, 11, True)


def test_what_stops_it_loses_no_part(tmp_path: Path) -> None:
    paradigm = load_paradigm("vsr")
    folder = ordinary(tmp_path / "ordinary", paradigm, Batched(), 11)
    session = large(tmp_path / "large", paradigm, Batched(), 11, part=2)
    with pytest.raises(SpanLabError, match="the network has gone out"):
        Runner(session, Batched(stop_after=3)).run()
    assert not complete(session.folder)
    assert read_responses(session.folder)["trial"].nunique() == 6
    facts = gather([session.folder]).sessions[0]
    assert (facts.trials, facts.planned, facts.finished) == (6, 11, False)
    before = part_path(session.folder, 0).stat().st_mtime_ns
    part_path(session.folder, 1).unlink()  # as if it had never been
    agent, told = Batched(), []
    Runner(reopen(session.folder), agent, progress=lambda done, total: told.append((done, total))).run()
    assert agent.batches == 4
    assert told == [(6, 11), (8, 11), (10, 11), (11, 11)]
    assert part_path(session.folder, 0).stat().st_mtime_ns == before
    the_same(folder, session.folder)


def test_a_part_that_is_damaged_or_of_another_session_is_named(tmp_path: Path) -> None:
    session = large(tmp_path, load_paradigm("vsr"), Batched(), 4, part=2)
    Runner(session, Batched()).run()
    other = large(tmp_path, load_paradigm("vsr"), Batched(), 4, part=2)
    Runner(other, Batched()).run()
    whole = part_path(session.folder, 1).read_bytes()
    part_path(session.folder, 1).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(
        SpanLabError, match=r"00001\.parquet is damaged .* delete it, and make it again with: spanlab resume"
    ):
        read_responses(session.folder)
    part_path(session.folder, 1).write_bytes(part_path(other.folder, 1).read_bytes())
    with pytest.raises(SpanLabError, match=r"00001\.parquet belongs to another session"):
        read_responses(session.folder)


def test_when_a_run_is_a_large_one() -> None:
    paradigm = load_paradigm("vsr")
    few, many = (
        plan_session(paradigm, 1, SessionDesign(), trials=8),
        plan_session(paradigm, 1, SessionDesign(), trials=LARGE),
    )
    assert parts_for(Batched(), paradigm, few, "corrected") == {}
    assert parts_for(Batched(), paradigm, few, "corrected", "--workers") == {"parts": {"trials": 1000, "states": False}}
    assert parts_for(Batched(), paradigm, many, "corrected") == {"parts": {"trials": 1000, "states": False}}
    assert parts_for(Chance(), paradigm, many, "corrected") == {}
    with pytest.raises(
        SpanLabError,
        match=(
            r"--workers is for large runs of networks, and this run is not one: chance takes trials one by one\. Leave"
            r" it out"
        ),
    ):
        parts_for(Chance(), paradigm, few, "corrected", "--workers")
    with pytest.raises(SpanLabError, match=r"--states .* batched has no hidden states"):
        parts_for(Batched(), paradigm, few, "corrected", states=True)


def test_feedback_makes_no_large_run(tmp_path: Path) -> None:
    (tmp_path / "gonogo.yaml").write_text(GO_NOGO, encoding="utf-8")
    paradigm = load_paradigm(str(tmp_path / "gonogo.yaml"))
    with pytest.raises(SpanLabError, match="gonogo gives feedback"):
        parts_for(Batched(), paradigm, plan_session(paradigm, 1, SessionDesign(), trials=4), "corrected", "--workers")


def test_somebody_else_is_not_let_in(tmp_path: Path) -> None:
    session = large(tmp_path, load_paradigm("vsr"), Batched(), 4, part=2)
    with pytest.raises(SpanLabError, match="was begun by batched with other settings"):
        Runner(session, Chance())


@given(
    blocks=st.lists(st.integers(1, 5), min_size=1, max_size=6),
    seed=st.integers(0, 2**20 - 1),
    moved=st.booleans(),
    interval=st.floats(0, 5000),
)
def test_a_compact_plan_is_the_plan(blocks: list[int], seed: int, moved: bool, interval: float) -> None:
    levels = [{"n": n, "hand": hand} for n in (1, 2.5) for hand in ("left", "right")]
    plan = plan_session(load_paradigm("vsr"), seed, SessionDesign(), trials=sum(blocks))
    of_block = [number for number, many in enumerate(blocks, start=1) for _ in range(many)]
    plan = [
        replace(one, block=block, levels=levels[one.trial % 4], seed=one.seed + moved * one.trial)
        for one, block in zip(plan, of_block, strict=True)
    ]
    plan[-1] = replace(plan[-1], interval_ms=interval)
    noted = compacted(plan, seed)
    assert noted is not None
    assert expanded(json.loads(json.dumps(noted)), seed) == tuple(plan)


def test_a_plan_that_no_compact_one_can_tell_of_is_kept_whole(tmp_path: Path) -> None:
    paradigm = load_paradigm("vsr")
    plan = [replace(one, name=f"train_{one.trial}") for one in plan_session(paradigm, 1, SessionDesign(), trials=8)]
    assert compacted(plan, 1) is None
    session = begin(
        tmp_path,
        paradigm,
        Batched(),
        plan,
        Request(extra=parts_for(Batched(), paradigm, plan, "corrected", "--workers", part=3)),
    )
    Runner(session, Batched()).run()
    assert reopen(session.folder).plan == tuple(plan)
    assert read_responses(session.folder)["trial"].nunique() == 8


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("which", "?", "the plan in session.json is damaged"),
        ("trials", 9, "trials are missing"),
        ("levels", 3, "'levels' has the wrong form"),
    ],
)
def test_a_damaged_plan_is_named(key: str, value: object, message: str, tmp_path: Path) -> None:
    folder = large(tmp_path, load_paradigm("vsr"), Batched(), 8, part=3).folder
    info = read_session(folder)
    (folder / "session.json").write_text(json.dumps({**info, "plan": {**info["plan"], key: value}}), encoding="utf-8")
    with pytest.raises(SpanLabError, match=message):
        reopen(folder)


def test_a_million_trials_take_little_room(tmp_path: Path) -> None:
    plan = plan_session(load_paradigm("vsr"), 1, SessionDesign(), trials=100_000)
    noted = compacted(plan, 1)
    assert len(json.dumps(noted)) < 100_000


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return command_line(tmp_path, monkeypatch, capsys)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--agent", "chance", "--workers", "2"], "--workers is for large runs of networks"),
        (["--agent", "ideal", "--states"], "--states is for large runs of networks"),
        (["--agent", "chance", "--scheduler", "slurm"], "--scheduler is for large runs"),
    ],
)
def test_who_cannot_make_a_large_run_is_told_so(arguments: list[str], message: str, run: Run, tmp_path: Path) -> None:
    assert message in complaint(*run("replay", "vsr", *arguments, "--trials", "4"))
    assert not list(tmp_path.glob("data/*"))


def test_an_ordinary_session_is_not_shared_out(run: Run, tmp_path: Path) -> None:
    folder = ordinary(tmp_path, load_paradigm("vsr"), Batched(), 4)
    (folder / "events.jsonl").unlink()
    (folder / "responses.parquet").unlink()
    info = read_session(folder)
    (folder / "session.json").write_text(
        json.dumps({**info, "agent": "chance", "agent_kind": "chance"}), encoding="utf-8"
    )
    assert "it is not a large session, so it cannot be distributed" in complaint(
        *run("resume", folder, "--workers", "2")
    ).replace(f"{folder} is", "it is")


@pytest.mark.slow
def test_one_worker_two_or_none_and_one_that_dies_give_the_same_table(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    pytest.importorskip("torch")
    from spanlab.agents.network import NetworkAgent
    from spanlab.agents.network.hidden_states import read_states

    paradigm, agent = load_paradigm("vsr"), NetworkAgent("laptop")
    alone = large(tmp_path / "alone", paradigm, agent, 120, part=10, states=True)
    Runner(alone, agent).run()
    hidden = [chunk.hidden for chunk in read_states(alone.folder)]
    for workers in (1, 2):
        session = large(tmp_path / str(workers), paradigm, agent, 120, part=10, states=True)
        with open_pool(workers) as found:
            client = found._client  # type: ignore[attr-defined]
            pids = client.run(os.getpid)
            killer = threading.Thread(
                target=_kill_after, args=(part_path(session.folder, 1), next(iter(pids.values())))
            )
            killer.start()
            Runner(session, agent, pool=found).run()
            killer.join()
            assert set(client.run(os.getpid).values()) != set(pids.values())
        the_same(alone.folder, session.folder)
        for one, other in zip(hidden, read_states(session.folder), strict=True):
            assert abs(one - other.hidden).max() < 1e-5


def _kill_after(path: Path, pid: int) -> None:
    while not path.exists():
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
def test_a_kill_loses_no_part_and_resume_makes_up_the_rest(tmp_path: Path, run: Run) -> None:
    pytest.importorskip("torch")
    code = (
        "from pathlib import Path; import spanlab.sessions.large_run as parts; parts.PART = 5;"
        " parts.parts_for.__defaults__ = ('', False, 5)\nimport sys; from spanlab.cli import main; sys.argv ="
        " ['spanlab', 'replay', 'vsr', '--agent', 'network:laptop', '--trials', '60', '--states']; main()"
    )
    process = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path)
    folder = tmp_path / "data" / "vsr-network-laptop-s1"
    while not part_path(folder, 2).exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait()
    there = len(list((folder / "parts").glob("[0-9]*.parquet")))
    assert 3 <= there < 12
    assert run("resume", folder)[0] == 0
    assert run("replay", "vsr", "--agent", "network:laptop", "--trials", "60", "--data", "whole")[0] == 0
    the_same(folder, tmp_path / "whole" / "vsr-network-laptop-s1")
    assert "nothing to do" in run("resume", folder)[1]


def test_the_texts_of_tests_are_paradigms(tmp_path: Path) -> None:
    """A paradigm of one's own is taken in parts like one of the library."""
    (tmp_path / "own.yaml").write_text(text(factors="n: [1, 2]"), encoding="utf-8")
    paradigm = load_paradigm(str(tmp_path / "own.yaml"))
    folder = ordinary(tmp_path / "ordinary", paradigm, Batched(), 5)
    session = large(tmp_path / "large", paradigm, Batched(), 5, part=2)
    Runner(session, Batched()).run()
    the_same(folder, session.folder)
