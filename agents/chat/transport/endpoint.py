"""The endpoint of a chat model: its address and key, and messages for the case that it cannot be
reached.

A key is read from the environment at the moment it is used. It is in no attribute, record or
message of ours, and what a server says is quoted only after anything that looks like a key has been
taken out.
"""

from __future__ import annotations

import ipaddress
import os
import re
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, parse_qsl, urlsplit

from ....core.doors import need
from ....core.errors import SpanLabError
from ..messages import Taken
from ..open_request import SECRET_NAME, SECRET_VALUE

if TYPE_CHECKING:
    import ssl

OPENAI_URL = "https://api.openai.com/v1"
URL_VARIABLE = "OPENAI_BASE_URL"
REASONING_FIELDS = ("reasoning_content", "reasoning")
_NO_KEY = "none"
_LOOKS_LIKE_A_KEY = re.compile(r"\b(?:[sp]k-|Bearer\s+)[^\s'\",;]{6,}", re.IGNORECASE)


#: keys of so many letters are hidden in whatever a server says, and so are their pieces of so many
_LONG_KEY, _PIECE = 16, 12


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


def holds_secrets(parts: SplitResult) -> bool:
    """Return whether an address holds what could be a secret."""
    queries = parse_qsl(parts.query, keep_blank_values=True)
    keys = any(SECRET_NAME.search(name) or SECRET_VALUE.search(value) for name, value in queries)
    return bool(parts.username or parts.password or parts.fragment or keys)


def certificates() -> ssl.SSLContext:
    """The certificates of this computer, or those that the environment names. Reading them takes
    longer than most requests, so that clients share them."""
    return _certificates(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@cache
def _certificates(file: str | None, folder: str | None) -> ssl.SSLContext:
    import ssl

    import httpx2

    try:
        return httpx2.create_ssl_context()  # which looks at the same variables
    except (OSError, ssl.SSLError) as error:
        reason = error.strerror or str(error)
    named = "SSL_CERT_FILE" if file else "SSL_CERT_DIR"
    raise EndpointError(f"{named} names certificates that cannot be read ({file or folder}: {reason}); set it again")


def check_surroundings() -> None:
    """Raise an :class:`EndpointError` where the environment names certificates or a proxy that
    cannot be used."""
    certificates()
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        variable = name if os.environ.get(name) else name.lower()
        scheme = urlsplit(os.environ.get(variable, "")).scheme
        if scheme and scheme not in ("http", "https") and find_spec("socksio") is None:
            raise EndpointError(
                f"{variable} names a proxy of a kind that SpanLab cannot use ({scheme}); give one that begins with"
                " http://, or unset it"
            )


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
    max_tokens_field : its name for the longest reply
    secret_variables : further environment variables whose values are never told
    by : by what it is reached in place of an address, where a hook sends the requests
    """

    base_url: str | None = None
    key_variable: str | None = "OPENAI_API_KEY"
    provider: str = ""
    reasoning_fields: tuple[str, ...] = REASONING_FIELDS
    max_tokens_field: str = "max_tokens"
    secret_variables: tuple[str, ...] = ()
    by: str = ""

    @property
    def url(self) -> str:
        """The address as it is used; what was given may hold secrets, so show ``public`` instead,
        which refuses them."""
        return (self.base_url or os.environ.get(URL_VARIABLE, "").strip() or OPENAI_URL).rstrip("/")

    def address(self, path: str) -> str:
        """The address of an interface of the server; a query (such as Azure's ``api-version``) stays
        behind it."""
        base, mark, query = self.url.partition("?")
        return f"{base.rstrip('/')}/{path}{mark}{query}"

    @property
    def _parts(self) -> SplitResult:
        parts = web_address(self.url)
        if parts is not None and holds_secrets(parts):
            raise EndpointError(
                f"{self.source} holds a user name, a password, a query that looks like a key, or a fragment, which is"
                " not sent to chat servers and could be written somewhere; leave it out, and put the key into"
                f" {self.key_variable or 'the environment variable that key_variable names'}"
            )
        if parts is not None and not self.url.isascii():
            raise EndpointError(f"{self.source} holds a character that no address has: write it as %XX, as browsers do")
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
        """The address, which holds no user name, password or key: those are refused."""
        if self.by:
            return self.by
        parts = self._parts
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        port, query = f":{parts.port}" if parts.port else "", parts.query and f"?{parts.query}"
        return f"{parts.scheme}://{host}{port}{parts.path}{query}"

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
        if self.provider:
            return f"base_url of the provider {self.provider}"
        return "the base URL" if self.base_url else URL_VARIABLE

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
        check_surroundings()

    def hidden(self, text: str) -> str:
        """``text`` without the secrets of this endpoint, and without longer pieces of them, broken
        by spaces or not. A key that is too short for one, such as EMPTY, is a word like others."""
        for secret in self.long_secrets:
            text = _without_pieces(text, secret)
        return text

    @property
    def long_secrets(self) -> list[str]:
        """The secrets that are long enough to be told from words."""
        return [secret for secret in self._secrets() if len(secret) >= _LONG_KEY]

    def _secrets(self) -> list[str]:
        named = (self._from_environment(), *(os.environ.get(name, "").strip() for name in self.secret_variables))
        return [secret for secret in named if secret]

    def redact(self, text: str) -> str:
        """``text`` in one line, cut to 200 characters, without the key and whatever looks like one."""
        for secret in self._secrets():
            text = text.replace(secret, "[hidden]")
        text = " ".join(_LOOKS_LIKE_A_KEY.sub("[hidden]", self.hidden(text)).split())
        return text if len(text) <= 200 else text[:199] + "…"


def _without_pieces(text: str, secret: str) -> str:
    """A text without pieces of a secret."""
    pieces = {secret[start : start + _PIECE] for start in range(len(secret) - _PIECE + 1)}
    places = [place for place, letter in enumerate(text) if not letter.isspace()]
    bare = "".join(text[place] for place in places)
    if not any(piece in bare for piece in pieces):
        return text
    starts = [start for start in range(len(bare) - _PIECE + 1) if bare[start : start + _PIECE] in pieces]
    kept, end = "", 0
    for start in starts:
        if places[start] >= end:
            kept += f"{text[end : places[start]]}[hidden]"
        end = places[start + _PIECE - 1] + 1
    return kept + text[end:]
