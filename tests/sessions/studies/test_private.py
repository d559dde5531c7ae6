"""What people do is nobody else's: permissions of files from their creation on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from session_tools import AtTheWindow, Guessing, Saying, start
from study_files import STUDY, sit, study_in

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
    assert mode(start(tmp_path, vsr, AtTheWindow(Guessing()), 2).folder) == 0o700
    assert mode(start(tmp_path, vsr, Saying(Guessing()), 2).folder) == 0o755


@pytest.mark.parametrize(("text", "wanted"), [("", 0o700), ("shared: true\n", 0o755)])
def test_a_study_can_be_read_by_its_owner_alone_unless_its_file_says_otherwise(
    tmp_path: Path, text: str, wanted: int
) -> None:
    """Whether a server of several workers, links or the first participant makes the folder."""
    begin_workers = lambda study, data: Neighbours(*StudyOffer(study, data).exchange).forget()  # noqa: E731
    for number, makes in enumerate((sit, Tickets.of_study, begin_workers)):
        makes(study_in(tmp_path, STUDY + text), data := tmp_path / f"data-{number}")
        sit(study_in(tmp_path, STUDY + text), data, "p02")
        assert (mode(data / "pair"), mode(data / "pair" / "places.sqlite")) == (wanted, wanted & 0o666)
    assert mode(tmp_path / "data-1" / "pair" / ".links.key") == 0o600


def test_those_whom_workers_serve_with_a_paradigm_are_listed_for_its_owner_alone(tmp_path: Path) -> None:
    (data := tmp_path / "data").mkdir()
    Neighbours(*ParadigmOffer.checked("vsr", data, trials=1).exchange).forget()
    assert mode(data / "places.sqlite") == 0o600
