"""How fast the app's pages appear beside many sessions (processor time): copies of one session of 100
trials in a folder.

python benchmarks/app.py [SESSIONS ...]     1000 and 10000 when not given
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from starlette.testclient import TestClient

import spanlab
from spanlab.extensions.app.server import Gate, application

TURNS = 9
PAGES = ("/", "/sessions", "/sessions?search=capacity&page=3", "/paradigms/vsr/live")


def main(sizes: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        first = spanlab.replay(
            "vsr", agent="capacity:3", trials=100, data=Path(folder) / "one", say=lambda _: None
        ).folder
        for size in sizes:
            measure(first, size)


def measure(first: Path, size: int) -> None:
    """The time of each page, the first one with an index that is made, the others with one that is
    there."""
    with tempfile.TemporaryDirectory() as folder:
        data, info = Path(folder), json.loads((first / "session.json").read_text(encoding="utf-8"))
        for number in range(size):
            copy = data / f"{number // 100:03}" / f"s{number}"
            shutil.copytree(first, copy, copy_function=shutil.copyfile)
            (copy / "session.json").write_text(
                json.dumps({**info, "session": f"s{number}", "paradigm": "vsr" if number < 20 else "smu"}),
                encoding="utf-8",
            )
        gate = Gate()
        began = time.process_time()
        browser(data, gate).get("/")
        print(f"{size} sessions: first page, index made\t{time.process_time() - began:.3f}\ts")
        for page in PAGES:
            client = browser(data, gate)
            client.get(page)
            times = []
            for _ in range(TURNS):
                began = time.process_time()
                assert client.get(page).status_code == 200
                times.append(time.process_time() - began)
            print(f"{size} sessions: {page}\t{median(times):.3f}\ts", flush=True)


def browser(data: Path, gate: Gate) -> TestClient:
    client = TestClient(application(data, "en", gate), base_url="http://127.0.0.1:8760", client=("127.0.0.1", 50000))
    client.get(gate.link(""), follow_redirects=False)
    return client


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [1000, 10000])
