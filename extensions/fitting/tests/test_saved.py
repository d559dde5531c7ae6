"""Fits that are kept beside the sessions, and the section of the report that shows them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import Run
from fitting_designs import design
from session_tools import AtTheWindow, SayingAtWindow, take

import spanlab
from spanlab.agents import AgentOptions
from spanlab.analysis.data import load
from spanlab.analysis.report import ReportSection, SectionRequest
from spanlab.analysis.report.folder import FigureFiles, Folder
from spanlab.core import SpanLabError
from spanlab.extensions.fitting.agent import Cognitive, Remembering
from spanlab.extensions.fitting.reading import Answerer
from spanlab.extensions.fitting.saved import FILE, digest, section, stored

MODELS = ("--model", "slots", "--model", "sdt-shared", "--simulated", "10")


class Remembers(AtTheWindow):
    """A person whose answers are those of a model."""

    def __init__(self, model: str) -> None:
        super().__init__(lambda percept, number: pytest.fail("the model answers"))
        self.model = Cognitive.from_name(model, AgentOptions())

    def start(self, context: Any) -> SayingAtWindow:
        return PersonsTrial(self, Remembering(self.model, context))


class PersonsTrial(SayingAtWindow):
    def __init__(self, agent: Remembers, memory: Remembering) -> None:
        super().__init__(agent, [])
        self.memory = memory

    async def step(self, percept: Any, truth: Any = None) -> Any:
        self._agent.say = lambda percept, number: answer  # type: ignore[assignment]
        answer = await self.memory.step(percept)
        return await super().step(percept)


def people_and_machines(data: Path, people: int, trials: int, agents: tuple[str, ...], paradigm: str = "cd") -> Path:
    """Sessions of people with different capacities, and of machines."""
    for number in range(people):
        model = Remembers(f"slots?k={2 + 0.3 * number:g}&guess=0.3&attended=0.99")
        take(
            data,
            spanlab.load_paradigm(paradigm),
            model,
            trials,
            seed=number,
            participant=f"p{number:02}",
            practice=False,
        )
    for agent in agents:
        spanlab.replay(paradigm, agent=agent, trials=trials, seed=50, data=data)
    return data


def shown(data: Path, folder: Path) -> ReportSection | None:
    """The section of the report on these data."""
    drawn = Folder(folder)

    def figure(name: str, spec: dict[str, Any], title: str, caption: str) -> FigureFiles:
        return FigureFiles(name, title, caption, name, "", spec)

    return section(SectionRequest([data], load([data]), (), drawn.table, figure, lambda *words: " ".join(words)))


@pytest.mark.slow
def test_a_section_shows_people_as_a_cloud_and_machines_with_intervals(run: Run, tmp_path: Path) -> None:
    data = people_and_machines(tmp_path / "data", 3, 12, ("cognitive:slots?k=3",))
    assert shown(data, tmp_path) is None
    status, printed, complaint = run("fit", str(data), *MODELS, "--save")
    assert (status, complaint.strip()) == (0, "")
    assert printed.rstrip().endswith(FILE)
    made = shown(data, tmp_path)
    assert made is not None
    parameters, curves = made.figures
    rows = parameters.spec["data"]["values"]
    assert [row["kind"] for row in rows if row["panel"] == "slots: k" and "value" in row] == ["person"] * 3 + [
        "machine"
    ]
    assert {row["group"] for row in rows} == {"3 people", "cognitive:slots?k=3"}
    assert all(row["low"] <= row["value"] <= row["high"] for row in rows if "value" in row)
    panels = {f"{model}: {group}" for model in ("slots", "sdt-shared") for group in ("3 people", "cognitive:slots?k=3")}
    assert {row["panel"] for row in curves.spec["data"]["values"]} == panels
    assert "with their fitted parameters" in curves.caption
    said = " ".join(made.notes)
    for sentence in ("3 people: ", "log units each on average, people as units)", "of 10 simulated answerers of each"):
        assert sentence in said
    assert (tmp_path / "tables" / "cd_parameters_of_models.csv").exists()


def test_a_section_does_not_show_fits_of_other_answers(run: Run, tmp_path: Path) -> None:
    data = people_and_machines(tmp_path / "data", 0, 8, ("cognitive:slots?k=3",))
    assert run("fit", str(data), "--model", "slots", "--simulated", "10", "--save")[0] == 0
    spanlab.replay("vsr", agent="cognitive:m3", trials=2, seed=1, data=data)
    made = shown(data, tmp_path)
    assert made is not None
    assert len(made.figures) == 2  # sessions of another paradigm change nothing
    spanlab.replay("cd", agent="chance", trials=8, seed=3, data=data)
    made = shown(data, tmp_path)
    assert made is not None
    assert (made.figures, made.tables) == ((), ())
    assert made.notes == (
        "cd: the models were fitted to other answers than those of this page, and are not shown. Fit again.",
    )


def test_a_hash_knows_every_answer() -> None:
    """Numbers of trials depend on what else was read, and count for nothing; who comes first does
    neither."""
    trials = design("order", 40)
    first, second = (
        Answerer("vsr", name, False, trials.answered(np.arange(len(trials)) % 3)) for name in ("one", "other")
    )
    same = replace(first, trials=replace(first.trials, trial=first.trials.trial + 100))
    assert digest([first, second]) == digest([second, same])
    changed = first.trials.answer.copy()
    changed[7] = 5
    for other in (
        replace(first, trials=replace(first.trials, answer=changed)),
        replace(first, name="somebody"),
        replace(first, person=True),
        replace(first, trials=first.trials.take(np.arange(len(trials) - 1))),
    ):
        assert digest([other, second]) != digest([first, second])


def test_fits_of_another_paradigm_stay(run: Run, tmp_path: Path) -> None:
    data = people_and_machines(tmp_path / "data", 0, 8, ("cognitive:slots?k=3",))
    spanlab.replay("vsr", agent="cognitive:m3", trials=4, seed=1, data=data)
    assert run("fit", str(data), "--paradigm", "cd", "--model", "slots", "--simulated", "10", "--save")[0] == 0
    first = stored(data)
    assert run("fit", str(data), "--paradigm", "vsr", "--model", "m3", "--simulated", "10", "--save")[0] == 0
    assert stored(data)["cd"] == first["cd"]
    assert set(stored(data)) == {"cd", "vsr"}


@pytest.mark.parametrize(
    ("content", "said"), [("{", "cannot be read"), ('{"format": 99}', "another version"), ("[]", "another version")]
)
def test_a_file_that_holds_something_else_is_said_and_kept(content: str, said: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(content, encoding="utf-8")
    with pytest.raises(SpanLabError, match=said):
        stored(tmp_path)
    assert (tmp_path / FILE).read_text(encoding="utf-8") == content


def test_tables_have_no_folder_to_keep_fits_in(run: Run, tmp_path: Path) -> None:
    status, _, complaint = run("fit", "published:nback", "--model", "sdt", "--save")
    assert status == 1
    assert "give a folder of sessions" in complaint
