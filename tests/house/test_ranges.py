"""Ranges and defaults of what files, options and settings may say change on purpose, or not at all. To write them anew:
``python tests/house/test_ranges.py``."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path

from pydantic import BaseModel

from spanlab.paradigms.responses import RESPONSES
from spanlab.paradigms.samplers import SAMPLERS
from spanlab.stimuli import STIMULI

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "ranges.json"
ROOMS = (
    *("agents.chat.agent", "agents.network.training.config", "analysis.data.exclusions"),
    *("sessions.studies", "sessions.evaluations.evaluation_set"),
)


def ranges() -> dict[str, list[str]]:
    """Of each model of the core, in the order of its fields."""
    for room in ROOMS:
        import_module(f"spanlab.{room}")
    for kinds in (SAMPLERS, STIMULI, RESPONSES):
        kinds.known()
    waiting, found = [BaseModel], dict[str, list[str]]()
    while waiting:
        waiting += (model := waiting.pop()).__subclasses__()
        if model.__module__.startswith("spanlab.") and "extensions" not in model.__module__:
            said = re.findall(r"\b(?:Ge|Le|Gt|Lt|MinLen|MaxLen|default)[(=][^,)]*", repr(model.model_fields))
            found[f"{model.__module__}.{model.__qualname__}"] = said
    return found


def test_ranges_and_defaults_are_those_that_were_written_down() -> None:
    golden, now = json.loads(GOLDEN.read_text(encoding="utf-8")), ranges()
    assert {name: now[name] for name in golden} == golden


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(ranges(), indent=0, sort_keys=True) + "\n", encoding="utf-8")
