"""Who serves a chat model: named providers, those that ship and those in the user's file; or this
program itself, by transformers.

``chat:MODEL`` is served where the environment says; ``chat:MODEL@PROVIDER`` and ``chat:@PROVIDER``
(its default model) where a provider is. Only the name of a known provider counts after the last
``@``, since names of models may hold one, too. ``chat:hf/PATH`` is a model in this program: nothing is served,
and nothing leaves.
"""

from __future__ import annotations

import asyncio
import base64
import functools
import importlib
import inspect
import io
import os
import re
import sys
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator
from typing_extensions import override

from ...core.doors import need
from ...core.errors import ParadigmError, Problem, SpanLabError
from ...core.json_values import in_a_list
from ...core.registry import StrictModel, nearest
from ...paradigms.language.diagnostics import in_order, validated
from ...paradigms.language.yaml_source import Document, parse, read
from .cost.totals import Prices
from .likelihoods import plain_text
from .messages import Reply, ScoredReply
from .transport.endpoint import OPENAI_URL, REASONING_FIELDS, Endpoint, EndpointError, holds_secrets, web_address
from .transport.hooks import Outgoing, SendHook
from .transport.inspect_hook import PREFIX as INSPECT
from .transport.inspect_hook import InspectHook
from .transport.refusals import explain_status
from .transport.replies import KEPT

#: how a model in this program is named
HF = "hf/"
#: requests that go through the model together
_TOGETHER = 32
#: how long a request waits for others that come at the same moment
_GATHER_S = 0.005
#: conversations whose beginnings are kept while their answers are scored
_BEGUN = 16
#: the longest reply where the settings name none
_LONGEST = 1024
#: options of generation, under the names of chat completions and of transformers
_GENERATION = {
    "max_tokens": "max_new_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "min_p": "min_p",
    "repetition_penalty": "repetition_penalty",
    "stop": "stop_strings",
}
_OTHERS = frozenset({"seed", "logprobs", "top_logprobs", "chat_template_kwargs"})
_SCORING = frozenset({"prompt_logprobs", "echo", "add_generation_prompt", "continue_final_message"})
#: the environment variable that names a file of one's own
FILE_VARIABLE = "SPANLAB_PROVIDERS"
_FILE = "providers.yaml"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,79}")
#: what a key might be called by somebody who wants to write it into the file
_KEYS = {"key", "api_key", "apikey", "token", "secret", "password"}


class Limits(StrictModel):
    """Limits of what a provider takes."""

    requests_per_minute: int | None = Field(default=None, ge=1, description="requests per minute")
    tokens_per_minute: int | None = Field(default=None, ge=1, description="tokens per minute")
    concurrency: int | None = Field(default=None, ge=1, le=10_000, description="requests at once")


class Provider(StrictModel):
    """A server of chat models that has a name."""

    base_url: str = Field(
        description="address of the server, without /chat/completions, such as http://localhost:8000/v1"
    )
    key_variable: str | None = Field(
        default=None, description="the environment variable that has the key; if not given, no key is sent"
    )
    default_model: str | None = Field(default=None, min_length=1, description="the model that chat:@NAME stands for")
    limits: Limits = Field(
        default=Limits(), description="the server's limits: requests_per_minute, tokens_per_minute, concurrency"
    )
    prices: dict[str, Prices] = Field(
        default={}, description="price of a million tokens by model: input and output (and cached_input)"
    )
    reasoning_fields: list[str] = Field(
        default=list(REASONING_FIELDS),
        description="fields of a reply that may have the model's reasoning; the first one present is used",
    )
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = Field(
        default="max_tokens", description="the server's name for max_tokens"
    )

    @field_validator("base_url")
    @classmethod
    def _address(cls, value: str) -> str:
        # A ValueError tells the value no further: it may hold a password.
        parts = web_address(value)
        if parts is None:
            raise ValueError(f"expected a web address such as {OPENAI_URL}")
        if holds_secrets(parts):
            raise ValueError(
                "expected an address without user name, password and key: keys are read from the environment only"
                " (key_variable)"
            )
        return value.rstrip("/")

    @field_validator("key_variable")
    @classmethod
    def _variable(cls, value: str | None) -> str | None:
        if value is not None and not _VARIABLE.fullmatch(value):
            raise ValueError(
                "expected the name of an environment variable in capitals, such as OPENAI_API_KEY (its name, not the"
                " key itself)"
            )
        return value


