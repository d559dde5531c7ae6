"""Whatever provider inspect_ai has, as a chat model: ``chat:inspect/PROVIDER/MODEL``."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from typing_extensions import override

from ....core.errors import SpanLabError
from ....core.extras import need
from ..messages import Reply
from .endpoint import EndpointError
from .hooks import Outgoing, SendHook

#: how a model is named that inspect_ai reaches
PREFIX = "inspect/"
#: options of chat completions, as inspect_ai calls them
_NAMES = {
    "max_completion_tokens": "max_tokens",
    "stop": "stop_seqs",
    **{
        name: name
        for name in (
            "temperature",
            "top_p",
            "max_tokens",
            "seed",
            "reasoning_effort",
            "logprobs",
            "top_logprobs",
            "top_k",
            "frequency_penalty",
            "presence_penalty",
        )
    },
}
#: reasons for which a reply ends, as chat completions call them
_ENDS = {"max_tokens": "length", "model_length": "length", "unknown": None}


class InspectHook(SendHook):
    """Sends requests through inspect_ai.

    Parameters
    ----------
    model : as inspect_ai names it, such as ``anthropic/claude-sonnet-4-5``, or a model of its
    """

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
            f"inspect_ai has no model '{self._wanted}' to use: {reasons[0] if reasons else 'it does not say why'}"
        )

    @override
    async def send(self, request: Outgoing) -> Reply:
        self.check()
        model = importlib.import_module("inspect_ai.model")
        if unknown := [name for name in request.options if name not in _NAMES]:
            raise EndpointError(
                f"inspect_ai has no setting for '{unknown[0]}': leave it out, or ask the provider without inspect_ai"
            )
        config = model.GenerateConfig(**{_NAMES[name]: value for name, value in request.options.items()}, max_retries=0)
        output = await self._model.generate(
            [_message(model, one) for one in request.messages], config=config, cache=False
        )
        if output.error:
            raise EndpointError(
                f"inspect_ai reports an error in place of a reply ({str(output.error)[:200]})", permanent=False
            )
        if output.stop_reason == "content_filter":
            raise EndpointError("a filter blocked the reply", status=400, of_request=True, filtered=True)
        usage = output.usage
        choice = output.choices[0] if output.choices else None
        return Reply(
            content=output.completion,
            reasoning=_reasoning(output) or None,
            finish_reason=_ENDS.get(output.stop_reason, output.stop_reason),
            served_model=output.model or None,
            # what inspect_ai counts as read leaves out what a provider had kept
            prompt_tokens=None
            if usage is None
            else usage.input_tokens + (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0),
            completion_tokens=None if usage is None else usage.output_tokens,
            reasoning_tokens=None if usage is None else usage.reasoning_tokens,
            cached_tokens=None if usage is None else usage.input_tokens_cache_read,
            latency_ms=0.0,
            first_logprobs=None if choice is None else _first(choice.logprobs),
        )


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
        else model.ContentImage(image=part["image_url"]["url"], detail=part["image_url"]["detail"])
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
