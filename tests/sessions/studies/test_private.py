"""What people do is nobody else's: permissions of files from their creation on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from session_tools import AtTheWindow, Guessing, Saying, start
from study_files import STUDY, sit, study_in

from spanlab.agents.recorded import Recorded
from spanlab.extensions.browser.visits.admission import Tickets
from spanlab.extensions.browser.visits.neighbours import Neighbours
from spanlab.extensions.browser.visits.offers import StudyOffer
from spanlab.extensions.browser.visits.one_paradigm import ParadigmOffer
from spanlab.paradigms import load_paradigm

pytestmark = pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")


@pytest.fixture(autouse=True)
def usual_mask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_session_of_a_person_can_be_read_by_its_owner_alone(tmp_path: Path) -> None:
    vsr = load_paradigm("vsr")
    for agent, wanted in (
        (AtTheWindow(Guessing()), 0o700),
        (Recorded("recorded:p01", []), 0o700),  # a program that gives a person's answers again
        (Saying(Guessing()), 0o755),
    ):
        assert mode(start(tmp_path, vsr, agent, 2).folder) == wanted
    tmp_path.chmod(0o755)
    Neighbours(*ParadigmOffer.checked("vsr", tmp_path, trials=1).exchange).forget()  # of several workers
    assert mode(tmp_path / "places.sqlite") == 0o600


@pytest.mark.parametrize(
    "makes",
    [sit, Tickets.of_study, lambda study, data: Neighbours(*StudyOffer(study, data).exchange).forget()],
    ids=["participant", "links", "workers"],
)
@pytest.mark.parametrize(("text", "wanted"), [("", 0o700), ("shared: true\n", 0o755)])
def test_a_study_can_be_read_by_its_owner_alone_unless_its_file_says_otherwise(
    tmp_path: Path, text: str, wanted: int, makes: Callable[..., object]
) -> None:
    """Whoever comes first and makes the folder."""
    makes(study := study_in(tmp_path, STUDY + text), data := tmp_path / "data")
    folder = sit(study, data, "p02").folder.parents[1]
    assert (mode(folder), mode(folder / "places.sqlite")) == (wanted, wanted & 0o666)
    assert {mode(key) for key in folder.glob(".links.key")} <= {0o600}