@dataclass(frozen=True, slots=True)
class Serving:
    """Model and the server that serves it."""

    model: str
    endpoint: Endpoint
    provider: Provider | None = None
    #: what sends the requests, where it is no server of chat completions
    hook: SendHook | None = None

    @property
    def prices(self) -> Prices | None:
        """The prices of the model in the provider's file."""
        return self.provider and self.provider.prices.get(self.model)

    @property
    def request_limits(self) -> dict[str, Any]:
        """The provider's limits for requests: fields of ``RequestLimits``."""
        return {} if self.provider is None else self.provider.limits.model_dump(exclude_none=True)


def own_file() -> Path:
    """The user's file of providers: ``SPANLAB_PROVIDERS``, or ``providers.yaml`` where programs
    keep their settings; it need not exist."""
    named = os.environ.get(FILE_VARIABLE, "").strip()
    if named:
        return Path(named).expanduser()
    import typer

    return Path(typer.get_app_dir("spanlab")) / _FILE


def providers() -> dict[str, Provider]:
    """Every known provider by its name; those that ship first.

    Raises
    ------
    SpanLabError
        with every problem of the file of one's own, each with its line and key, or when it was
        named and cannot be read.
    """
    path = own_file()
    if not os.environ.get(FILE_VARIABLE, "").strip() and not path.exists():
        return dict(shipped())
    return _over(shipped(), read(path, str(path)))


@functools.cache
def shipped() -> Mapping[str, Provider]:
    """The providers that ship, whatever the user's file says."""
    return _over({}, parse(files(__name__.rpartition(".")[0]).joinpath(_FILE).read_text("utf-8"), _FILE))


def _over(known: Mapping[str, Provider], document: Document) -> dict[str, Provider]:
    """Providers that are known, and over them those of a document; one that is known keeps the keys
    that the document leaves out."""
    data = document.data
    problems: list[Problem] = []
    if not isinstance(data, dict) or not isinstance(data.get("providers"), dict):
        raise ParadigmError(
            [document.problem((), "expected 'providers:' and below it a name for each provider, with its keys")]
        )
    problems += [
        document.problem((key,), f"unknown key '{key}'; there is only 'providers'")
        for key in data
        if key != "providers"
    ]
    found = dict(known)
    for name, given in data["providers"].items():
        path = ("providers", name)
        if not _NAME.fullmatch(name):
            problems.append(
                document.problem(path, "expected a name in small letters, digits, dots, hyphens and underscores")
            )
            continue
        if not isinstance(given, dict):
            problems.append(document.problem(path, "expected keys with values, such as base_url"))
            continue
        hiding = [key for key in given if key.lower().replace("-", "_") in _KEYS]
        problems += [document.problem((*path, key), _NO_KEYS) for key in hiding]
        before = found[name].model_dump(exclude_unset=True) if name in found else {}
        merged = {**before, **{key: value for key, value in given.items() if key not in hiding}}
        if isinstance(merged.get("prices"), dict) and isinstance(before.get("prices"), dict):
            merged["prices"] = {**before["prices"], **merged["prices"]}
        provider, wrong = validated(Provider, merged)
        problems += [document.problem((*path, *inner), message) for inner, message in wrong]
        if isinstance(provider, Provider):
            found[name] = provider
    if problems:
        raise ParadigmError(in_order(problems))
    return found


_NO_KEYS = (
    "an API key must not stand in a file: put it into an environment variable, name that variable with key_variable,"
    " and remove the key here"
)


