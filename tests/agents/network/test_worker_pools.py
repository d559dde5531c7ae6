"""Who does the work of large runs and sweeps: this process, Dask workers here, at an address, or
jobs of SLURM, which a stand-in for SLURM runs here."""

from __future__ import annotations

import operator
import os
import signal
import stat
import textwrap
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from effort import HANGS_S

from spanlab.core.errors import SpanLabError
from spanlab.core.worker_pool import SerialPool, WorkerPool, open_pool


def summed(found: WorkerPool) -> dict[int, int]:
    """What comes of three jobs, each of which adds to a number that all share."""
    return dict(found.each(operator.add, partial(int, "10"), [1, 2, 3]))


def test_without_workers_this_process_does_it_all() -> None:
    with open_pool() as alone:
        assert isinstance(alone, SerialPool)
        assert summed(alone) == {0: 11, 1: 12, 2: 13}


@pytest.mark.slow
def test_pools_that_cannot_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    with (
        pytest.raises(SpanLabError, match="has workers of its own: leave out --workers"),
        open_pool(2, "tcp://127.0.0.1:1"),
    ):
        pass
    with pytest.raises(SpanLabError, match="how many jobs should SLURM be asked for"), open_pool(None, "slurm"):
        pass
    from dask import config  # pyright: ignore[reportPrivateImportUsage]

    with (
        config.set({"jobqueue.slurm.cores": None}),
        pytest.raises(SpanLabError, match="no settings for SLURM"),
        open_pool(2, "slurm"),
    ):
        pass
    monkeypatch.setattr("spanlab.core.worker_pool._REACHED_S", 0.5)
    with (
        pytest.raises(SpanLabError, match=r"there is no Dask scheduler at tcp://127\.0\.0\.1:1"),
        open_pool(None, "tcp://127.0.0.1:1"),
    ):
        pass


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
def test_workers_at_an_address_have_one_thread_each(threads: int) -> None:
    distributed = pytest.importorskip("distributed")
    made = distributed.LocalCluster(n_workers=1, threads_per_worker=threads, dashboard_address=None, silence_logs=50)
    with made as cluster, open_pool(None, cluster.scheduler_address) as found:
        if threads == 1:
            assert summed(found) == {0: 11, 1: 12, 2: 13}
        else:
            with pytest.raises(SpanLabError, match=r"workers with several threads.*dask worker ADDRESS --nthreads 1"):
                summed(found)


SBATCH = """
    #!/bin/sh
    # A job begins at once, on this machine; its number is that of its process group.
    setsid bash "$1" > "$SLURM_STAND_IN/output" 2>&1 < /dev/null &
    cp "$1" "$SLURM_STAND_IN/script.$!"
    echo "Submitted batch job $!"
"""
SCANCEL = """
    #!/bin/sh
    for job in "$@"; do kill -TERM -- "-$job"; echo "$job" >> "$SLURM_STAND_IN/cancelled"; done
"""


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in which a stand-in for SLURM keeps the scripts of its jobs."""
    programs, kept = tmp_path / "bin", tmp_path / "slurm"
    programs.mkdir()
    kept.mkdir()
    for name, text in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        (programs / name).write_text(textwrap.dedent(text).lstrip(), encoding="utf-8")
        (programs / name).chmod((programs / name).stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_STAND_IN", str(kept))
    monkeypatch.chdir(tmp_path)
    yield kept
    for job in jobs(kept):  # none is left, unless a test has failed
        if alive(job):
            os.killpg(job, signal.SIGKILL)


def jobs(kept: Path) -> list[int]:
    return sorted(int(path.suffix[1:]) for path in kept.glob("script.*"))


def alive(job: int) -> bool:
    try:
        os.killpg(job, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="the stand-in for SLURM is a shell script")
def test_jobs_of_slurm_are_asked_for_as_configured_do_the_work_and_are_cancelled(slurm: Path) -> None:
    pytest.importorskip("dask_jobqueue")
    from dask import config  # pyright: ignore[reportPrivateImportUsage]

    asked = {"cores": 2, "memory": "2GB", "queue": "short", "walltime": "01:30:00"}
    with config.set({f"jobqueue.slurm.{key}": value for key, value in asked.items()}), open_pool(2, "slurm") as found:
        assert found.described() == "2 jobs of SLURM"
        assert summed(found) == {0: 11, 1: 12, 2: 13}
    scripts = [(slurm / f"script.{job}").read_text(encoding="utf-8") for job in jobs(slurm)]
    assert len(scripts) == 2
    for script in scripts:
        for line in ("-p short", "-t 01:30:00", "--cpus-per-task=2", "--mem=2G"):
            assert f"#SBATCH {line}" in script
        assert "--nthreads 1 " in script, "each worker computes with one thread"
        assert "--nworkers 2 " in script
    until = time.monotonic() + HANGS_S
    while any(map(alive, jobs(slurm))) and time.monotonic() < until:
        time.sleep(0.1)
    assert not [job for job in jobs(slurm) if alive(job)]
    assert sorted((slurm / "cancelled").read_text(encoding="utf-8").split()) == sorted(map(str, jobs(slurm)))
