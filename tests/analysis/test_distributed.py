"""Tables of any length: piece by piece, by whom and in whatever order, everything comes out as from
all rows at once."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest
from analysis_tables import responses
from command_line import Run, command_line, complaint
from observed import change_detection, recall, switching, table, together

from spanlab.agents.base import BatchAgent, Response, TrialContext
from spanlab.agents.oracles import Chance
from spanlab.analysis.data.loading import Data, load
from spanlab.analysis.data.pieces import jobs_of, pieces_of_file
from spanlab.analysis.effects.out_of_core import load_scattered
from spanlab.analysis.effects.registry import EFFECTS, effect
from spanlab.analysis.effects.trends import trends
from spanlab.core.agent_kinds import NETWORK, AgentKind
from spanlab.core.errors import SpanLabError
from spanlab.core.worker_pool import open_pool
from spanlab.paradigms import Percept, load_paradigm, plan_session
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.sessions import Request, Runner, begin
from spanlab.sessions.record.session_files import part_path

NAMES = [one.name for one in EFFECTS]
#: One of each kind: with intrusions, with rows of whole trials, averages, and what is no average.
SOME = ("serial_position", "primacy_recency", "free_recall", "task_switching", "capacity")
#: Resamples: few are enough to be the same.
FEW = 20
COSTS = {"one task": 0.95, "repetition": 0.9, "switch": 0.7}
TIMES = {"one task": 400.0, "repetition": 450.0, "switch": 600.0}


def falling(length: int, place: int) -> float:
    return 0.95 - 0.08 * place


def recalls() -> pd.DataFrame:
    random = np.random.RandomState(4)
    lists = [[int(cell) for cell in random.permutation(100)[: 2 + number % 3]] for number in range(24)]
    return together(
        *(recall(shown, [*shown[: 1 + number % 3], 99][: len(shown)], number + 1) for number, shown in enumerate(lists))
    )


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    """A machine, several people, ten sessions of one network, two settings of another; paradigms of
    every kind; practice, duplicates, silence."""
    parts = [
        responses(falling, agent="network:one", repetitions=20, seed=1),
        *(
            responses(falling, agent="p", kind="participant", participant=f"P{n}", repetitions=6, seed=10 + n)
            for n in range(4)
        ),
        *(
            responses(falling, agent="network:ten", repetitions=3, seed=20 + n, session=f"ten-{n}", lengths=(3, 5))
            for n in range(10)
        ),
        *(
            responses(falling, agent="network:two", repetitions=5, seed=40 + n, session=f"two-{n}").assign(
                agent_settings_hash=str(n) * 8
            )
            for n in range(2)
        ),
        recalls(),
        table(change_detection(3.0), 150, paradigm="cd"),
        table(change_detection(2.0), 90, paradigm="cd", agent="p", kind="participant", participant="P1", seed=3),
        table(switching(COSTS, TIMES), 30, paradigm="sts"),
    ]
    whole = together(*parts)
    whole.loc[whole.index[:9], "practice"] = True
    whole.loc[whole.index[60:64], "outcome"] = "omitted"
    whole = pd.concat([whole, whole.iloc[200:203]], ignore_index=True)
    for name in ("correct", "practice", "pilot", "oracle"):
        whole[name] = whole[name].astype("boolean")
    return whole.infer_objects()


def write(frame: pd.DataFrame, file: Path, size: int = 37) -> Path:
    """A Parquet file whose row groups end anywhere, also within trials."""
    pyarrow.parquet.write_table(pyarrow.Table.from_pandas(frame, preserve_index=False), file, row_group_size=size)
    return file


def all_tables(data: Data, names: Sequence[str] = NAMES) -> dict[str, Any]:
    """Everything that figures of effects are made of."""
    found: dict[str, Any] = {"notes": data.notes, "titles": data.titles, "human": data.human}
    for one in map(effect, names):
        found[f"where {one.name} is missing"] = [one.missing(data.scored, paradigm) for paradigm in data.titles]
        for paradigm in one.applies(data.scored):
            points = found[f"{one.name} of {paradigm}"] = one.table(data.scored, paradigm)
            found[f"notes of {one.name} of {paradigm}"] = one.notes(data.scored, paradigm, points)
            found[f"trends of {one.name} of {paradigm}"] = trends(one, data.scored, paradigm)
    return found


def the_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert list(one) == list(other)
    for name, mine in one.items():
        theirs = other[name]
        if isinstance(mine, pd.DataFrame):
            pd.testing.assert_frame_equal(mine, theirs, rtol=1e-9, atol=1e-12, obj=name)
        else:
            assert mine == theirs, name


@pytest.fixture(scope="module")
def file(rows: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(rows, tmp_path_factory.mktemp("whole") / "rows.parquet")


@pytest.fixture(scope="module")
def at_once(file: Path) -> dict[str, Any]:
    """Tables of some effects, made of all rows at once."""
    return all_tables(load([file]), SOME)


@pytest.mark.slow
def test_the_rows_have_something_of_everything(at_once: dict[str, Any]) -> None:
    assert set(at_once["titles"]) == {"vsr", "sfr", "cd", "sts"}
    assert {
        f"{name} of {paradigm}" for name, paradigm in zip(SOME, ("vsr", "vsr", "sfr", "sts", "cd"), strict=True)
    } <= set(at_once)
    assert set(at_once["serial_position of vsr"]["unit"]) >= {"participant", "session", "trial"}
    assert any("practice" in note for note in at_once["notes"])
    assert any("duplicate" in note for note in at_once["notes"])


@pytest.mark.slow
@pytest.mark.parametrize("size", [50, 400, 10**6])
def test_a_file_in_pieces_of_any_size(size: int, file: Path) -> None:
    the_same(all_tables(load([file])), all_tables(load_scattered([file], NAMES, rows=size)))


def test_pieces_end_where_trials_do(rows: pd.DataFrame, tmp_path: Path) -> None:
    file = write(rows.iloc[:-3], tmp_path / "rows.parquet")
    cuts = [piece.cut for piece in pieces_of_file(file, 100)]
    assert len(cuts) > 5
    trial = rows[["session", "paradigm", "participant", "trial"]].astype(str).agg("|".join, axis=1)
    assert cuts[0] is not None
    assert cuts[0][0] == 0
    for one, other in pairwise(cuts):
        assert one is not None
        assert other is not None
        assert one[1] == other[0]
        assert trial[one[1] - 1] != trial[one[1]], "a trial is cut in two"
    assert [len(job) for job in jobs_of(list(pieces_of_file(file, 100)), 10**6)] == [len(cuts)]


@pytest.mark.slow
def test_several_files_are_one_table(rows: pd.DataFrame, at_once: dict[str, Any], tmp_path: Path) -> None:
    """People are counted in each paradigm over all files (four, and one), and settings are told
    apart over all of them."""
    files = [
        write(part, tmp_path / f"{number}.parquet")
        for number, (_, part) in enumerate(rows.groupby(["paradigm", "session"], sort=False))
    ]
    scattered = all_tables(load_scattered(files, SOME, rows=300), SOME)
    the_same(at_once, scattered)
    called = {"People (n = 1 to 4)", "network:two #000000", "network:two #111111"}
    assert called <= set(scattered["serial_position of vsr"]["agent"])
    assert called <= set(load(files).scored.items["agent"])


@pytest.mark.slow
def test_trials_in_several_pieces_are_put_together(rows: pd.DataFrame, tmp_path: Path) -> None:
    """In a shuffled table no piece has a whole trial."""
    halves = [
        write(rows.sample(frac=1, random_state=1).iloc[number::2], tmp_path / f"{number}.parquet")
        for number in range(2)
    ]
    the_same(all_tables(load(halves), SOME), all_tables(load_scattered(halves, SOME, rows=500), SOME))


@pytest.mark.slow
def test_what_some_files_lack_others_may_have(tmp_path: Path) -> None:
    old = responses(falling, agent="network:old", repetitions=8).drop(columns=["serial_position", "chance"])
    new = responses(falling, agent="network:new", repetitions=8, seed=2)
    files = [write(old, tmp_path / "old.parquet"), write(new, tmp_path / "new.parquet")]
    found = all_tables(load_scattered(files, SOME, rows=10), SOME)
    the_same(all_tables(load(files), SOME), found)
    assert "96 items without serial position left out." in found["notes of serial_position of vsr"]


@pytest.mark.slow
def test_a_csv_file_and_nothing_at_all(rows: pd.DataFrame, at_once: dict[str, Any], tmp_path: Path) -> None:
    rows.to_csv(tmp_path / "rows.csv", index=False)
    the_same(at_once, all_tables(load_scattered([tmp_path / "rows.csv"], SOME), SOME))
    empty = write(rows.iloc[:0], tmp_path / "empty.parquet")
    assert load_scattered([empty], NAMES).notes == load([empty]).notes == ("The table has no rows.",)
    with pytest.raises(SpanLabError, match=r"nowhere.parquet does not exist"):
        load_scattered([tmp_path / "nowhere.parquet"], NAMES)
    with pytest.raises(SpanLabError, match="has no column correct"):
        load_scattered([write(rows.drop(columns="correct"), tmp_path / "bare.parquet")], NAMES)


class Backwards:
    """Does the last job first."""

    def each(self, work: Any, shared: Any, jobs: Sequence[Any]) -> Generator[tuple[int, Any], None, None]:
        ready = shared()
        for number in reversed(range(len(jobs))):
            yield number, work(ready, jobs[number])

    def described(self) -> str:
        return "somebody else"


@pytest.mark.slow
def test_it_does_not_matter_who_is_first(file: Path, at_once: dict[str, Any]) -> None:
    the_same(at_once, all_tables(load_scattered([file], SOME, rows=100, pool=Backwards()), SOME))


def taken(data: Path, agent: Any, trials: int, extra: dict[str, Any] | None = None) -> Path:
    paradigm = load_paradigm("vsr")
    session = begin(
        data,
        paradigm,
        agent,
        plan_session(paradigm, 1, SessionDesign(), trials=trials),
        Request(seed=1, extra=extra or {}),
    )
    Runner(session, agent).run()
    return session.folder


class Batched(Chance, BatchAgent):
    """Guesses, and takes large runs."""

    kind: ClassVar[AgentKind] = NETWORK
    name = "batched"

    def answer(
        self, contexts: Sequence[TrialContext], trials: Sequence[Sequence[Percept]], keep: Any = None
    ) -> list[list[Response | None]]:
        random = np.random.RandomState(1)
        return [
            [None if percept.ask is None else Response(percept.ask.kind.guess(random)) for percept in trial]
            for trial in trials
        ]


def test_sessions_large_small_unfinished_and_damaged(tmp_path: Path) -> None:
    large = taken(tmp_path, Batched(), 30, {"parts": {"trials": 4, "states": False}})
    part_path(large, 3).unlink()  # as if it were under way
    taken(tmp_path, Chance(), 20)
    damaged = taken(tmp_path / "elsewhere", Chance(), 4)
    (damaged / "responses.parquet").write_bytes(b"nothing")
    names = ("serial_position", "set_size")
    at_once, in_pieces = load([tmp_path]), load_scattered([tmp_path], names, rows=60)
    the_same(all_tables(at_once, names), all_tables(in_pieces, names))
    assert any("is damaged" in note for note in in_pieces.notes)
    assert any("its 26 finished trials of 30 are used" in note for note in in_pieces.notes)
    with pytest.raises(SpanLabError, match="no session could be read"):
        load_scattered([damaged], names)


@pytest.fixture
def spanlab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return command_line(tmp_path, monkeypatch, capsys)


def test_what_cannot_be_shared_out_is_said(file: Path, tmp_path: Path, spanlab: Run) -> None:
    (tmp_path / "rules.yaml").write_text(
        "exclude:\n  - {leave_out: participants, where: accuracy, below: 0.2}\n", encoding="utf-8"
    )
    assert "exclusion rules need all answers" in complaint(
        *spanlab("figure", "set_size", file, "--exclude", "rules.yaml", "--workers", "2")
    )
    assert "reaction_time needs all answers" in complaint(*spanlab("figure", "reaction_time", file, "--workers", "2"))


@pytest.mark.slow
def test_two_workers_of_a_local_cluster(file: Path, at_once: dict[str, Any], spanlab: Run) -> None:
    with open_pool(2) as both:
        the_same(at_once, all_tables(load_scattered([file], SOME, pool=both, rows=150), SOME))
    alone = spanlab("figure", "serial_position", file, "--paradigm", "vsr")
    assert alone[0] == 0, alone
    assert spanlab("figure", "serial_position", file, "--paradigm", "vsr", "--workers", "2") == alone
