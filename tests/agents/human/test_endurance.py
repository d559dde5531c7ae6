"""Ten minutes of a simulated session: memory does not grow, and a frame costs at the end what it
cost at the beginning."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from processes import bench

pytestmark = [
    pytest.mark.soak,
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Xvfb, and /proc"),
]
#: the warm-up is over when every paradigm had its turn, and the pictures of earlier trials that are
#: kept have reached their limit
MINUTES, WARM_UP = 13.0, 150.0


def test_ten_minutes_of_session(tmp_path: Path) -> None:
    rows = np.array(bench("lab/lab_endurance", MINUTES, tmp_path, seconds=60 * MINUTES + 120, OMP_NUM_THREADS="1"))
    rows = rows[rows[:, 0] > WARM_UP]
    seconds, memory, frames, cost = rows.T
    assert seconds[-1] - seconds[0] > 600
    assert frames.sum() > 0.9 * 60 * (seconds[-1] - seconds[0]), "every refresh is there"
    early, late = memory[: len(memory) // 10].max(), memory[-len(memory) // 10 :].max()
    ms = 1000 * cost / frames
    # Trials of several kinds follow one another in turn, so that halves are alike; a line through
    # all of them tells the growth over the whole time.
    slope, level = np.polyfit(seconds, ms, 1)
    growth = slope * (seconds[-1] - seconds[0]) / (level + slope * seconds.mean())
    noise = 3 * ms.std() / np.sqrt(len(ms)) / ms.mean()
    print(
        "\nMB by minute:",
        [round(float(memory[(seconds // 60) == minute].max()) / 1024, 1) for minute in np.unique(seconds // 60)],
    )
    print(f"memory {early / 1024:.1f} MB, then {late / 1024:.1f} MB ({100 * (late / early - 1):+.2f} %)")
    print(
        f"{frames.sum():.0f} frames, {ms.mean():.2f} ms of processor time each, {100 * growth:+.1f} % over the time"
        f" (noise {100 * noise:.1f} %)"
    )
    assert late < 1.05 * early
    assert growth < max(0.05, 2 * noise)
