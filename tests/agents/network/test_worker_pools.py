"""Who does the work of large runs and sweeps: this process, Dask workers here, or at an
address."""

from __future__ import annotations

import operator
from functools import partial

import pytest

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
        pytest.raises(SpanLabError, match="has workers of its own: leave out workers"),
        open_pool(2, "tcp://127.0.0.1:1"),
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
    made = pytest.importorskip("distributed").LocalCluster(
        n_workers=1, threads_per_worker=threads, dashboard_address=None, silence_logs=50
    )
    with made as cluster, open_pool(None, cluster.scheduler_address) as found:
        if threads == 1:
            assert summed(found) == {0: 11, 1: 12, 2: 13}
        else:
            with pytest.raises(SpanLabError, match=r"workers with several threads.*dask worker ADDRESS --nthreads 1"):
                summed(found)
