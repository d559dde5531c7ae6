"""How fast this checkout is as a share of another one: the same work in both, in turns on the same
machine, so that whatever else runs there slows both alike.

    python benchmarks/run.py --against CHECKOUT [TURNS]     CHECKOUT has an environment of its own in .venv; 15 turns when not given

Counted is processor time (user and system, all threads of the process), never the clock, with one
thread for products of matrices. Each work has a process of its own in either checkout, which stays;
the two take turns, and which of them begins alternates. Reported are the ratio of the medians of
their times, and the median of the turns' ratios; above 1, this checkout is slower. Programs of
``benchmarks/`` of either checkout lend their functions.
"""  # noqa: E501

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
#: how often a work is done before its turns count
WARM = 2
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}

#: Work of one turn: seconds of processor time, by what was measured.
Work = Callable[[], dict[str, float]]


def timed(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def compiling() -> Work:
    """Trials of the published paradigms, which both checkouts have: all combinations of levels in turn, a fresh seed
    each time."""
    from spanlab.paradigms import compile_trial, list_paradigms, load_paradigm

    every = [load_paradigm(name) for name in list_paradigms()]
    paradigms = [paradigm for paradigm in every if paradigm.family in ("WorM", "WorM variants", "N-back")]
    combinations = [(paradigm, paradigm.combinations()) for paradigm in paradigms]
    seeds = iter(range(10**9))

    def turn() -> dict[str, float]:
        def compile_all() -> None:
            for paradigm, levels in combinations:
                for number in range(30):
                    compile_trial(paradigm, levels[number % len(levels)], next(seeds))

        return {"trials compiled": timed(compile_all)}

    return turn


def rendering() -> Work:
    """Frames of training trials in batches, of all data sets; compiling them does not count."""
    import frames

    from spanlab.paradigms import compile_trial

    data_sets = frames.data_sets()
    seeds = iter(range(10**9))

    def turn() -> dict[str, float]:
        seconds = 0.0
        for paradigm, combinations in data_sets.values():
            trials = [
                compile_trial(paradigm, combinations[number % len(combinations)], next(seeds)) for number in range(120)
            ]
            stimuli = frames.shown(trials)
            seconds += timed(lambda stimuli=stimuli: frames.network_frames(stimuli))
        return {"frames for networks": seconds}

    return turn


def learning() -> Work:
    """Training steps of the published run with LSTM-256: a joint batch put together and learned
    from."""
    import network
    import torch

    torch.set_num_threads(1)
    material = vars(network).get("TrainingData") or vars(network)["Material"]
    batches = material()
    model = network.build(network.config_named("lstm-256").model, batches.tasks, 1)
    learner = network.JointLoss(model, batches.losses, [1.0] * len(batches.losses))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-8)

    def turn() -> dict[str, float]:
        def learn() -> None:
            for step in range(2):
                optimizer.zero_grad(set_to_none=True)
                learner(network.load(batches.batch(step), network.CPU))[0].backward()
                optimizer.step()

        return {"training steps": timed(learn)}

    return turn


def recording() -> Work:
    """Sessions answered by chance, and their halves: rows by processor time."""
    import record

    time.perf_counter = time.process_time  # what the program divides by

    def turn() -> dict[str, float]:
        text = io.StringIO()
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(text):
            record.one_paradigm("vsr", 300, Path(folder))
        rates = dict(re.findall(r"^vsr: (.*)\t(.*)\trows/s$", text.getvalue(), re.MULTILINE))
        return {
            f"rows: {name}": 1 / float(rate)
            for name, rate in rates.items()
            if "json.dumps" not in name and "every trial's end" not in name
        }

    return turn


def asking() -> Work:
    """Requests of a session with a chat model, whose server has a process of its own."""
    chat: Any = import_module("chat")
    served, paradigm = chat.server(), chat.load_paradigm("nback_verbal")
    url = served.__enter__()  # until this process ends

    def turn() -> dict[str, float]:
        assert served is not None
        found = {}
        for concurrency in (8, 32):
            _, worked, talks = chat.session(url, paradigm, 2 * concurrency, concurrency)
            found[f"chat requests, {concurrency} at once"] = worked / sum(map(len, talks))
        return found

    return turn


WORKS: dict[str, Callable[[], Work]] = {
    "compiling": compiling,
    "rendering": rendering,
    "learning": learning,
    "recording": recording,
    "asking": asking,
}


def serve(name: str) -> None:
    """Does a turn for each line that it reads, and writes what it took as a line."""
    turn = WORKS[name]()
    for _ in range(WARM):
        turn()
    print("ready", flush=True)
    for _ in sys.stdin:
        print(repr(turn()), flush=True)


def python_of(checkout: Path) -> Path:
    return checkout / ".venv" / "bin" / "python"


def environment(checkout: Path) -> dict[str, str]:
    return {**os.environ, **ONE_THREAD, "PYTHONPATH": str(checkout / "benchmarks"), "NO_COLOR": "1"}


@contextlib.contextmanager
def worker(checkout: Path, name: str) -> Iterator[Callable[[], dict[str, float]]]:
    """A process in a checkout that does turns of a work when asked."""
    command = [
        python_of(checkout),
        "-c",
        f"import runpy; runpy.run_path({str(Path(__file__).resolve())!r})['serve']({name!r})",
    ]
    with subprocess.Popen(
        command, cwd=checkout, env=environment(checkout), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        stdin, stdout = process.stdin, process.stdout
        assert stdin is not None
        assert stdout is not None
        if stdout.readline() != "ready\n":
            raise SystemExit(f"{checkout}: {name} does not run there")

        def turn() -> dict[str, float]:
            stdin.write("\n")
            stdin.flush()
            return ast.literal_eval(stdout.readline())

        yield turn
        stdin.close()


def startup(checkout: Path) -> dict[str, float]:
    """Processor time of ``spanlab list`` in a fresh process."""
    command = [
        python_of(checkout),
        "-c",
        "import sys; sys.argv = ['spanlab', 'list']; from spanlab.cli import main; main()",
    ]
    process = subprocess.Popen(command, cwd=checkout, env=environment(checkout), stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{checkout}: spanlab list fails")
    return {"spanlab list": usage.ru_utime + usage.ru_stime}


def compare(turns: int, here: Callable[[], dict[str, float]], there: Callable[[], dict[str, float]]) -> None:
    pairs: dict[str, list[tuple[float, float]]] = {}
    for number in range(turns):
        if number % 2:
            ours, theirs = here(), there()
        else:
            theirs, ours = there(), here()
        for name in ours.keys() & theirs.keys():
            pairs.setdefault(name, []).append((ours[name], theirs[name]))
    for name, measured in sorted(pairs.items()):
        ratios = sorted(ours / theirs for ours, theirs in measured)
        quarter = len(ratios) // 4
        whole = median(ours for ours, _ in measured) / median(theirs for _, theirs in measured)
        print(f"{name}: this checkout / the other, ratio of medians\t{whole:.3f}\tx")
        print(
            f"{name}: median of {len(ratios)} ratios (middle half {ratios[quarter]:.3f} to"
            f" {ratios[-1 - quarter]:.3f})\t{median(ratios):.3f}\tx",
            flush=True,
        )


def main(arguments: list[str]) -> int:
    there, here = Path(arguments[0]).resolve(), HERE.parent
    turns = int(arguments[1]) if len(arguments) > 1 else 15
    compare(turns, lambda: startup(here), lambda: startup(there))
    for name in WORKS:
        with worker(here, name) as ours, worker(there, name) as theirs:
            compare(turns, ours, theirs)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
