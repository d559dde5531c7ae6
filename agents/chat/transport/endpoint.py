"""The endpoint of a chat model: its address and key, and messages for the case that it cannot be
reached.

A key is read from the environment at the moment it is used. It is in no attribute, record or
message of ours, and what a server says is quoted only after anything that looks like a key has been
taken out.
"""

from __future__ import annotations

import ipaddress
import json
import os
import re
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from ....core.errors import SpanLabError
from ....core.extras import need
from ..messages import Taken

OPENAI_URL = "https://api.openai.com/v1"
URL_VARIABLE = "OPENAI_BASE_URL"
REASONING_FIELDS = ("reasoning_content", "reasoning")
_NO_KEY = "none"
_LOOKS_LIKE_A_KEY = re.compile(r"\b(?:[sp]k-|Bearer\s+)[^\s'\",;]{6,}", re.IGNORECASE)

#: how servers say that a conversation has more tokens than the model takes
_TOO_LONG = re.compile(
    r"context.{0,20}(length|window|size|limit)|maximum context|(prompt|input|request).{0,30}too (long|large)|too many"
    r" tokens",
    re.IGNORECASE,
)
#: how servers say that what was said or asked is not let through
_FILTER = re.compile(
    r"content.{0,3}(filter|management|moderation|polic)|moderation|\bflagged\b|safety (system|filter|polic)|usage"
    r" polic",
    re.IGNORECASE,
)
#: how servers say that they do not take the response format
_SCHEMA = re.compile("json_schema|response_format")


class EndpointError(SpanLabError):
    """The endpoint did not give a reply.

    Parameters
    ----------
    message : one sentence: what happened and what to do
    permanent : whether asking again, unchanged, cannot help (a bad key, an unknown model)
    status : HTTP status, when there was one
    of_request : whether it says something of this one request alone (it is too long, a filter
        blocks it), so that others may be answered
    filtered : whether it was a filter of contents

    Attributes
    ----------
    wait_s : how long the server asks to wait before it is asked again; None where it does not say
    begun : whether a reply may have been under way, which has to be paid for although it never came
    taken : the tokens that the server counted for it, where it told them
    """

    def __init__(
        self,
        message: str,
        permanent: bool = True,
        status: int | None = None,
        of_request: bool = False,
        filtered: bool = False,
    ) -> None:
        super().__init__(message)
        self.permanent = permanent
        self.status = status
        self.of_request = of_request
        self.filtered = filtered
        self.wait_s: float | None = None
        self.begun = False
        self.taken: Taken | None = None