def serving(detail: str) -> Serving:
    """The model and the server that ``MODEL``, ``MODEL@PROVIDER`` or ``@PROVIDER`` stands for.

    Raises
    ------
    SpanLabError
        for the misspelt name of a provider, one without a default model where none is named, and a
        faulty file of one's own.
    """
    for prefix, kind in ((INSPECT, InspectHook), (HF, InProcess)):
        if detail.startswith(prefix):
            hook = kind(detail.removeprefix(prefix))
            return Serving(detail, Endpoint(key_variable=None, by=hook.name), hook=hook)
    model, at, name = detail.rpartition("@")
    if name.startswith(("http://", "https://")):
        raise SpanLabError(
            f"chat:{detail}: the address of a server is set by OPENAI_BASE_URL={name}; leave out @{name}"
        )
    if name == "anthropic" and name not in providers():
        raise SpanLabError(f"{name} has an interface of its own: use chat:inspect/anthropic/{model or 'MODEL'}")
    if not at or (not model and "/" in name):  # names of models may begin with it, such as @cf/meta/llama-3
        return Serving(detail, Endpoint())
    known = providers()
    if name not in known:
        hint = nearest(name, known)
        if not model:
            raise SpanLabError(
                f"there is no provider '{name}'{hint or '; there are ' + ', '.join(known)} (spanlab list --providers)"
            )
        if hint:
            raise SpanLabError(
                f"chat:{detail}: there is no provider '{name}'{hint} (if '@{name}' is a part of the model's name, add @"
                " and the provider)"
            )
        return Serving(detail, Endpoint())
    provider = known[name]
    model = model or provider.default_model or ""
    if not model:
        raise SpanLabError(f"{name} has no default model: name one, such as chat:MODEL@{name}")
    return Serving(
        model,
        Endpoint(
            provider.base_url, provider.key_variable, name, tuple(provider.reasoning_fields), provider.max_tokens_field
        ),
        provider,
    )


