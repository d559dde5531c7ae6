"""Whatever a paradigm file gives a stimulus, it is either refused with a message or can be drawn
and put into words."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from stimuli_strategies import PARAMETERS

from spanlab.stimuli import STIMULI
from spanlab.stimuli.render.fast.batch import network_frames
from spanlab.stimuli.render.pixels import render

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-3, 120)
    | st.integers()
    | st.floats()
    | st.text(max_size=12)
    | st.sampled_from(["red", "up", "#ff0000", "=x"])
)
anything = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=10)
        | st.dictionaries(st.sampled_from(["box", "direction", "at", "colour", "gap"]) | scalars, inner, max_size=3)
    ),
    max_leaves=20,
)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(PARAMETERS))
def test_no_value_breaks_a_stimulus(name: str) -> None:
    cls = STIMULI.get(name)

    @settings(
        deadline=None,
        max_examples=40,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )
    @given(
        good=PARAMETERS[name],
        bad=st.dictionaries(st.sampled_from([*cls.model_fields, "strange"]), anything, max_size=3),
    )
    def check(good: dict[str, Any], bad: dict[str, Any]) -> None:
        try:
            shown = cls(**{**good, **bad})
        except ValidationError:
            return
        assert isinstance(shown.words(), str)
        assert render(shown.scene()).shape == (96, 96, 3)
        assert network_frames([shown]).shape == (1, 32, 32, 3)
        assert cls(**shown.model_dump()) == shown

    check()
