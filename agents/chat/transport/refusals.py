"""What a server says where it gives no reply, as a sentence and a fault: refusals by status, errors
in place of a reply, and connections that there are not."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace

from ....core.json_values import as_object
from .departure import Fault, asked_wait, fault_of_status
from .dialect import ALTERNATE, NO_SYSTEM, SCHEMA
from .endpoint import Endpoint, EndpointError
from .replies import NoReplyError

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


#: how servers say that a model takes no pictures
_NO_PICTURES = re.compile(
    r"(image|vision|multimodal|picture).{0,40}(not support|unsupported|not accept|not available|disabled)"
    r"|(not support|endpoints found that support|cannot process|doesn't support).{0,20}(image|vision|multimodal)",
    re.IGNORECASE,
)


def refused(status: int, body: bytes, headers: Mapping[str, str], endpoint: Endpoint, model: str, tries: int) -> Fault:
    """The fault of a refusal."""
    if status < 400:
        place = endpoint.redact(headers.get("location", "nowhere").partition("?")[0])
        moved = f"{endpoint.public} sends requests elsewhere (status {status}, to {place}); is {endpoint.source} right?"
        return fault_of_status(EndpointError(moved, status=status), status)
    told = explain_answer(status, body, endpoint, model, tries, "retry-after" in headers)
    return fault_of_status(told, status, asked_wait(headers))


def fault_in_body(nothing: NoReplyError, endpoint: Endpoint, model: str, tries: int) -> Fault:
    """The fault of an answer that came as if all was well: an error that the server reports, or
    nothing that can be read."""
    where, said = endpoint.public, endpoint.redact(nothing.said)
    if not said:
        wrong = (
            f"{where} answered, but not as a chat-completions server does; is {endpoint.source} right (it usually ends"
            " in /v1)?"
        )
        return Fault("garbage", EndpointError(wrong, permanent=False), begun=True, taken=nothing.taken)
    status = nothing.status
    if status is None:
        failed = EndpointError(
            f"{where} reported an error instead of a reply ({said}); try again later", permanent=False
        )
        return Fault("server", failed, begun=nothing.begun, taken=nothing.taken)
    quoted = said if nothing.filtered else f"an error in place of a reply: {said}"
    told = explain_status(endpoint, model, status, quoted, tries, nothing.code, nothing.filtered)
    fault = fault_of_status(told, status)
    return replace(fault, begun=nothing.begun or fault.begun, taken=nothing.taken)


def how_often(tries: int) -> str:
    """After how many tries, in a sentence."""
    return f"in {tries} tries" if tries > 1 else "at the first try"


def explain_connection(error: Exception, endpoint: Endpoint, tries: int) -> EndpointError:
    """Why there was no connection, in a sentence; ``tries``: how often it was tried."""
    cause = endpoint.redact(str(error) or type(error).__name__)
    return EndpointError(
        f"no connection to {endpoint.public} {how_often(tries)} ({cause}); is the server running, and is"
        f" {endpoint.source} right?",
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
    metadata, code = as_object(as_object(body).get("metadata")), as_object(body).get("code")
    flagged = bool(metadata.get("flagged_input") or metadata.get("reasons"))
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
    where, often = endpoint.public, how_often(tries)
    quotation = quoted and f" ({quoted})"
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
    if status in (400, 422, 500) and SCHEMA.search(quoted):  # some servers fail where they should refuse
        return EndpointError(
            f"{where} does not take the schema of answers{quotation}; set constrained to none",
            status=status,
        )
    if status in (400, 404, 415, 422, 500) and _NO_PICTURES.search(quoted):
        return EndpointError(
            f"'{model}' at {where} takes no pictures{quotation}; choose a model that sees, or set view to words",
            status=status,
        )
    if status in (400, 422, 500) and NO_SYSTEM.search(quoted):
        return EndpointError(
            f"'{model}' at {where} takes no system message{quotation}; set instructions_as to user, or turn on"
            " adapt, which puts instructions into the user's first message by itself",
            status=status,
        )
    if status in (400, 422, 500) and ALTERNATE.search(quoted):
        return EndpointError(
            f"'{model}' at {where} takes no two messages of the user in a row{quotation}; set delivery to merged (and"
            " instructions_as to user where it takes no system message)",
            status=status,
        )
    if status == 404 or (status == 400 and "invalid model name" in quoted.lower()):  # the latter: litellm's proxy
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
