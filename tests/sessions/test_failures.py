"""Trials that fail: so many may be missing, and no more."""

from __future__ import annotations

from pathlib import Path

import pytest
from session_tools import Saying, start

from spanlab.agents.base import Response
from spanlab.agents.interruptions import Unobtainable
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import Percept, load_paradigm
from spanlab.sessions import Runner, read_responses
from spanlab.sessions.record.reader import failed_trials, read_events
from spanlab.sessions.session import complete

VSR = load_paradigm("vsr")


class Failing(Saying):
    """Answers, but for the trials with these numbers."""

    def __init__(self, failing: set[int], bearable: float) -> None:
        super().__init__(self._answer)
        self._failing, self._bearable = failing, bearable

    def _answer(self, percept: Percept, number: int) -> Response:
        if len(self.seen) in self._failing:
            raise Unobtainable("the server refuses it", self._bearable)
        return Response(0)


def test_exactly_the_share_that_is_bearable_may_fail(tmp_path: Path) -> None:
    agent = Failing({2, 4}, 0.5)
    session = start(tmp_path, VSR, agent, 4, levels={"list_length": [2]})
    Runner(session, agent).run()
    assert complete(session.folder)
    assert set(failed_trials(read_events(session.folder))) == {"2", "4"}
    assert read_responses(session.folder)["trial"].unique().tolist() == [1, 3]


def test_one_more_stops_the_session_and_what_was_finished_stays(tmp_path: Path) -> None:
    agent = Failing({2, 3}, 0.25)
    session = start(tmp_path, VSR, agent, 4, levels={"list_length": [2]})
    with pytest.raises(SpanLabError, match=r"stopped after 2 of 4 trials had failed.*fail_on_error 0\.25"):
        Runner(session, agent).run()
    assert not complete(session.folder)
    assert read_responses(session.folder)["trial"].unique().tolist() == [1]


def test_where_every_trial_fails_no_share_is_bearable(tmp_path: Path) -> None:
    agent = Failing({1, 2, 3, 4}, 1.0)
    session = start(tmp_path, VSR, agent, 4, levels={"list_length": [2]})
    with pytest.raises(SpanLabError, match="stopped after 3 of 4 trials had failed and none was finished"):
        Runner(session, agent).run()
