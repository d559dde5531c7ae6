"""The table of all numbers of a card fits its page, on a desk and on a telephone."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from spanlab.extensions.benchmark.drawing import page

CARDS = Path(__file__).resolve().parents[3] / "docs" / "benchmark-cards"
#: The page asks itself how wide its tables are; its own policy allows no script.
ASKED = """<script>parent.postMessage([...document.querySelectorAll(".effects")].map((table) =>
  table.scrollWidth - table.closest(".scroll").clientWidth), "*");</script>"""


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_every_number_fits_the_page(tmp_path: Path, width: int) -> None:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no chromium here")
    cards = [json.loads((CARDS / f"{name}.json").read_text(encoding="utf-8")) for name in ("network-limited", "gpt-4")]
    inside = re.sub(r"<meta http-equiv=.*?>", "", page(cards)).replace("<details>", "<details open>") + ASKED
    (tmp_path / "inside.html").write_text(inside, encoding="utf-8")
    (tmp_path / "around.html").write_text(
        "<!doctype html><body><script>addEventListener('message', (event) => { document.body.dataset.sent ="
        " JSON.stringify(event.data); });</script>"
        f"<iframe src='inside.html' width={width} height=900 style='border:0'></iframe>",
        encoding="utf-8",
    )
    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    done = subprocess.run(
        [chromium, *flags, "--virtual-time-budget=5000", "--dump-dom", (tmp_path / "around.html").as_uri()],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    sent = re.search(r'data-sent="\[(.*?)\]"', done.stdout)
    assert sent, done.stderr[-1000:]
    over = [int(number) for number in sent[1].split(",")]
    assert len(over) == len(cards)
    assert max(over) <= 0, over
