"""Sessions, one for each agent and seed, shared out among workers: the same as one after the other."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

from command_line import Run, output_of
from typing_extensions import override

from spanlab.core.worker_pool import SerialPool, Work
from spanlab.sessions import find_sessions, make_machine, prepare, read_responses
from spanlab.sessions.plan import choose_trials
from spanlab.sessions.run import Prepared, Watcher, replay_sessions, spread_sessions


def prepared() -> list[Prepared]:
    sessions = []
    for seed in (1, 2):
        chosen = choose_trials("vsr", seed=seed, levels={"list_length": [3]}, trials=4)
        for name in ("capacity:2", "chance"):
            agent = make_machine(name, seed, trials=chosen)
            sessions.append((chosen, agent, prepare(agent, chosen, chosen.request(), lambda said: None)))
    return sessions


class LastFirst(SerialPool):
    """A pool whose last job ends first."""

    @override
    def each(
        self, work: Work, shared: Callable[[], Any], jobs: Sequence[Any]
    ) -> Generator[tuple[int, Any], None, None]:
        yield from reversed([*super().each(work, shared, jobs)])


def test_they_are_those_of_one_process(tmp_path: Path) -> None:
    alone = [session for session, _ in replay_sessions(tmp_path / "alone", prepared(), Watcher(lambda said: None))]
    spread = [session for session, _ in spread_sessions(tmp_path / "spread", prepared(), LastFirst())]
    assert [one.name for one in alone] == [one.name for one in spread]
    for one, other in zip(alone, spread, strict=True):
        columns = ["trial_id", "answer", "correct"]
        assert read_responses(one.folder)[columns].equals(read_responses(other.folder)[columns])
        assert one.paradigm.hash == other.paradigm.hash


def test_a_seed_may_be_repeated(run: Run, tmp_path: Path) -> None:
    output_of(*run("replay", "vsr", "--agent", "chance", "--trials", "2", "--seed", "4", "--seed", "9"))
    assert [folder.name for folder in find_sessions([tmp_path / "data"])] == ["vsr-chance-s4", "vsr-chance-s9"]
