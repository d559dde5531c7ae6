"""Figures that others declare: the documentation's examples appear wherever figures do, and no
other file is touched."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from analysis_tables import responses
from command_line import Run
from nback_answers import block_rows

import spanlab
from spanlab.analysis.data.loading import Data
from spanlab.analysis.data.scoring import score_table
from spanlab.analysis.effects.registry import EFFECTS
from spanlab.analysis.figure_catalogue import FIGURES, figure_named, listing
from spanlab.analysis.figures.figure import Wish
from spanlab.analysis.figures.prospects import prospects
from spanlab.analysis.report import folder as report_folder
from spanlab.core.errors import SpanLabError

FILES = ("session_course.py", "answers_given.py")


def documented(repository: Path) -> dict[str, str]:
    """The effect of the example package, and the figure of the document."""
    effect = repository / "examples" / "plugin" / "spanlab_example" / "session_course.py"
    text = (repository / "docs" / "extension-points.md").read_text(encoding="utf-8")
    (figure,) = re.findall(r"```python\n([^`]*?ANSWERS_GIVEN = .*?)```", text, flags=re.DOTALL)
    return dict(zip(FILES, (effect.read_text(encoding="utf-8"), figure), strict=True))


@pytest.fixture
def own_figures(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example's figures are declared while a test runs."""
    monkeypatch.setattr(EFFECTS, "_known", {**EFFECTS._known})
    monkeypatch.setattr(FIGURES, "_known", {**FIGURES._known})
    declared: dict[str, Any] = {}
    for name in FILES:
        exec(compile(documented(repository)[name], name, "exec"), declared)
    EFFECTS.add(declared["COURSE"])
    FIGURES.add(declared["ANSWERS_GIVEN"])


@pytest.mark.slow
@pytest.mark.usefixtures("own_figures")
def test_a_figure_that_is_declared_is_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    for agent in ("capacity:2", "chance"):
        spanlab.replay("cd", agent, trials=24, levels={"set_size": 6}, data="data", say=lambda _: None)
    # the list of names
    assert re.search(r"^  session_course +correct in the course of a session$", listing(), re.MULTILINE)
    assert re.search(
        r"did you mean 'answers_given'(.|\n)*\n  answers_given +answers given\n",
        run("figure", "answer_given", "data")[2],
    )
    # the command line: piece by piece for effects, and all at once gives the same
    assert run("figure", "session_course", "data", "-o", "course.csv")[0] == 0
    course = spanlab.figure("session_course", "data").table
    course.to_csv("whole.csv", index=False)
    assert Path("course.csv").read_bytes() == Path("whole.csv").read_bytes()
    assert course[course["agent"].str.startswith("chance")].set_index("so_far")["n_units"].to_dict() == {
        10: 10,
        20: 10,
        30: 4,
    }
    assert run("figure", "answers_given", "data", "-o", "given.svg")[0] == 0
    assert "answers given" in (tmp_path / "given.svg").read_text(encoding="utf-8")
    # what a paradigm will have
    assert {"session_course", "answers_given"} <= {
        *prospects(spanlab.read_responses(next(Path("data").iterdir())), "cd").figures
    }
    # the report: in their sections, with tables and commands
    monkeypatch.setattr(report_folder, "save", lambda *_: [])
    spanlab.compare("data", "report")
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    keys = re.findall(r'<figure id="([^"]+)">', page)
    assert keys[-1] == "cd_answers_given"
    # before the feature, which no effect of one set size shows
    assert keys.index("cd_session_course") + 1 == keys.index("cd_conditions_correct")
    assert "spanlab figure answers_given data --paradigm cd -o report/figures/cd_answers_given.svg" in page
    shares = pd.read_csv(tmp_path / "report" / "tables" / "cd_answers_given.csv").groupby("agent")["share"].sum()
    assert shares.round(9).tolist() == [1.0, 1.0]


@pytest.mark.usefixtures("own_figures")
def test_a_figure_says_what_the_data_lack() -> None:
    scored = score_table(responses(lambda length, place: 0.6, repetitions=2).assign(answer='"same"'))
    data = Data(scored=scored, human={}, titles={"vsr": "Vsr"}, notes=(), readouts={})
    with pytest.raises(
        SpanLabError, match="no figure answers_given: 2 to 9 different answers can be compared, and vsr has 1"
    ):
        figure_named("answers_given").draw(data, Wish())
    bare = Data(score_table(scored.items.drop(columns=["trial"])), {}, {"vsr": "Vsr"}, (), {})
    with pytest.raises(SpanLabError, match=r"no figure session_course: vsr has no trial\.$"):
        figure_named("session_course").draw(bare, Wish())


def test_blocks_of_which_nothing_can_be_read_are_said() -> None:
    rows = block_rows("--m" * 8, ["-"] * 24).assign(record_match='"perhaps"')
    data = Data(score_table(rows), {}, {str(rows["paradigm"].iloc[0]): "N-back"}, (), {})
    for name in ("nback_measures", "nback_models", "nback_dprime"):
        with pytest.raises(SpanLabError, match=f"no figure {name}: no item of these data tells whether it is a match"):
            figure_named(name).draw(data, Wish())


def test_python_reads_of_parameters_and_the_command_line_of_options() -> None:
    with pytest.raises(SpanLabError, match=r"^bars is 'interval'"):
        spanlab.figure("serial_position", ["data"], bars="both")
