"""The batch API of OpenAI and of servers that speak as it does, through the official client: a file
of requests is uploaded, a batch of it created, looked at until it has ended, and what it brought is
downloaded."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ....core.extras import need
from ..open_request import filled_headers
from .endpoint import Endpoint, EndpointError, explain_connection
from .native import explain_client_error

if TYPE_CHECKING:
    import openai

_Found = TypeVar("_Found")

#: of chat completions, as batches name it, whatever the address of the server
URL: Final = "/v1/chat/completions"
#: states in which nothing more comes
ENDED: Final = frozenset({"completed", "failed", "expired", "cancelled"})
_TOKEN: Final = "spanlab_batch"
#: a file of 150 MB may take so long to be sent
_TIMEOUT_S: Final = 600.0
#: how often what changes nothing is repeated by the client itself
_REPEATS: Final = 4
#: so many of the latest batches are looked through for one
_LOOKED_THROUGH: Final = 1000


@dataclass(frozen=True, slots=True)
class BatchStatus:
    """State of a batch.

    Parameters
    ----------
    name : at the provider
    state : in its words
    total, done, failed : how many requests it has, and how many were answered or failed
    output, errors : names of the files with what it brought
    said : what the provider says of a batch that it refused as a whole
    """

    name: str
    state: str
    total: int = 0
    done: int = 0
    failed: int = 0
    output: str = ""
    errors: str = ""
    said: str = ""

    @property
    def ended(self) -> bool:
        """True when nothing more comes."""
        return self.state in ENDED


class BatchApi:
    """The batches of one account.

    Parameters
    ----------
    endpoint : the server
    model : for messages
    headers : further headers of every request; they may name environment variables
    """

    def __init__(self, endpoint: Endpoint, model: str, headers: Mapping[str, str]) -> None:
        need("chat", "openai", "a batch")
        self._endpoint, self._model, self._headers = endpoint, model, dict(headers)
        self._opened: openai.AsyncOpenAI | None = None

    @property
    def where(self) -> str:
        """The server."""
        return self._endpoint.public

    def _client(self) -> openai.AsyncOpenAI:
        import openai

        if self._opened is None:
            self._opened = openai.AsyncOpenAI(
                api_key=self._endpoint.key(),
                base_url=self._endpoint.url,
                default_headers=filled_headers(self._headers),
                max_retries=_REPEATS,
                timeout=_TIMEOUT_S,
            )
        return self._opened

    async def upload(self, path: Path) -> str:
        """Upload a file of requests; its name at the provider."""
        return (await self._asked(lambda client: client.files.create(file=path, purpose="batch"))).id

    async def create(self, file: str, token: str) -> str:
        """Submit a batch; its name.

        Raises
        ------
        EndpointError
            when it was refused, or (``begun``) when it is not known whether it is there.
        """
        made = await self._asked(
            lambda client: client.with_options(max_retries=0).batches.create(
                input_file_id=file, endpoint=URL, completion_window="24h", metadata={_TOKEN: token}
            )
        )
        return made.id

    async def status(self, name: str) -> BatchStatus:
        """State of a batch."""
        return _status(await self._asked(lambda client: client.batches.retrieve(name)), self._endpoint)

    async def cancel(self, name: str) -> BatchStatus:
        """Have a batch cancelled; what is done by then is paid for, and comes all the same."""
        return _status(await self._asked(lambda client: client.batches.cancel(name)), self._endpoint)

    async def content(self, file: str) -> bytes:
        """The content of a file; nothing where no file is named."""
        return (await self._asked(lambda client: client.files.content(file))).content if file else b""

    async def find(self, file: str, token: str) -> list[BatchStatus]:
        """The batches that were made of an input file, the oldest first.

        Raises
        ------
        EndpointError
            when the server does not list batches.
        """

        async def look(client: openai.AsyncOpenAI) -> list[BatchStatus]:
            found: list[BatchStatus] = []
            count = 0
            async for batch in client.batches.list(limit=100):
                count += 1
                if batch.input_file_id == file or (batch.metadata or {}).get(_TOKEN) == token:
                    found.append(_status(batch, self._endpoint))
                if count >= _LOOKED_THROUGH:
                    break
            return found[::-1]

        return await self._asked(look)

    async def _asked(self, ask: Callable[[openai.AsyncOpenAI], Awaitable[_Found]]) -> _Found:
        import openai

        try:
            return await ask(self._client())
        except openai.APIStatusError as error:
            if error.status_code in (404, 405, 501):
                told = f"{self.where} has no such batch, or no batch API (files and batches)"
                fault = EndpointError(
                    f"{told}: leave out --batch, or check the address and the key", status=error.status_code
                )
            else:
                fault = explain_client_error(error, self._endpoint, self._model)
                fault.begun = error.status_code >= 500
        except openai.APIConnectionError as error:
            fault = explain_connection(
                error.__cause__ if isinstance(error.__cause__, Exception) else error, self._endpoint, 1
            )
            fault.begun = True
        except (openai.APIError, ValueError, AttributeError):
            fault = EndpointError(
                f"{self.where} answered, but not as a batch API does: leave out --batch, or check the address"
            )
            fault.begun = True
        raise fault  # outside of the except blocks: the client's errors hold the request, whose headers hold the key

    async def aclose(self) -> None:
        """Close the connections."""
        if self._opened is not None:
            await self._opened.close()
            self._opened = None


def _status(batch: Any, endpoint: Endpoint) -> BatchStatus:
    counts, told = batch.request_counts, batch.errors.data if batch.errors is not None and batch.errors.data else []
    said = "; ".join(
        dict.fromkeys(" ".join(filter(None, (error.code and f"{error.code}:", error.message))) for error in told[:3])
    )
    return BatchStatus(
        batch.id,
        str(batch.status),
        *((counts.total, counts.completed, counts.failed) if counts is not None else (0, 0, 0)),
        batch.output_file_id or "",
        batch.error_file_id or "",
        endpoint.redact(said) if said else "",
    )
