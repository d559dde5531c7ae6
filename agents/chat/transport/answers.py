"""Answers of a server, alone or in a batch, as faults where they are no replies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..messages import BatchReply, Reply
from .batch_store import Result
from .endpoint import Endpoint, EndpointError, explain_answer, explain_status
from .faults import Fault, FaultWord, asked_wait, may_be_paid, word_of_status
from .replies import NoReplyError, error_in, read_reply


class Answers:
    """Reads what a server sends.

    Parameters
    ----------
    endpoint, model : where it came from, for messages
    """

    def __init__(self, endpoint: Endpoint, model: str) -> None:
        self._endpoint, self._model = endpoint, model

    def refused(self, status: int, body: bytes, headers: Mapping[str, str], tries: int) -> Fault:
        """Return the fault of a refusal."""
        told = explain_answer(status, body, self._endpoint, self._model, tries, "retry-after" in headers)
        return self.of_status(told, status, asked_wait(headers))

    def of_status(self, told: EndpointError, status: int, wait_s: float | None = None) -> Fault:
        """Return the fault of a refusal that has been put into a sentence."""
        busy = not told.permanent and status in (402, 429, 503, 529)
        word: FaultWord = "rate_limit" if busy and status == 402 else word_of_status(status)
        if told.filtered:
            word = "filter"
        return Fault(word, told, busy, wait_s, begun=may_be_paid(status))

    def fault_in_body(self, nothing: NoReplyError, tries: int) -> Fault:
        """Return the fault of an answer that came as if all was well: an error that the server
        reports, or nothing that can be read."""
        where, said = self._endpoint.public, self._endpoint.redact(nothing.said)
        if not said:
            wrong = (
                f"{where} answered, but not as a chat-completions server does; is {self._endpoint.source} right (it"
                " usually ends in /v1)?"
            )
            return Fault("garbage", EndpointError(wrong, permanent=False), begun=True, taken=nothing.taken)
        status = nothing.status
        if status is None:
            failed = EndpointError(
                f"{where} reported an error instead of a reply ({said}); try again later", permanent=False
            )
            return Fault("server", failed, begun=nothing.begun, taken=nothing.taken)
        quoted = said if nothing.filtered else f"an error in place of a reply: {said}"
        fault = self.of_status(
            explain_status(self._endpoint, self._model, status, quoted, tries, nothing.code, nothing.filtered), status
        )
        return replace(fault, begun=nothing.begun or fault.begun, taken=nothing.taken)

    def of_batch(self, result: Result, tries: int) -> Reply | Fault:
        """Return the reply or the fault that a batch has for a request: replies and errors are told
        apart as those of requests that are sent alone."""
        where, batch = self._endpoint.public, result.batch
        if result.status is not None and result.status >= 300:
            return self.refused(result.status, result.body, {}, tries)
        if result.status is not None:
            try:
                reply = read_reply(result.body, 0.0, self._endpoint.reasoning_fields)
            except NoReplyError as nothing:
                return self.fault_in_body(nothing, tries)
            return BatchReply(**{**reply.model_dump(), "latency_ms": None}, batch=batch)
        if result.error is None:
            return Fault(
                "garbage",
                EndpointError(
                    f"batch {batch} at {where} ended without a line for one of its requests", permanent=False
                ),
                begun=True,
            )
        said, status, code = error_in(result.error)
        if code in ("batch_expired", "batch_cancelled"):
            late = f"batch {batch} at {where} ended before a request had its reply ({self._endpoint.redact(said)})"
            return Fault("timeout", EndpointError(late, permanent=False), busy=True)
        return self.fault_in_body(NoReplyError(said, status, code, begun=False), tries)