class InProcess(SendHook):
    """Runs a model of transformers, on a GPU where there is one.

    Requests that come together go through it together. A conversation is written by the model's chat
    template, or as plain text where it has none. Of a conversation whose answers are scored the
    beginning is computed once.

    Parameters
    ----------
    path : a folder, or a name on the hub
    """

    local = True

    def __init__(self, path: str) -> None:
        self._path = os.path.expanduser(path)
        self.name = f"transformers: {path}"
        self._waiting: list[tuple[Outgoing, asyncio.Future[Reply]]] = []
        self._worker: asyncio.Task[None] | None = None
        self._begun: OrderedDict[str, tuple[list[int], list[float | None], Any]] = OrderedDict()

    @override
    def check(self) -> None:
        for package in ("torch", "transformers"):
            need("hf", package, "a model in this program")
        self._loaded  # noqa: B018 - loads it, or says why it cannot be

    @functools.cached_property
    def _loaded(self) -> tuple[Any, Any, Any]:
        """The model, what writes its conversations, and its tokenizer."""
        import torch

        if self._path.startswith(("/", ".")) and not os.path.isdir(self._path):
            raise SpanLabError(f"there is no folder {self._path} with a model of transformers")
        transformers: Any = importlib.import_module("transformers")
        transformers.utils.logging.disable_progress_bar()
        try:
            config = transformers.AutoConfig.from_pretrained(self._path)
            sees = type(config) in transformers.AutoModelForImageTextToText._model_mapping
            auto = transformers.AutoModelForImageTextToText if sees else transformers.AutoModelForCausalLM
            model = auto.from_pretrained(self._path, dtype="auto")
            writer = (transformers.AutoProcessor if sees else transformers.AutoTokenizer).from_pretrained(self._path)
        except Exception as error:  # transformers raises many kinds for what is no model
            reasons = str(error).strip().splitlines() or [type(error).__name__]
            raise SpanLabError(f"transformers has no model '{self._path}' to use: {reasons[0][:300]}") from None
        tokenizer = writer.tokenizer if sees else writer
        tokenizer.padding_side = "left"
        if tokenizer.pad_token is None:
            tokenizer.pad_token = tokenizer.eos_token
        return model.to("cuda" if torch.cuda.is_available() else "cpu").eval(), writer, tokenizer

    @override
    def check_options(self, options: Mapping[str, Any]) -> None:
        if strange := [name for name in options if name not in {*_GENERATION, *_OTHERS, *_SCORING}]:
            raise EndpointError(f"a model in this program takes no '{strange[0]}': leave it out (chat settings)")

    @override
    async def send(self, request: Outgoing) -> Reply:
        answered: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, answered))
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        return await answered

    async def _work(self) -> None:
        """Answer all that waits, those that can go together at once."""
        while self._waiting:
            await asyncio.sleep(_GATHER_S)
            lots = [self._lot()]
            for lot in lots:
                try:
                    replies = await asyncio.to_thread(self._answers, [request for request, _ in lot])
                except Exception as error:
                    if isinstance(error, EndpointError) and len(lot) > 1:
                        lots += [[one] for one in lot]  # it may be about one of them alone
                        continue
                    for _, answered in lot:
                        if not answered.done():
                            answered.set_exception(error)
                    continue
                for (_, answered), reply in zip(lot, replies, strict=True):
                    if not answered.done():
                        answered.set_result(reply)

    def _lot(self) -> list[tuple[Outgoing, asyncio.Future[Reply]]]:
        """The requests that go through the model next: with the options of the first one, and alone
        where its random numbers have a seed."""
        first = self._waiting[0][0]
        alike = [one for one in self._waiting if one[0].options == first.options]
        lot = alike[: 1 if "seed" in first.options else _TOGETHER]
        self._waiting = [one for one in self._waiting if one not in lot]
        return lot

    def _answers(self, requests: Sequence[Outgoing]) -> list[Reply]:
        import torch

        with torch.inference_mode():
            if _SCORING & requests[0].options.keys():
                return [self._scored(request) for request in requests]
            return self._generated(requests)

    def _refuses(self, why: str, code: str = "") -> EndpointError:
        """What a server says that does not take a request."""
        return explain_status(Endpoint(key_variable=None, by="transformers"), self._path, 400, why, code=code)

    def _inputs(self, requests: Sequence[Outgoing]) -> Any:
        """Conversations as the model reads them.

        Raises
        ------
        EndpointError
            when it does not take them: by its chat template, for pictures, or since they are too long.
        """
        model = self._loaded[0]
        inputs = self._written(requests).to(model.device)
        length, longest = inputs["input_ids"].shape[1], _context_of(model)
        if length >= longest:
            raise self._refuses(f"{length} tokens, and it takes {longest}", "context_length_exceeded")
        return inputs

    def _written(self, requests: Sequence[Outgoing]) -> Any:
        _, writer, tokenizer = self._loaded
        options = requests[0].options
        if writer is tokenizer and any(isinstance(said["content"], list) for one in requests for said in one.messages):
            raise self._refuses("image input is not supported")
        if requests[0].text is not None or not getattr(writer, "chat_template", None):
            texts = [plain_text(one.messages) if one.text is None else one.text for one in requests]
            return tokenizer(texts, padding=True, return_tensors="pt")
        from jinja2 import TemplateError

        try:
            return writer.apply_chat_template(
                [[_with_pictures(message) for message in one.messages] for one in requests],
                add_generation_prompt=options.get("add_generation_prompt", True),
                tokenize=True,
                return_dict=True,
                return_tensors="pt",
                **({"padding": True} if writer is tokenizer else {"processor_kwargs": {"padding": True}}),
                **options.get("chat_template_kwargs", {}),
            )
        except TemplateError as error:
            raise self._refuses(str(error)) from None

    def _generated(self, requests: Sequence[Outgoing]) -> list[Reply]:
        import torch

        model, _, tokenizer = self._loaded
        options, inputs = requests[0].options, self._inputs(requests)
        start = inputs["input_ids"].shape[1]
        how = {ours: options[name] for name, ours in _GENERATION.items() if name in options}
        how["max_new_tokens"] = min(how.get("max_new_tokens", _LONGEST), _context_of(model) - start)
        if how.get("temperature") == 0:
            how |= {"do_sample": False, "temperature": None, "top_p": None, "top_k": None}
        elif "temperature" in how:
            how["do_sample"] = True
        if "seed" in options:
            torch.manual_seed(options["seed"])
        found = model.generate(
            **inputs,
            **how,
            tokenizer=tokenizer,
            pad_token_id=tokenizer.pad_token_id,
            return_dict_in_generate=True,
            output_logits=bool(options.get("logprobs")),
        )
        ending = {*in_a_list(model.generation_config.eos_token_id), tokenizer.eos_token_id}
        replies: list[Reply] = []
        for row, sequence in enumerate(found.sequences[:, start:].tolist()):
            end = next((place for place, token in enumerate(sequence) if token in ending), None)
            written = sequence if end is None else sequence[: end + 1]
            text = tokenizer.decode(written, skip_special_tokens=True)
            stops = [text.index(stop) for stop in in_a_list(options.get("stop", [])) if stop in text]
            replies.append(
                Reply(
                    content=text[: min(stops, default=len(text))],
                    finish_reason="length" if end is None and not stops else "stop",
                    served_model=self._path,
                    fingerprint=_kind_of(model),
                    prompt_tokens=int(inputs["attention_mask"][row].sum()),
                    completion_tokens=len(written),
                    latency_ms=None,
                    first_logprobs=self._first(found.logits[0][row], options) if found.logits else None,
                )
            )
        return replies

    def _first(self, logits: Any, options: Mapping[str, Any]) -> dict[str, float]:
        """The likeliest first tokens of a reply."""
        likeliest = logits.float().log_softmax(-1).topk(options.get("top_logprobs", 1))
        tokenizer = self._loaded[2]
        return {
            tokenizer.decode([token]): value
            for token, value in zip(likeliest.indices.tolist(), likeliest.values.tolist(), strict=True)
        }

    def _scored(self, request: Outgoing) -> Reply:
        """How probable the tokens of a request are. What it shares with the one before it in the same
        conversation is not computed again."""
        import torch

        model, _, tokenizer = self._loaded
        inputs = self._inputs([request])
        tokens: list[int] = inputs["input_ids"][0].tolist()
        before, values, past = self._begun.pop(request.conversation, ([], [], None))
        # the last token that is shared is read again: it says how probable the next one is
        alike = [one == other for one, other in zip(before, tokens, strict=False)]
        shared = min([*(at for at, same in enumerate(alike) if not same), len(alike), len(tokens)]) - 1
        # where layers look at windows, or keep a state, a memory cannot go back to an earlier token
        layers = {type(layer).__name__ for layer in getattr(past, "layers", ())}
        if shared < 1 or layers != {"DynamicLayer"}:
            shared, past = 0, importlib.import_module("transformers").DynamicCache(config=model.config)
            found = model(**inputs, **{_memory_of(model): past}, use_cache=True)
        else:
            past.crop(shared - len(before))
            found = model(inputs["input_ids"][:, shared:], **{_memory_of(model): past}, use_cache=True)
        logprobs = found.logits[0].float().log_softmax(-1)
        following = torch.tensor(tokens[shared + 1 :], device=logprobs.device)
        new = logprobs[:-1].gather(1, following[:, None])[:, 0].tolist()
        values = [*(values[: shared + 1] if shared else [None]), *new]
        self._begun[request.conversation] = tokens, values, past
        while len(self._begun) > _BEGUN:
            self._begun.popitem(last=False)
        return ScoredReply(
            content="",
            served_model=self._path,
            fingerprint=_kind_of(model),
            prompt_tokens=len(tokens),
            completion_tokens=0,
            latency_ms=None,
            echoed_of=len(tokens),
            echoed=tuple(zip(_pieces(tokenizer, tokens[-KEPT:]), values[-KEPT:], strict=True)),
        )

    @override
    async def aclose(self) -> None:
        self._begun.clear()


