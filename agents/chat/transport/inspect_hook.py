"""Whatever provider inspect_ai has, as a chat model: ``chat:inspect/PROVIDER/MODEL``."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from typing_extensions import override

from ....core.doors import need
from ....core.errors import SpanLabError
from ..messages import Reply
from .departure import asked_wait
from .endpoint import Endpoint, EndpointError
from .hooks import Outgoing, SendHook
from .refusals import explain_status
from .replies import counted

#: how a model is named that inspect_ai reaches
PREFIX = "inspect/"
#: options of chat completions, where inspect_ai calls them otherwise
_NAMES = {"max_completion_tokens": "max_tokens", "stop": "stop_seqs"}
#: reasons for which a reply ends, as chat completions call them
_ENDS = {"max_tokens": "length", "model_length": "length", "unknown": None}
#: how many requests are under way is up to SpanLab
_MANY = 10_000


class InspectHook(SendHook):
    """Sends requests through inspect_ai.

    Parameters
    ----------
    model : as inspect_ai names it, such as ``anthropic/claude-sonnet-4-5``, or a model of its
    """

    batches = True

    def __init__(self, model: Any) -> None:
        self._wanted = model
        self._model: Any = None
        self.name = f"inspect_ai: {model}"

    @override
    def check(self) -> None:
        need("inspect", "inspect_ai", "a model of inspect_ai")
        try:
            self._model = self._model or (
                importlib.import_module("inspect_ai.model").get_model(self._wanted)
                if isinstance(self._wanted, str)
                else self._wanted
            )
        except SpanLabError:
            raise
        except Exception as error:  # whatever a provider raises that lacks a key or a package
            reasons = str(error).strip().splitlines()
        else:
            return
        raise SpanLabError(
            f"inspect_ai has no model '{self._wanted}' to use: {next(iter(reasons), 'it does not say why')}"
        )

    @override
    async def send(self, request: Outgoing) -> Reply:
        self.check()
        model = importlib.import_module("inspect_ai.model")
        messages = [_message(model, one) for one in request.messages]
        client: Any = getattr(self._model.api, "client", None)
        if getattr(client, "max_retries", 0):  # clients of providers that repeat requests by themselves
            client.max_retries = 0
        try:
            output = await self._model.generate(messages, config=_config(model, request), cache=False)
        except Exception as error:  # whatever a provider raises, which inspect_ai wraps
            cause = error.__cause__
            fault = self._fault(cause if isinstance(cause, Exception) else error, request.model)
            if fault is None:
                raise
        else:
            return self._reply(output, request)
        raise fault

    def _fault(self, error: Exception, model: str) -> EndpointError | None:
        """What a provider raises, in a sentence; None where it tells no status, and no connection
        was lost."""
        endpoint = Endpoint(key_variable=None, by=self.name)
        status, told = getattr(error, "status_code", None), endpoint.redact(str(error))
        headers = getattr(getattr(error, "response", None), "headers", None) or {}
        if isinstance(status, int):
            fault = explain_status(endpoint, model, status, told, comes_back="retry-after" in headers)
            fault.wait_s = asked_wait({str(name).lower(): str(value) for name, value in dict(headers).items()})
            return fault
        if not isinstance(error, OSError) and not type(error).__name__.endswith(("ConnectionError", "TimeoutError")):
            return None
        fault = EndpointError(f"no reply from {self.name} ({told}); try again later", permanent=False)
        fault.begun = True
        return fault

    def _reply(self, output: Any, request: Outgoing) -> Reply:
        if output.error:
            raise EndpointError(
                f"inspect_ai reports an error in place of a reply ({str(output.error)[:200]})", permanent=False
            )
        usage = output.usage
        taken = None
        if usage is not None:
            # what inspect_ai counts as read leaves out what a provider had kept
            kept, written = usage.input_tokens_cache_read or 0, usage.input_tokens_cache_write or 0
            taken = counted(
                usage.input_tokens + kept + written,
                usage.output_tokens,
                usage.total_tokens or None,
                usage.reasoning_tokens,
                usage.input_tokens_cache_read,
            ).model_copy(update={"cache_write_tokens": usage.input_tokens_cache_write})
        if output.stop_reason == "content_filter":
            fault = EndpointError("a filter blocked the reply", status=400, of_request=True, filtered=True)
            fault.begun, fault.taken = True, taken
            raise fault
        choice = next(iter(output.choices), None)
        return Reply(
            content=output.completion,
            reasoning=_reasoning(output) or None,
            finish_reason=_ENDS.get(output.stop_reason, output.stop_reason),
            served_model=output.model or None,
            **({} if taken is None else taken.model_dump()),
            # of a reply from a batch no latency is known; else without what inspect_ai itself waited
            latency_ms=None if request.batch else (output.time or 0.0) * 1000,
            first_logprobs=choice and _first(choice.logprobs),
        )


def _config(model: Any, request: Outgoing) -> Any:
    """Options of a request as inspect_ai takes them; what it has no name for goes to the provider as
    it is."""
    known: dict[str, Any] = {"max_retries": 0, "max_connections": _MANY}
    further: dict[str, Any] = {}
    for name, value in request.options.items():
        ours = _NAMES.get(name, name)
        if name == "response_format":
            form = value["json_schema"]
            known["response_schema"] = model.ResponseSchema(name=form["name"], json_schema=form["schema"], strict=True)
        elif ours in model.GenerateConfig.model_fields:
            known[ours] = value
        else:
            further[name] = value
    return model.GenerateConfig(**known, batch=request.batch or None, extra_body=further or None)


def _message(model: Any, message: Mapping[str, Any]) -> Any:
    kinds = {
        "system": model.ChatMessageSystem,
        "developer": model.ChatMessageSystem,
        "user": model.ChatMessageUser,
        "assistant": model.ChatMessageAssistant,
    }
    content: str | Sequence[Mapping[str, Any]] = message["content"]
    if isinstance(content, str):
        return kinds[message["role"]](content=content)
    parts = [
        model.ContentText(text=part["text"])
        if part["type"] == "text"
        else model.ContentImage(image=part["image_url"]["url"])
        for part in content
    ]
    return kinds[message["role"]](content=parts)


def _reasoning(output: Any) -> str:
    content = output.message.content if output.choices else ""
    return (
        ""
        if isinstance(content, str)
        else "\n\n".join(str(part.reasoning) for part in content if part.type == "reasoning" and part.reasoning)
    )


def _first(logprobs: Any) -> dict[str, float] | None:
    if logprobs is None or not logprobs.content:
        return None
    first = logprobs.content[0]
    return {one.token: float(one.logprob) for one in [first, *(first.top_logprobs or [])]}
