"""What a page takes: nothing is imported, bundled or drawn that it does not need, and axes say each
number once."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from spanlab.analysis.data.scoring import score_table
from spanlab.analysis.data.style import looks
from spanlab.analysis.effects.reaction_times import reaction_times, timed_questions
from spanlab.analysis.figures.charts import draw
from spanlab.analysis.figures.curve_marks import whole_axis
from spanlab.analysis.figures.reaction_time_figure import _chart
from spanlab.analysis.report.page import vega_script


def people(times: list[float]) -> pd.DataFrame:
    """One person who answers visual serial recall in these times, always right."""
    many = len(times)
    return pd.DataFrame(
        {
            "agent": "people",
            "agent_kind": "participant",
            "participant": "p1",
            "session": "s1",
            "paradigm": "vsr",
            "trial": range(many),
            "trial_id": [f"t{one}" for one in range(many)],
            "step": 1,
            "ask": 1,
            "list_length": 3,
            "set_size": 3,
            "serial_position": 1,
            "correct": True,
            "chance": 1 / 9,
            "outcome": "answered",
            "rt_ms": times,
        }
    )


@pytest.mark.parametrize(
    "times", [[500.0, 501.0, 502.0], [500.0, 500.0], [400.0, 1900.0], [512.0, 530.0, 541.0, 560.0]]
)
def test_axes_of_small_histograms_say_each_number_once(times: list[float]) -> None:
    part = score_table(people(times)).parts["vsr"]
    agents = looks([("people", "participant")])
    svg = draw(_chart(timed_questions(part), reaction_times(part), (), agents, "Times", ""), agents)
    groups = re.findall(r"role-axis-label.*?</g>", svg, re.S)
    labels = [re.findall(r">([\d,]+)</text>", group) for group in groups]
    assert any(labels)
    assert all(len(found) == len(set(found)) for found in labels), labels
    assert "<path" in svg


@pytest.mark.parametrize(("low", "high"), [(0, 1.05), (0, 7.35), (180, 480), (-3.5, 4), (499.2, 502.7), (0, 12345)])
def test_whole_numbers_on_an_axis_are_few_and_different(low: float, high: float) -> None:
    values = whole_axis(low, high)["values"]
    assert 2 <= len(values) <= 6
    assert values == sorted({int(one) for one in values})
    assert low <= values[0]
    assert values[-1] <= high


def test_a_bundle_that_is_kept_is_used_and_a_damaged_one_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import vl_convert

    made = []

    def bundle(snippet: str, vl_version: str) -> str:
        made.append(vl_version)
        return f"bundle({snippet})</script><!--"

    monkeypatch.setattr(vl_convert, "javascript_bundle", bundle)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    try:
        said = []
        for _ in range(2):
            vega_script.cache_clear()
            said.append(vega_script())
        assert len(made) == 1
        assert said[0] == said[1]
        assert "</script" not in said[0]
        (kept,) = (tmp_path / "spanlab").iterdir()
        kept.write_bytes(kept.read_bytes()[:-3])
        vega_script.cache_clear()
        assert vega_script() == said[0]
        assert len(made) == 2
        vega_script.cache_clear()
        assert vega_script() == said[0]
        assert len(made) == 2
    finally:
        vega_script.cache_clear()


def test_chat_models_are_imported_where_there_was_one() -> None:
    """Pages of conversations need all of the chat models' code, and a page without any needs none."""
    sessions = Path(__file__).resolve().parents[2] / "golden" / "sessions" / "finished"
    asked = "import sys; from pathlib import Path; from spanlab.api.analysing import _conversations; "
    asked += "print(len(_conversations([Path(sys.argv[1])])), 'spanlab.agents.chat.agent' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", asked, str(sessions / "vsr-network-laptop-s27")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "0 False"


def test_a_chat_session_among_others_still_has_its_page(tmp_path: Path) -> None:
    from spanlab.api.analysing import _conversations

    sessions = Path(__file__).resolve().parents[2] / "golden" / "sessions" / "finished"
    found = _conversations(
        [sessions / "vsr-network-laptop-s27", tmp_path / "nothing", sessions / "vsr-chat-scripted-s31"]
    )
    assert [one["session"] for one in found] == ["vsr-chat-scripted-s31"]
