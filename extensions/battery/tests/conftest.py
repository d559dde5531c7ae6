"""The same for every test of the house: see tests/helpers/suite.py."""

from suite import *  # noqa: F403
