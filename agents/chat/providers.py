"""Named providers of chat models: those that ship, and those in the user's file.

``chat:MODEL`` is served where the environment says; ``chat:MODEL@PROVIDER`` and ``chat:@PROVIDER``
(its default model) where a provider is. Only the name of a known provider counts after the last
``@``, since names of models may hold one, too.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator

from ...core.errors import ParadigmError, Problem, SpanLabError
from ...core.registry import StrictModel, nearest
from ...paradigms.language.diagnostics import in_order, validated
from ...paradigms.language.yaml_source import Document, parse, read
from .cost.totals import Prices
from .transport.endpoint import OPENAI_URL, REASONING_FIELDS, Endpoint, holds_secrets, web_address
from .transport.hooks import SendHook
from .transport.in_process import PREFIX as IN_PROCESS
from .transport.in_process import InProcess
from .transport.inspect_hook import PREFIX, InspectHook

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
        return None if self.provider is None else self.provider.prices.get(self.model)

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
    text = files(__name__.rpartition(".")[0]).joinpath(_FILE).read_text("utf-8")
    return _over({}, parse(text, _FILE))


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
    for prefix, kind in ((PREFIX, InspectHook), (IN_PROCESS, InProcess)):
        if not detail.startswith(prefix):
            continue
        hook = kind(detail.removeprefix(prefix))
        return Serving(detail, Endpoint(key_variable=None, by=hook.name), hook=hook)
    model, at, name = detail.rpartition("@")
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
