"""The step from the outputs of a network to an answer, whoever made the network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...core.errors import SpanLabError
from ...paradigms import Ask
from ...paradigms.network_view import NetworkView
from ..base import Response, TrialContext

#: Heads up to this size are recorded whole; of larger ones the highest outputs.
_WHOLE_HEAD = 32
_TOP = 30


def view_of(context: TrialContext) -> NetworkView:
    """Return what networks see of a paradigm.

    Raises
    ------
    SpanLabError
        when it does not say.
    """
    if (kind := next((kind for kind in context.kinds if kind.not_for_networks), None)) is not None:
        raise SpanLabError(
            f"networks cannot take {context.paradigm}: it asks with '{kind.name}', and {kind.not_for_networks}"
        )
    if context.network is None:
        raise SpanLabError(
            f"networks cannot take {context.paradigm}: the paradigm has no 'network' section that says its task and"
            " head; add one to the file"
        )
    return context.network


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch compute with one processor thread: a single step is so little work that sharing it
    out costs far more than it gains."""
    import torch

    before = torch.get_num_threads()
    if before > 1:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        if before > 1:
            torch.set_num_threads(before)


def read_out(logits: np.ndarray, ask: Ask, view: NetworkView) -> Response:
    """The answer that the outputs of a task's head stand for, with the outputs as its raw form."""
    value = ask.kind.from_logits(logits, ask.classes, all_classes=view.readout == "all_classes")
    raw: Any
    if len(logits) <= _WHOLE_HEAD:
        raw = {"logits": [round(float(output), 3) for output in logits]}
    else:
        highest = np.argsort(-logits, kind="stable")[:_TOP]
        raw = {"highest": [[int(output), round(float(logits[output]), 3)] for output in highest]}
    return Response(value=value, raw=raw, outcome="answered" if value is not None else "invalid")
