"""The same for every test of the house: see tests/helpers/suite.py."""

from collections.abc import Iterator

import pytest
from suite import _frozen, _inside, _xvfb, data, pytest_collection_modifyitems, repository, run, screen, study, things

__all__ = [
    "_frozen",
    "_inside",
    "_xvfb",
    "data",
    "pytest_collection_modifyitems",
    "repository",
    "run",
    "screen",
    "study",
    "things",
]


@pytest.fixture(autouse=True)
def _single_thread() -> Iterator[None]:
    """Linear algebra in one thread, as the command has it."""
    from spanlab.extensions.fitting.likelihood import single_thread

    with single_thread():
        yield
