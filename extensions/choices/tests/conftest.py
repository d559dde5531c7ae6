"""The same for every test of the house: see tests/helpers/suite.py."""

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