def web_address(text: str) -> SplitResult | None:
    """The parts of a web address; None when it is none."""
    try:
        parts = urlsplit(text)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return None
    return parts if good else None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An OpenAI-compatible server.

    Parameters
    ----------
    base_url : address up to and including ``/v1``; None = the environment's ``OPENAI_BASE_URL``, or
        else the OpenAI API
    key_variable : the environment variable that holds the key; None = the server needs none
    provider : the provider whose server it is (see :mod:`.providers`); empty for one from the
        environment
    reasoning_fields : fields of a reply in which the server puts the model's reasoning, if it does;
        the first that is there
    secret_variables : further environment variables whose values are never told
    by : by what it is reached in place of an address, where a hook sends the requests
    """

    base_url: str | None = None
    key_variable: str | None = "OPENAI_API_KEY"
    provider: str = ""
    reasoning_fields: tuple[str, ...] = REASONING_FIELDS
    secret_variables: tuple[str, ...] = ()
    by: str = ""

    @property
    def url(self) -> str:
        """The address as it is used; what was given may hold secrets, so show ``public`` instead,
        which refuses them."""
        return (self.base_url or os.environ.get(URL_VARIABLE, "").strip() or OPENAI_URL).rstrip("/")

    @property
    def _parts(self) -> SplitResult:
        parts = web_address(self.url)
        if parts is not None and (parts.username or parts.password or parts.query or parts.fragment):
            raise EndpointError(
                f"{self.source} holds a user name, a password, a query or a fragment, which is not sent to chat servers"
                " and could be written somewhere; leave it out, and put the key into"
                f" {self.key_variable or 'the environment variable that key_variable names'}"
            )
        if parts is not None:
            return parts
        raise EndpointError(
            f"{self.source} is not a web address; it should look like {OPENAI_URL} or http://localhost:8000/v1"
        )

    @property
    def is_local(self) -> bool:
        """True if the server is on this machine."""
        host = self._parts.hostname or ""
        if host == "localhost" or host.endswith(".localhost"):
            return True
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False

    @property
    def public(self) -> str:
        """The address, which holds no user name, password or query: those are refused."""
        if self.by:
            return self.by
        parts = self._parts
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        return f"{parts.scheme}://{host}{f':{parts.port}' if parts.port else ''}{parts.path}"

    @property
    def identity(self) -> str:
        """``public``, but without the port on this machine: local servers get another one at every
        start. It says in a record what a model is; a cache of replies, where ports tell servers
        apart, goes by ``public``."""
        if self.by:
            return self.by
        parts = self._parts
        return f"{parts.scheme}://{parts.hostname}{parts.path}" if self.is_local else self.public

    def key(self) -> str:
        """The key, for the client alone.

        Raises
        ------
        EndpointError
            when a key is needed and missing, or holds what no key holds.
        """
        key = self._from_environment()
        fault = self._fault_of(key)
        if fault:
            del key  # a traceback may show what the variables of its functions hold
            raise EndpointError(fault)
        return key or _NO_KEY

    def _from_environment(self) -> str:
        return os.environ.get(self.key_variable, "").strip() if self.key_variable else ""

    def _fault_of(self, key: str) -> str:
        if not key:
            if self.key_variable is None or self.is_local:
                return ""
            other = "" if self.provider else f", or set {URL_VARIABLE} to the server that you mean"
            return f"no key for {self.provider or self.public}: set the environment variable {self.key_variable}{other}"
        if not key.isascii() or not key.isprintable() or " " in key:
            return (
                f"the key in {self.key_variable} holds a space, a line break or a character that no key has; set it"
                " again"
            )
        return ""

    @property
    def source(self) -> str:
        """The source of the address, for messages."""
        return (
            f"base_url of the provider {self.provider}"
            if self.provider
            else "the base URL"
            if self.base_url
            else URL_VARIABLE
        )

    @property
    def has_key(self) -> bool:
        """True if the environment holds a key for it."""
        return bool(self._from_environment())

    def check(self) -> None:
        """Raise an :class:`EndpointError` for all that can be known to be wrong before the first
        request."""
        if self.by:
            return
        try:
            need("chat", "openai", "a chat model")  # before a missing key: that would not help yet
        except SpanLabError as error:
            raise EndpointError(str(error)) from None
        _ = self.public, self.key()

    def redact(self, text: str) -> str:
        """``text`` in one line, cut to 200 characters, without the key and whatever looks like one."""
        for secret in filter(
            None, (self._from_environment(), *(os.environ.get(name, "").strip() for name in self.secret_variables))
        ):
            text = text.replace(secret, "[hidden]")
        text = " ".join(_LOOKS_LIKE_A_KEY.sub("[hidden]", text).split())
        return text if len(text) <= 200 else text[:199] + "…"


def explain_connection(error: Exception, endpoint: Endpoint, tries: int) -> EndpointError:
    """Why there was no connection, in a sentence; ``tries``: how often it was tried."""
    often = f"in {tries} tries" if tries > 1 else "at the first try"
    cause = endpoint.redact(str(error) or type(error).__name__)
    return EndpointError(
        f"no connection to {endpoint.public} {often} ({cause}); is the server running, and is {endpoint.source} right?",
        permanent=False,
    )


def explain_answer(
    status: int, content: bytes, endpoint: Endpoint, model: str, tries: int, comes_back: bool
) -> EndpointError:
    """The error for a refused request, in a sentence.

    Parameters
    ----------
    content : what it sent
    tries : how often the request has left
    comes_back : whether it says when to ask again
    """
    text = content.decode("utf-8", "replace").strip()
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = text
    found = found[0] if isinstance(found, list) and found else found
    body = found.get("error", found) if isinstance(found, dict) else found
    message = body.get("message") or body.get("detail") if isinstance(body, dict) else body
    metadata = body.get("metadata") if isinstance(body, dict) else None
    code = body.get("code") if isinstance(body, dict) else None
    flagged = isinstance(metadata, dict) and bool(metadata.get("flagged_input") or metadata.get("reasons"))
    reason = endpoint.redact(str(message or ""))
    return explain_status(
        endpoint, model, status, reason, tries, code if isinstance(code, str) else "", flagged, comes_back
    )


def explain_status(
    endpoint: Endpoint,
    model: str,
    status: int,
    quoted: str,
    tries: int = 1,
    code: str = "",
    filtered: bool = False,
    comes_back: bool = False,
) -> EndpointError:
    """The error for a request that was refused with a status, or with an error in place of a reply,
    in a sentence.

    Parameters
    ----------
    quoted : what it said, ready to be quoted
    code : its word for it
    filtered : whether it says that it was a filter of contents
    comes_back : whether it says when to ask again
    """
    where = endpoint.public
    often = f"in {tries} tries" if tries > 1 else "at the first try"
    quotation = f" ({quoted})" if quoted else ""
    if filtered or (
        status in (400, 403, 451)
        and (code.lower().startswith(("content_filter", "content_policy")) or _FILTER.search(quoted))
    ):
        return EndpointError(
            f"a filter at {where} blocks this conversation with '{model}'{quotation}",
            status=status,
            of_request=True,
            filtered=True,
        )
    if status == 401 or (
        status == 400 and "api key" in quoted.lower()
    ):  # its text is not quoted: some servers repeat a part of the key
        remedy = f"check {endpoint.key_variable}" if endpoint.key_variable else "it wants a key"
        return EndpointError(f"{where} refused the key; {remedy}", status=status)
    if (status == 402 and not comes_back) or code == "insufficient_quota":
        return EndpointError(f"the account at {where} has no credit left{quotation}; top it up", status=status)
    if status == 403:
        return EndpointError(
            f"{where} does not allow this key to use the model '{model}'{quotation}; choose another model or ask its"
            " owner",
            status=status,
        )
    if status in (400, 413, 422, 500) and (
        code in ("context_length_exceeded", "exceed_context_size_error") or _TOO_LONG.search(quoted)
    ):
        return EndpointError(
            f"a conversation is too long for the model '{model}' at {where}{quotation}; choose a model with a longer"
            " context, smaller pictures, shorter trials, or with conversation=session fewer earlier trials"
            " (conversation_window)",
            status=status,
            of_request=True,
        )
    if status in (400, 422, 500) and _SCHEMA.search(quoted):  # some servers fail where they should refuse
        return EndpointError(
            f"{where} does not take the schema of answers{quotation}; set schema_as to its other form (json_schema,"
            " json_object), or constrained to none",
            status=status,
        )
    if status == 404:
        if code == "model_not_found" or "model" in quoted.lower():
            return EndpointError(
                f"{where} knows no model '{model}'{quotation}; check the name after 'chat:'", status=status
            )
        return EndpointError(
            f"there is no chat-completions server at {where}; check {endpoint.source} (it usually ends in /v1)",
            status=status,
        )
    if status in (402, 429):
        return EndpointError(
            f"{where} was too busy {often}{quotation}; run fewer trials at once, or try again later",
            permanent=False,
            status=status,
        )
    if status in (408, 409) or status >= 500:
        return EndpointError(
            f"{where} failed with status {status} {often}{quotation}; try again later", permanent=False, status=status
        )
    return EndpointError(
        f"{where} refused the request with status {status}{quotation}; change the chat settings or the model",
        status=status,
        of_request=True,
    )
