"""Interfaces that are not chat completions: Anthropic's own (Messages) and OpenAI's Responses, each
through its official client.

The clients repeat nothing: repeats, limits, replies on the disk and the account are those of every
chat model.
"""

from __future__ import annotations

import asyncio
import importlib
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from typing_extensions import override

from ....core.extras import need
from ..messages import Reply, Taken
from .endpoint import Endpoint, EndpointError, explain_connection, explain_status
from .faults import asked_wait
from .hooks import Outgoing, SendHook

#: no reply takes longer: how long one may really take is the setting timeout_s
_LONGEST_S = 24 * 3600.0


class NativeHook(SendHook):
    """Sends requests through an official client.

    Parameters
    ----------
    endpoint : the server, with the environment variable of its key
    """

    #: the package of the client, the extra that brings it, and its class
    package: str
    extra: str
    client: str
    #: the interface, as messages call it
    interface: str

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = self._served = endpoint
        self.name = endpoint.public
        # connections belong to the event loop that opened them
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()

    @override
    def check(self) -> None:
        need(self.extra, self.package, self.interface)
        _ = self._served.public, self._served.key()

    @override
    def check_options(self, options: Mapping[str, Any]) -> None:
        self.arguments(Outgoing("", (), options, ""))

    def _client(self) -> Any:
        """The client of the running event loop."""
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            made = getattr(importlib.import_module(self.package), self.client)
            self._clients[loop] = made(
                api_key=self._served.key(), base_url=self._served.url, max_retries=0, timeout=_LONGEST_S
            )
        return self._clients[loop]

    @override
    async def send(self, request: Outgoing) -> Reply:
        errors = importlib.import_module(self.package)
        arguments = self.arguments(request)
        try:
            answer = await self.asked(self._client(), {**arguments, "extra_headers": dict(request.headers)})
        except errors.APIStatusError as error:
            fault = explain_client_error(error, self._served, request.model)
        except errors.APIConnectionError as error:
            fault = explain_connection(
                error.__cause__ if isinstance(error.__cause__, Exception) else error, self._served, 1
            )
            fault.begun = not _never_left(error)
        except errors.APIResponseValidationError:
            fault = EndpointError(
                f"{self.name} answered, but not as {self.interface} does; is the address right?", permanent=False
            )
            fault.begun = True
        else:
            return self._checked(answer, request.model)
        raise fault  # outside of the except blocks: the client's errors hold the request, whose headers hold the key

    def _checked(self, answer: Any, model: str) -> Reply:
        """Return an answer that is a reply; raise the error that came in place of one with status
        200."""
        told = answer if isinstance(answer, Mapping) else getattr(answer, "model_extra", None) or {}
        error = getattr(answer, "error", None) or told.get("error")
        if error is not None and not self.has_error(answer):
            fields = error if isinstance(error, Mapping) else {"message": str(error)}
            said, code = str(fields.get("message") or error), str(fields.get("type") or fields.get("code") or "")
            known = {"rate_limit": 429, "overloaded": 529}
            status = next((known[word] for word in known if word in code), 400 if code.startswith("invalid") else 500)
            fault = explain_status(
                self._served, model, status, self._served.redact(f"an error in place of a reply: {said}"), 1, code
            )
            fault.begun = True
            raise fault
        try:
            return self.read(answer, model)
        except EndpointError:
            raise
        except (AttributeError, TypeError, KeyError, ValueError) as error:
            why = self._served.redact(f"{type(error).__name__}: {error}")
            fault = EndpointError(
                f"{self.name} answered with status 200, but not as {self.interface} does ({why}); is the address"
                " right?",
                permanent=False,
            )
            fault.begun = True
        raise fault

    def has_error(self, answer: Any) -> bool:
        """Return True if :meth:`read` explains an error in an answer itself."""
        return False

    def filtered(self, why: str, taken: Taken | None) -> EndpointError:
        """A reply that a filter has taken away."""
        fault = EndpointError(
            f"a filter at {self.name} took the reply away ({self._served.redact(why)})",
            True,
            400,
            of_request=True,
            filtered=True,
        )
        fault.begun, fault.taken = True, taken
        return fault

    def unknown(self, names: Sequence[str]) -> None:
        """Refuse settings that the interface does not have.

        Raises
        ------
        EndpointError
            when there are some.
        """
        if names:
            raise EndpointError(
                f"{self.interface} has no {' and no '.join(names)}: leave {'it' if len(names) == 1 else 'them'} out"
            )

    @abstractmethod
    def arguments(self, request: Outgoing) -> dict[str, Any]:
        """A request as the client takes it."""

    @abstractmethod
    async def asked(self, client: Any, arguments: Mapping[str, Any]) -> Any:
        """Send a request and return what the client gives back."""

    @abstractmethod
    def read(self, answer: Any, model: str) -> Reply:
        """Read an answer of the client as a reply.

        Raises
        ------
        EndpointError
            when it is none.
        """

    @override
    async def aclose(self) -> None:
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()


