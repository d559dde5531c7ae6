"""A real OpenAI-compatible server on this machine that answers by fixed rules: for the
demonstration and for tests, without a key and without a model.

It sees what any chat server is sent, and nothing else.

What it answers in the demonstration follows from simple rules over the words that it is sent, so
that every curve of it can be foretold:

* Spatial free recall: the last red square, which it reads from the end of the message, and fixed
  other cells. Right at a list length of 1, mostly wrong at 18.
* Visual serial recall: the occupied positions, one after the other in reading order: right once in
  as many times as there are patterns.
* Spatial memory updating: always the middle cell, which is the most frequent answer (.217 in the
  long run).
* All other paradigms of the long demonstration: the option that the question names first.

The first rule whose conditions hold counts.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from typing_extensions import override

from spanlab.agents.chat import ChatAgent, ChatSettings, Endpoint, RequestLimits
from spanlab.paradigms import Trial
from spanlab.paradigms.responses import Cells, Choice
from spanlab.stimuli import STIMULI

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
    return [_rule(answer, question) for question, answer in answers.items()]


def _rule(content: str, contains: str, after: str | None = None) -> dict[str, Any]:
    """What is replied where the conversation contains something, and the model's last reply something
    else."""
    return {"content": content, "contains": contains, "after": after}


def _serial_recall() -> Iterator[dict[str, Any]]:
    """The occupied position after the one that was answered last; the first one to begin with."""
    choice = Choice.model_validate({"options": 9})
    # an occupied position is followed by its pattern in a new line, an empty one by the word
    occupied = [f"Position {place}:\n" for place in range(1, 10)]
    for last in range(8):
        for place in range(last + 1, 9):
            yield _rule(choice.write(place), occupied[place], after=choice.write(last))
    for place in range(9):
        yield _rule(choice.write(place), occupied[place])


def _updating() -> Iterator[dict[str, Any]]:
    stimulus = STIMULI.get("boxes").model_validate({"count": 1})
    yield _rule(Choice.model_validate({"options": 9}).write(4), stimulus.words().splitlines()[1])


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
            yield _rule(cells.write(answer), f"{end}\n\n{blank.words()}\n\n{cells.question()}")


#: What figures and tables must say of answers from such a server.
LABEL = "scripted server, not a model"
MODEL = "scripted"

Rule = Mapping[str, Any]


class ScriptedServer:
    """The server as a context manager, in threads of this program.

    Parameters
    ----------
    rules : what it answers, the first that matches; those of the demonstration when not given
    """

    def __init__(self, rules: Sequence[Rule] | None = None) -> None:
        self._rules = demonstration_rules() if rules is None else rules
        #: its address, such as ``http://127.0.0.1:40001``
        self.root = ""

    @property
    def base_url(self) -> str:
        """Its address for OpenAI clients."""
        return f"{self.root}/v1"

    @property
    def endpoint(self) -> Endpoint:
        """The server as an endpoint; no key is ever sent to it."""
        return Endpoint(self.base_url, key_variable=None)

    def agent(
        self, settings: ChatSettings | None = None, model: str = MODEL, request_limits: RequestLimits | None = None
    ) -> ChatAgent:
        """A chat agent that talks to this server, labelled as what it is."""
        labelled = (settings or ChatSettings()).model_copy(update={"label": LABEL})
        return ChatAgent(model, labelled, self.endpoint, request_limits)

    def answer(self, asked: Mapping[str, Any], headers: Message[str, str]) -> tuple[int, Mapping[str, Any]]:
        """The status and the body of the answer to a request."""
        messages = asked["messages"]
        whole = " ".join(piece for message in messages for piece in _texts_of(message))
        replied = [" ".join(_texts_of(message)) for message in messages[-2:-1] if message["role"] == "assistant"]
        for rule in self._rules:
            if rule["contains"] in whole and (rule["after"] is None or rule["after"] in "".join(replied)):
                return 200, completion(asked, rule["content"])
        return 200, completion(asked)

    def __enter__(self) -> Self:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                status, body = server.answer(
                    json.loads(self.rfile.read(int(self.headers["content-length"]))), self.headers
                )
                sent = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

            @override
            def log_message(self, format: str, *args: Any) -> None:
                """Nothing is said on the terminal."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.root = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def completion(asked: Mapping[str, Any], content: str | None = None) -> dict[str, Any]:
    """A reply as servers of chat completions send it; a text that follows from the request when
    there is no rule for it. A token is four characters."""
    if content is None:
        seed = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:8]
        content = f"[mock response for {asked['model']}, fingerprint {seed}]"
    pieces = [piece for message in asked["messages"] for piece in _texts_of(message)]
    read, written = (sum(max(1, len(text) // 4) for text in texts if text) for texts in (pieces, [content]))
    return {
        "object": "chat.completion",
        "model": asked["model"],
        "choices": [{"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written},
    }


def _texts_of(message: Mapping[str, Any]) -> list[str]:
    content = message["content"]
    return [content] if isinstance(content, str) else [part["text"] for part in content if "text" in part]
