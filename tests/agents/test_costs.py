"""An agent of another package that costs something: estimate, limit and account are methods of the
agent, and sessions ask for them without knowing it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from session_tools import command

AGENT = '''
from spanlab.agents import Agent, AgentKind, Cost, Episode, Response
from spanlab.core.errors import SpanLabError


class Taxi(Agent):
    """Guesses, and takes a fare for every trial."""

    kind = AgentKind("taxi", help="takes a fare for every trial")

    def __init__(self, fare, limit):
        self.fare, self.limit, self.paid, self.name = fare, limit, 0.0, f"taxi:{fare:g}"

    @classmethod
    def options(cls):
        return frozenset({"care", "price"})

    @classmethod
    def from_name(cls, detail, options):
        return cls(float(detail or 1), options.values.get("care", {}).get("max_cost"))

    def settings(self):
        return {"fare": self.fare}

    def recorded_options(self):
        return {"care": {"max_cost": self.limit}}

    def estimate(self, outlook):
        trials = round(sum(kind.times for kind in outlook.trials))
        return Cost({"cost": trials * self.fare, "questions": outlook.questions}, f"{trials} rides, cost {trials * self.fare:g}")

    def carry(self, ledger):
        self.paid = ledger.info["account"]["cost"]

    def account(self, ledger):
        return Cost({"cost": self.paid}, f"paid {self.paid:g}")

    def start(self, context):
        if self.limit is not None and self.paid + self.fare > self.limit:
            raise SpanLabError(f"max_cost {self.limit:g} is reached")
        self.paid += self.fare
        return Ride(context.seed)


class Ride(Episode):
    def __init__(self, seed):
        self.seed = seed % 2**32

    async def step(self, percept, truth=None):
        import numpy as np

        return None if percept.ask is None else Response(percept.ask.kind.guess(np.random.RandomState(self.seed)))
'''  # noqa: E501


@pytest.mark.slow
def test_an_agent_of_another_package_has_an_estimate_a_limit_and_an_account(tmp_path: Path) -> None:
    site = tmp_path / "site"
    (folder := site / "taxi-1.0.dist-info").mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: taxi\nVersion: 1.0\n", encoding="utf-8")
    (folder / "entry_points.txt").write_text("[spanlab.agents]\ntaxi = taxi:Taxi\n", encoding="utf-8")
    (site / "taxi.py").write_text(AGENT, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(site)}

    def spanlab(*arguments: str, status: int = 0) -> str:
        ended = subprocess.run(command(*arguments), env=environment, cwd=tmp_path, capture_output=True, text=True)
        assert ended.returncode == status, ended.stderr
        return " ".join((ended.stdout + ended.stderr).split())

    session = tmp_path / "data" / "vsr-taxi-2-s1"

    def record() -> dict[str, Any]:
        return json.loads((session / "session.json").read_text(encoding="utf-8"))

    said = spanlab("replay", "vsr", "--agent", "taxi:2", "--trials", "4", "--max-cost", "5", status=1)
    for words in ("taxi:2: 4 rides, cost 8", "max_cost 5 is reached", "The finished trials are safe", "taxi:2: paid 4"):
        assert words in said
    assert record()["estimate"]["cost"] == 8
    assert record()["estimate"]["questions"] >= 1
    assert record()["care"] == {"max_cost": 5.0}
    assert record()["account"] == {"cost": 4.0}
    # the limit holds for the session as a whole, and may be raised
    assert "max_cost 7 is reached" in spanlab("resume", str(session), "--max-cost", "7", status=1)
    assert record()["account"] == {"cost": 6.0}
    assert "taxi:2: paid 8" in spanlab("resume", str(session), "--max-cost", "9")
    assert record()["care"] == {"max_cost": 9.0}
    assert record()["account"] == {"cost": 8.0}
    # what it does not take is refused
    assert "--chat is for chat agents" in spanlab(
        "replay", "vsr", "--agent", "taxi", "--chat", "temperature=0", status=1
    )
