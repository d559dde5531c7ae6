"""Work shared out: jobs done here, one after the other, or by Dask workers, on this machine or a
cluster. Whatever becomes of a worker, every job is done.

Here is the border to Dask, whose types are incomplete.
"""

# pyright: basic

from __future__ import annotations

import pickle
import signal
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from .errors import SpanLabError

if TYPE_CHECKING:
    from distributed import Client

#: seconds in which a scheduler must be reached, and in which it must have a worker
_REACHED_S, _STAFFED_S = 20.0, 600.0
#: jobs that wait at each worker, so that none is ever idle; results wait no longer than they must
_WAITING = 2

#: what is done: with what all jobs share, and with the job
Work = Callable[[Any, Any], Any]


class WorkerPool(Protocol):
    """A pool of workers that take the parts of a large run."""

    def each(
        self, work: Work, shared: Callable[[], Any], jobs: Sequence[Any]
    ) -> Generator[tuple[int, Any], None, None]:
        """Do all jobs.

        Parameters
        ----------
        work : a function of a module (so that it can be sent), of what ``shared`` gives and of one
            job
        shared : a recipe for what all jobs need, followed once by every worker; it must be possible
            to send it
        jobs : things that can be sent

        Returns
        -------
        (number of the job, what came of it), each job once, in the order in which they end

        Raises
        ------
        SpanLabError
            what a job raises; no further one begins then.
        """
        ...


class SerialPool:
    """This process does everything, one job after the other."""

    def each(
        self, work: Work, shared: Callable[[], Any], jobs: Sequence[Any]
    ) -> Generator[tuple[int, Any], None, None]:
        """See :class:`WorkerPool`."""
        ready = shared()
        for number, job in enumerate(jobs):
            yield number, work(ready, job)


@dataclass(frozen=True, slots=True)
class _Fault:
    """A problem that somebody else can mend, on its way to them."""

    message: str


#: what a worker has made ready, by what it was made from
_ready: dict[bytes, Any] = {}
#: one job at a time in a process: training has random states and numbers of threads that belong to
#: the whole process
_one = threading.Lock()


def _done(work: bytes, recipe: bytes, job: bytes) -> Any:
    """One job, by a worker."""
    with _one:
        try:
            if recipe not in _ready:
                _ready.clear()  # the work of another session is over
                _ready[recipe] = pickle.loads(recipe)()
            return pickle.loads(work)(_ready[recipe], pickle.loads(job))
        except SpanLabError as error:
            return _Fault(str(error))


class DaskPool:
    """Dask workers. A job whose worker dies is given to another one.

    Parameters
    ----------
    client : of the scheduler
    """

    def __init__(self, client: Client, name: str) -> None:
        self._client, self._name = client, name

    def each(
        self, work: Work, shared: Callable[[], Any], jobs: Sequence[Any]
    ) -> Generator[tuple[int, Any], None, None]:
        """See :class:`WorkerPool`."""
        from distributed import as_completed

        places = self._staffed()
        # The recipe is a task of its own: it is sent once, workers get it from each other, and it
        # is made again when those that had it are gone.
        recipe = self._client.submit(_same, pickle.dumps(shared), pure=False)
        packed, numbers = pickle.dumps(work), {}
        following = iter(enumerate(jobs))

        def next_one() -> Any:
            for number, job in following:
                future = self._client.submit(_done, packed, recipe, pickle.dumps(job), pure=False)
                numbers[future.key] = number
                return future
            return None

        under_way = as_completed([future for _ in range(_WAITING * places) if (future := next_one()) is not None])
        try:
            for future in under_way:
                result = self._result(future)
                number = numbers.pop(future.key)
                future.release()
                if (more := next_one()) is not None:
                    under_way.add(more)
                yield number, result
        finally:
            with suppress(Exception):  # the scheduler may be gone
                self._client.cancel(list(under_way.futures))

    def _result(self, future: Any) -> Any:
        from distributed import KilledWorker

        try:
            result = future.result()
        except KilledWorker as error:
            raise SpanLabError(
                f"a job failed: {error.allowed_failures + 1} workers died while running it ({self._name}). Is there"
                " enough memory for each of them? Fewer workers need less"
            ) from None
        except (ImportError, AttributeError) as error:
            raise SpanLabError(
                f"the workers of {self._name} cannot do the work ({error}); install this version of spanlab on"
                " them, too"
            ) from None
        except (OSError, TimeoutError) as error:
            raise SpanLabError(
                f"the workers of {self._name} were lost ({str(error) or type(error).__name__})"
            ) from None
        if isinstance(result, _Fault):
            raise SpanLabError(result.message)
        return result

    def _staffed(self) -> int:
        """Wait for a worker; how many there are."""
        start = "dask worker ADDRESS --nthreads 1"
        try:
            self._client.wait_for_workers(1, timeout=_STAFFED_S)
        except TimeoutError:
            raise SpanLabError(
                f"{self._name} has had no worker for {_STAFFED_S / 60:.0f} minutes; start some ({start})"
            ) from None
        threads: Any = self._client.nthreads()
        if any(many > 1 for many in threads.values()):
            raise SpanLabError(
                f"{self._name} has workers with several threads, but a worker does one job at a time; start each with"
                f" one thread ({start})"
            )
        return max(1, len(threads))


def _same(given: bytes) -> bytes:
    return given


@contextmanager
def open_pool(workers: int | None = None, scheduler: str | None = None) -> Generator[WorkerPool]:
    """Those who do the work, until it is done.

    Parameters
    ----------
    workers : processes on this machine
    scheduler : address of a Dask scheduler (``tcp://HOST:PORT``); with neither of the two, this
        process works alone

    Raises
    ------
    SpanLabError
        when Dask is not installed, or the scheduler is not there.
    """
    if workers is None and scheduler is None:
        yield SerialPool()
        return
    if scheduler is not None and workers is not None:
        raise SpanLabError(
            f"the scheduler {scheduler} has workers of its own: leave out {{workers}}", names=["workers"]
        )
    try:
        import distributed  # noqa: F401
        from dask import config as dask_config  # pyright: ignore[reportPrivateImportUsage]
    except ImportError:
        raise SpanLabError('sharing out work needs Dask; install it with: pip install "spanlab[cluster]"') from None
    made = _here(workers or 1) if scheduler is None else _at(scheduler)
    # What is sent is as large as it must be.
    with dask_config.set({"distributed.admin.large-graph-warning-threshold": "10GB"}), made as pool:
        yield pool


@contextmanager
def _here(workers: int) -> Generator[WorkerPool]:
    from distributed import Client, LocalCluster

    # Each worker has one thread and computes with one: that many processes keep that many
    # processors busy.
    no_page: Any = None
    with _deaf_to_interrupts():
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=no_page,
            silence_logs=50,
            memory_limit=0,
        )
    with cluster, Client(cluster) as client:
        yield DaskPool(client, f"{workers} processes")


@contextmanager
def _deaf_to_interrupts() -> Generator[None]:
    """Processes that begin meanwhile do not hear Ctrl-C: it is for the one that began them, which
    finishes what is under way and ends them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _at(address: str) -> Generator[WorkerPool]:
    from distributed import Client

    try:
        client = Client(address, timeout=_REACHED_S)
    except (OSError, TimeoutError, ValueError) as error:
        raise SpanLabError(
            f"there is no Dask scheduler at {address} ({error}); its address looks like tcp://HOST:8786; 'dask"
            " scheduler' prints it"
        ) from None
    with client:
        yield DaskPool(client, f"the scheduler {address}")