def explain_client_error(error: Any, endpoint: Endpoint, model: str) -> EndpointError:
    """Explain a refusal by the error of an official client."""
    body = error.body if isinstance(error.body, Mapping) else {}
    told = body.get("error", body)
    told = told if isinstance(told, Mapping) else {"message": str(told)}
    code = str(told.get("code") or told.get("type") or "")
    said = endpoint.redact(str(told.get("message") or error.message or ""))
    headers = dict(error.response.headers)
    fault = explain_status(endpoint, model, int(error.status_code), said, 1, code, False, "retry-after" in headers)
    fault.wait_s = asked_wait(headers)
    return fault


def _never_left(error: BaseException) -> bool:
    """Return True if a connection was never made."""
    cause: BaseException | None = error
    while cause is not None:
        if type(cause).__name__ in ("ConnectError", "ConnectTimeout", "UnsupportedProtocol"):
            return True
        cause = cause.__cause__
    return False


def _parts(content: Any) -> list[Mapping[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


class AnthropicHook(NativeHook):
    """Anthropic's own interface: Messages."""

    package, extra, client, interface = "anthropic", "anthropic", "AsyncAnthropic", "Anthropic's interface"
    _ENDS: ClassVar[Mapping[str, str]] = {
        "end_turn": "stop",
        "stop_sequence": "stop",
        "max_tokens": "length",
        "model_context_window_exceeded": "length",
    }

    @override
    def arguments(self, request: Outgoing) -> dict[str, Any]:
        options = dict(request.options)
        longest = options.pop("max_tokens", None) or options.pop("max_completion_tokens", None)
        if longest is None:
            raise EndpointError(
                "Anthropic's interface wants to know how long a reply may be: give --chat max_tokens=1024, for example"
            )
        arguments: dict[str, Any] = {"model": request.model, "max_tokens": longest}
        output: dict[str, Any] = {}
        if (effort := options.pop("reasoning_effort", None)) is not None:
            output["effort"] = effort
        if (form := options.pop("response_format", None)) is not None:
            if "json_schema" not in form:
                raise EndpointError(
                    "Anthropic's interface takes schemas as json_schema alone: set schema_as to json_schema"
                )
            output["format"] = {"type": "json_schema", "schema": form["json_schema"]["schema"]}
        if output:
            arguments["output_config"] = output
        if (stop := options.pop("stop", None)) is not None:
            arguments["stop_sequences"] = stop
        if (kept := options.pop("cache_control", None)) is not None:
            arguments["cache_control"] = kept
        known = (
            "seed",
            "logprobs",
            "top_logprobs",
            "min_p",
            "frequency_penalty",
            "presence_penalty",
            "repetition_penalty",
            "prompt_logprobs",
        )
        self.unknown([name for name in known if name in options])
        first = [message for message in request.messages if message["role"] in ("system", "developer")]
        if first:
            arguments["system"] = [
                {"type": "text", "text": part["text"]} for message in first for part in _parts(message["content"])
            ]
        arguments["messages"] = [
            {"role": message["role"], "content": [_block(part) for part in _parts(message["content"])]}
            for message in request.messages
            if message not in first
        ]
        # what is left are sampling settings, which only some models take, and fields of one's own
        return {**arguments, "extra_body": options}

    @override
    async def asked(self, client: Any, arguments: Mapping[str, Any]) -> Any:
        return await client.messages.create(**arguments)

    @override
    def read(self, answer: Any, model: str) -> Reply:
        usage = answer.usage
        taken = Taken()
        if usage is not None:
            written, kept = usage.cache_creation_input_tokens or 0, usage.cache_read_input_tokens or 0
            # what it counts as read leaves out what was written to its cache or read from there
            longer = getattr(getattr(usage, "cache_creation", None), "ephemeral_1h_input_tokens", None) or 0
            taken = Taken(
                prompt_tokens=(usage.input_tokens or 0) + written + kept,
                completion_tokens=usage.output_tokens,
                cached_tokens=kept or None,
                cache_write_tokens=written or None,
                cache_write_1h_tokens=min(longer, written) or None,
            )
        if answer.stop_reason == "refusal":
            details = answer.stop_details
            raise self.filtered(
                f"refusal{'' if details is None or not details.category else f': {details.category}'}", taken
            )
        texts = [block.text for block in answer.content if block.type == "text"]
        thoughts = [block.thinking for block in answer.content if block.type == "thinking"]
        return Reply(
            content="".join(texts),
            reasoning="\n\n".join(filter(None, thoughts)) or None,
            finish_reason=self._ENDS.get(answer.stop_reason, answer.stop_reason),
            served_model=answer.model,
            **taken.model_dump(),
            latency_ms=0.0,
        )


def _block(part: Mapping[str, Any]) -> dict[str, Any]:
    """A part of a message as Anthropic takes it."""
    if part["type"] == "text":
        return {"type": "text", "text": part["text"]}
    kind, _, data = part["image_url"]["url"].removeprefix("data:").partition(";base64,")
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}


class ResponsesHook(NativeHook):
    """OpenAI's Responses. Nothing is stored there: every request holds the whole conversation."""

    package, extra, client, interface = "openai", "chat", "AsyncOpenAI", "the interface Responses"
    _NAMES: ClassVar[Mapping[str, str]] = {
        "max_tokens": "max_output_tokens",
        "max_completion_tokens": "max_output_tokens",
        "temperature": "temperature",
        "top_p": "top_p",
    }

    @override
    def arguments(self, request: Outgoing) -> dict[str, Any]:
        options = dict(request.options)
        arguments: dict[str, Any] = {"model": request.model, "store": False} | {
            ours: options.pop(name) for name, ours in self._NAMES.items() if name in options
        }
        if (effort := options.pop("reasoning_effort", None)) is not None:
            arguments["reasoning"] = {"effort": effort}
        if (form := options.pop("response_format", None)) is not None:
            if "json_schema" not in form:
                raise EndpointError(
                    "the interface Responses takes schemas as json_schema alone: set schema_as to json_schema"
                )
            arguments["text"] = {"format": {"type": "json_schema", **form["json_schema"]}}
        if options.pop("logprobs", None):
            arguments |= {"include": ["message.output_text.logprobs"], "top_logprobs": options.pop("top_logprobs")}
        known = (
            "seed",
            "stop",
            "top_k",
            "min_p",
            "frequency_penalty",
            "presence_penalty",
            "repetition_penalty",
            "cache_control",
            "prompt_logprobs",
        )
        self.unknown([name for name in known if name in options])
        arguments["input"] = [{"role": message["role"], "content": _inputs(message)} for message in request.messages]
        return {**arguments, "extra_body": options}

    @override
    async def asked(self, client: Any, arguments: Mapping[str, Any]) -> Any:
        return await client.responses.create(**arguments)

    @override
    def has_error(self, answer: Any) -> bool:
        return hasattr(answer, "status") and getattr(answer, "output", None) is not None

    @override
    def read(self, answer: Any, model: str) -> Reply:
        usage = answer.usage
        taken = Taken()
        if usage is not None:
            details, written = usage.input_tokens_details, usage.output_tokens_details
            taken = Taken(
                prompt_tokens=usage.input_tokens,
                completion_tokens=usage.output_tokens,
                reasoning_tokens=None if written is None else written.reasoning_tokens or None,
                cached_tokens=None if details is None else details.cached_tokens or None,
            )
        incomplete = None if answer.incomplete_details is None else answer.incomplete_details.reason
        if incomplete == "content_filter":
            raise self.filtered("content_filter", taken)
        if answer.status in ("queued", "in_progress"):
            queued = (
                f"{self.name} put the request in a queue in place of a reply (status {answer.status}): it has to be"
                " asked again"
            )
            fault = EndpointError(queued, permanent=False)
            fault.begun, fault.taken = True, taken if usage is not None else None
            raise fault
        if answer.error is not None or answer.status in ("failed", "cancelled"):
            code, said = (
                ("", f"the response is {answer.status}")
                if answer.error is None
                else (str(answer.error.code), str(answer.error.message))
            )
            status = 400 if code.startswith(("invalid", "image", "unsupported", "empty")) else 500
            status = 429 if "rate_limit" in code else status
            fault = explain_status(
                self._served, model, status, self._served.redact(f"an error in place of a reply: {said}"), 1, code
            )
            fault.begun, fault.taken = True, taken if usage is not None else None
            raise fault
        parts = [part for item in answer.output if item.type == "message" for part in item.content]
        thoughts = [
            summary.text for item in answer.output if item.type == "reasoning" for summary in item.summary or ()
        ]
        texts = [part for part in parts if part.type == "output_text"]
        told = next((part.logprobs for part in texts if part.logprobs), None)
        return Reply(
            content="".join(part.text for part in texts),
            reasoning="\n\n".join(filter(None, thoughts)) or None,
            refusal="".join(part.refusal for part in parts if part.type == "refusal") or None,
            finish_reason="length" if incomplete == "max_output_tokens" else incomplete or "stop",
            served_model=answer.model,
            **taken.model_dump(),
            latency_ms=0.0,
            first_logprobs=(
                None if told is None else {one.token: float(one.logprob) for one in (told[0], *told[0].top_logprobs)}
            ),
        )


def _inputs(message: Mapping[str, Any]) -> Any:
    """The content of a message as Responses takes it."""
    if isinstance(message["content"], str):
        return message["content"]
    return [
        (
            {"type": "input_text", "text": part["text"]}
            if part["type"] == "text"
            else {"type": "input_image", "image_url": part["image_url"]["url"], "detail": part["image_url"]["detail"]}
        )
        for part in message["content"]
    ]


_HOOKS: Mapping[str, type[NativeHook]] = {"anthropic": AnthropicHook, "responses": ResponsesHook}


def native_hook(api: str, endpoint: Endpoint) -> NativeHook | None:
    """Return the function that sends requests to a provider; None where it speaks chat completions."""
    return _HOOKS[api](endpoint) if api in _HOOKS else None
