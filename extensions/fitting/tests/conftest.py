"""The same for every test of the house: see tests/helpers/suite.py."""

from collections.abc import Iterator

import pytest
from suite import *  # noqa: F403


@pytest.fixture(autouse=True)
def _single_thread() -> Iterator[None]:
    """Linear algebra in one thread, as the command has it."""
    from spanlab.extensions.fitting.likelihood import single_thread

    with single_thread():
        yield
