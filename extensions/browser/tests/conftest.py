"""The same for every test of the house: see tests/helpers/suite.py; and one browser for each file of tests."""

from collections.abc import Generator

import pytest
from chromium import Chromium, chromium
from suite import *  # noqa: F403


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Generator[Chromium]:
    with chromium(tmp_path_factory.mktemp("chromium")) as running:
        yield running
