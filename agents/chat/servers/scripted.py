"""A real OpenAI-compatible server on this machine that answers by fixed rules: for the
demonstration and for tests, without a key and without a model.

It is ``fakellm``, installed at first use into an environment of its own. It sees what any chat
server is sent, and nothing else.

What it answers in the demonstration follows from simple rules over the words that it is sent, so
that every curve of it can be foretold:

* Spatial free recall: the last red square, which it reads from the end of the message, and fixed
  other cells. Right at a list length of 1, mostly wrong at 18.
* Visual serial recall: the occupied positions, one after the other in reading order: right once in
  as many times as there are patterns.
* Spatial memory updating: always the middle cell, which is the most frequent answer (.217 in the
  long run).
* All other paradigms of the long demonstration: the option that the question names first.

The first rule whose conditions hold counts. ``messages_contain`` is about the whole conversation,
``previous_message_contains`` about the last message but one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from typing_extensions import override

from ....core.atomic_files import user_cache
from ....paradigms import Trial
from ....paradigms.responses import Cells, Choice
from ....stimuli import STIMULI
from ..agent import ChatAgent
from ..settings import ChatSettings
from ..transport.request_limits import RequestLimits
from .local import LocalServer, environment

_GRID = 10
#: All published list lengths of spatial free recall.
_LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 18)


def demonstration_rules(lengths: Sequence[int] = _LENGTHS) -> list[dict[str, Any]]:
    """The rules for ``vsr``, ``sfr`` and ``smu``; ``lengths`` are the list lengths that spatial
    free recall may have."""
    return [*_serial_recall(), *_updating(), *_free_recall(lengths)]


def first_option_rules(trials: Iterable[Trial]) -> list[dict[str, Any]]:
    """To every question of these trials that offers options: always the option that it names first."""
    answers: dict[str, str] = {}
    for trial in trials:
        for step in trial.steps:
            if step.percept.ask is not None and isinstance(step.percept.ask.kind, Choice):
                kind = step.percept.ask.kind
                answers.setdefault(kind.question(), kind.write(kind.values[0]))
    return [
        _rule(f"first option {number}", answer, messages_contain=question)
        for number, (question, answer) in enumerate(answers.items())
    ]


def _rule(name: str, content: str, **when: str) -> dict[str, Any]:
    return {"name": name, "when": when, "respond": {"content": content}}


def _serial_recall() -> Iterator[dict[str, Any]]:
    """The occupied position after the one that was answered last; the first one to begin with."""
    choice = Choice.model_validate({"options": 9})
    # an occupied position is followed by its pattern in a new line, an empty one by the word
    occupied = [f"Position {place}:\n" for place in range(1, 10)]
    for last in range(8):
        for place in range(last + 1, 9):
            conditions = {
                "previous_message_role": "assistant",
                "previous_message_contains": choice.write(last),
                "messages_contain": occupied[place],
            }
            yield _rule(f"position {place + 1} after {last + 1}", choice.write(place), **conditions)
    for place in range(9):
        yield _rule(f"position {place + 1} first", choice.write(place), messages_contain=occupied[place])


def _updating() -> Iterator[dict[str, Any]]:
    stimulus = STIMULI.get("boxes").model_validate({"count": 1})
    yield _rule(
        "middle cell", Choice.model_validate({"options": 9}).write(4), messages_contain=stimulus.words().splitlines()[1]
    )


def _free_recall(lengths: Sequence[int]) -> Iterator[dict[str, Any]]:
    """The end of the last list display and all that follows it tell the last red square and how
    many are wanted."""
    squares, blank = STIMULI.get("squares"), STIMULI.get("blank")()
    others = [37 * n % _GRID**2 for n in range(_GRID**2)]  # spread over the grid
    for take in lengths:
        cells = Cells.model_validate({"grid": _GRID, "take": take})
        for last in range(_GRID**2):
            end = squares.model_validate({"grid": _GRID, "red": [last]}).words().splitlines()[-1]
            answer = (last, *(cell for cell in others if cell != last))[:take]
            yield _rule(
                f"{take} cells, last {last}",
                cells.write(answer),
                messages_contain=f"{end}\n\n{blank.words()}\n\n{cells.question()}",
            )


#: What figures and tables must say of answers from such a server.
LABEL = "scripted server, not a model"
MODEL = "scripted"
FAKELLM = "0.3.5"
_WHAT = "the scripted chat server"
#: Tested together with it; what it does not need is not installed.
_PINS = """
annotated-doc==0.0.7 annotated-types==0.8.0 anyio==4.16.0 click==8.5.1 fastapi==0.165.0 h11==0.16.0 httptools==0.9.0 idna==3.20 opentelemetry-api==1.45.2
pydantic==2.14.3 pydantic_core==2.50.4 python-dotenv==1.2.4 PyYAML==6.0.3 starlette==1.10.0 typing-inspection==0.4.5 typing_extensions==4.16.0 uvicorn==0.54.0
uvloop==0.23.0 watchfiles==1.3.0 websockets==17.4
"""  # noqa: E501
_PROGRAM = "from fakellm.cli import main\nmain()\n"

Rule = Mapping[str, Any]


def install(cache: Path | None = None) -> Path:
    """The Python of the server's own environment, which is created if it does not exist yet (a few
    seconds, needs the network).

    Raises
    ------
    SpanLabError
        when it cannot be made.
    """
    home = (cache or user_cache()) / f"fakellm-{FAKELLM}-py{sys.version_info.major}.{sys.version_info.minor}"
    return environment(home, [f"fakellm=={FAKELLM}"], _PINS.split(), f"{_WHAT} (fakellm {FAKELLM})")


class ScriptedServer(LocalServer):
    """The server as a context manager.

    Parameters
    ----------
    rules : what it answers, as fakellm takes them (the first that matches counts); those of the
        demonstration when not given
    cache : where its environment is kept; the user's cache folder when not given
    timeout_s : how long it may take to start
    """

    def __init__(self, rules: Sequence[Rule] | None = None, cache: Path | None = None, timeout_s: float = 60) -> None:
        super().__init__(_WHAT, f"delete {cache or user_cache()} and try again", timeout_s)
        self._rules = rules
        self._cache = cache

    def agent(
        self, settings: ChatSettings | None = None, model: str = MODEL, request_limits: RequestLimits | None = None
    ) -> ChatAgent:
        """A chat agent that talks to this server, labelled as what it is."""
        labelled = (settings or ChatSettings()).model_copy(update={"label": LABEL})
        return ChatAgent(model, labelled, self.endpoint, request_limits)

    @override
    def program(self, folder: Path) -> tuple[Path, str, Sequence[str], Mapping[str, str]]:
        """The server with its rules, at a free port of its own choice."""
        import yaml

        python = install(self._cache)
        rules = demonstration_rules() if self._rules is None else self._rules
        (folder / "rules.yaml").write_text(
            yaml.safe_dump({"version": 1, "rules": [dict(rule) for rule in rules]}, sort_keys=False), encoding="utf-8"
        )
        return (
            python,
            _PROGRAM,
            ["serve", "--host", "127.0.0.1", "--port", "0", "--config", str(folder / "rules.yaml")],
            {},
        )
