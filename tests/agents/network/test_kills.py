"""What training must hold whatever happens: kills, a full disk, several processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from network_runs import TINY, config  # noqa: E402

from spanlab.agents.network import TrainingConfig  # noqa: E402
from spanlab.agents.network.training.run import train  # noqa: E402

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    train(config(), out=folder, progress=False)
    return folder


PROGRAM = textwrap.dedent("""
    import json, os, signal, sys
    from pathlib import Path
    from spanlab.agents.network import TrainingConfig
    from spanlab.agents.network.training.run import train
    from spanlab.core.errors import SpanLabError
    if __name__ == "__main__":
        folder, resume = Path(sys.argv[2]), sys.argv[3] == "resume"
        resume = resume and (folder / "tiny.state.pt").exists()
        last, write = int(sys.argv[4]) if len(sys.argv) > 4 else 0, Path.write_bytes
        def writes(path, content):
            global last
            last -= path.name.startswith(".tiny.state.pt")
            if last == 0:
                write(path, bytes(content)[: len(content) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            write(path, content)
        Path.write_bytes = writes if last else write
        try:
            train(TrainingConfig.model_validate(json.loads(sys.argv[1])), out=folder, resume=resume, progress=False)
        except SpanLabError as error:
            print(error, file=sys.stderr)
            sys.exit(1)
""")


def command(folder: Path, values: dict[str, Any], how: str, *before: str) -> list[str]:
    (program := folder.parent / "program.py").write_text(PROGRAM, encoding="utf-8")
    return [sys.executable, *before, str(program), json.dumps(values), str(folder), how]


def test_killed_anywhere_a_run_ends_as_if_undisturbed(tmp_path: Path) -> None:
    """kill -9 in the middle of writing a state, and at any other instant; what is on disk is always
    whole, and the network is the same to the bit."""
    values = {
        **TINY,
        "steps": 24,
        "save_every": 1,
        "check": {**TINY["check"], "every": 3},
        "schedule": "published",
    }
    train(TrainingConfig.model_validate(values), out=tmp_path / "calm", progress=False)
    folder = tmp_path / "killed"
    state, step = folder / "tiny.state.pt", 0
    for last in (4, 2):  # the fourth state is cut off, then the second one after it was resumed
        assert (
            subprocess.run([*command(folder, values, "resume"), str(last)], check=False).returncode == -signal.SIGKILL
        )
        step += last - 1
        assert torch.load(state, weights_only=True)["step"] == step, "the state before is whole"
        assert len(list(folder.glob(".tiny.state.pt.*"))) == 1, "half of the next one is beside it"
    for attempt in range(2):
        running = subprocess.Popen(command(folder, values, "resume"))
        before = state.stat().st_mtime_ns
        while running.poll() is None and state.stat().st_mtime_ns == before:
            time.sleep(0.002)
        time.sleep(0.01 * attempt)
        assert running.poll() is None
        os.kill(running.pid, signal.SIGKILL)
        running.wait()
        torch.load(state, weights_only=True)  # whole
        if (folder / "tiny.pt").exists():
            torch.load(folder / "tiny.pt", weights_only=True)
    assert subprocess.run(command(folder, values, "resume"), check=False).returncode == 0
    assert not list(folder.glob(".tiny.*")), "nothing half-written is left"
    assert (folder / "tiny.pt").read_bytes() == (tmp_path / "calm" / "tiny.pt").read_bytes()
    validations = [
        [
            {key: value for key, value in json.loads(line).items() if not key.endswith("_s")}
            for line in (place / "tiny.log.jsonl").read_text().splitlines()
        ]
        for place in (folder, tmp_path / "calm")
    ]
    assert [entry for entry in validations[0] if entry["event"] == "validation"] == [
        entry for entry in validations[1] if entry["event"] == "validation"
    ]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="limits of a process are not everywhere")
def test_a_full_disk_stops_with_a_sentence(tmp_path: Path) -> None:
    """Files may not grow beyond a size, as on a disk that is full."""
    limited = (
        "import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, 3_000_000)); sys.argv ="
        " sys.argv[1:]; "
    )
    limited += "runpy.run_path(sys.argv[0], run_name='__main__')"
    folder = tmp_path / "full"
    made = command(folder, TINY, "begin")
    done = subprocess.run([made[0], "-c", limited, *made[1:]], capture_output=True, text=True)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "cannot write" in done.stderr
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]  # nothing half-written stays