def _kind_of(model: Any) -> str:
    """What computes, for the record: another machine may round otherwise."""
    versions = ", ".join(f"{name} {importlib.import_module(name).__version__}" for name in ("transformers", "torch"))
    return f"{versions}, {str(model.dtype).removeprefix('torch.')} on {model.device.type}"


def _context_of(model: Any) -> int:
    """How many tokens a model takes at the most."""
    return getattr(model.config.get_text_config(), "max_position_embeddings", None) or sys.maxsize


def _memory_of(model: Any) -> str:
    """The name under which a model takes its memory of earlier tokens."""
    return "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"


def _pieces(tokenizer: Any, tokens: Sequence[int]) -> list[str]:
    """The text of each token, with the spaces that it has where it stands."""
    pieces, text = [], ""
    for count in range(1, len(tokens) + 1):
        longer = tokenizer.decode(tokens[:count])
        pieces.append(longer.removeprefix(text))
        text = longer
    return pieces


def _with_pictures(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message with its pictures as the processors of transformers take them."""
    from PIL import Image

    content = message["content"]
    if isinstance(content, str):
        return dict(message)
    parts: list[dict[str, Any]] = []
    for part in content:
        if part["type"] == "image_url":
            file = base64.b64decode(part["image_url"]["url"].partition(",")[2])
            parts.append({"type": "image", "image": Image.open(io.BytesIO(file)).convert("RGB")})
        else:
            parts.append(dict(part))
    return {**message, "content": parts}
