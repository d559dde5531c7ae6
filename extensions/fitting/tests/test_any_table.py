"""Models are fitted to random tables, or refused in a sentence; never a traceback."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from any_tables import flags, tables, written
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import spanlab
from spanlab.core import SpanLabError

QUIET = {"deadline": None, "suppress_health_check": [*HealthCheck], "database": None, "derandomize": True}


def fitted(data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        file, reading = written(data.draw(tables()), Path(folder)), data.draw(flags(Path(folder)))
        with suppress(SpanLabError):
            spanlab.fit(file, simulated=10, **reading)


@settings(max_examples=6, **QUIET)
@given(st.data())
def test_any_table_is_fitted_or_refused(data: st.DataObject) -> None:
    fitted(data)


@pytest.mark.slow
@settings(max_examples=100, **QUIET)
@given(st.data())
def test_many_tables_are_fitted_or_refused(data: st.DataObject) -> None:
    fitted(data)
