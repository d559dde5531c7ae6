"""Keyboards of other countries at the real window: keys answer by their signs, or by their places
where an alphabet has none of these; texts have what the layout writes, with dead keys and Num Lock."""

from __future__ import annotations

import shutil

import pytest
from effort import HANGS_S
from processes import bench

pytestmark = pytest.mark.skipif(
    any(shutil.which(program) is None for program in ("Xvfb", "setxkbmap", "xkbcomp")), reason="needs Xvfb and xkbcomp"
)
#: what the keys write that are q, y, [ and e on a US keyboard; the third one is dead on a French one
WRITTEN = {"us": "qy[e", "fr": "ayê", "de": "qzüe", "ru": "йнху"}


@pytest.mark.parametrize("layout", ["fr", *(pytest.param(name, marks=pytest.mark.slow) for name in ("us", "de", "ru"))])
def test_keys_answer_by_their_signs_and_texts_have_what_a_layout_writes(layout: str) -> None:
    facts = bench("lab/keyboards_bench", layout, seconds=HANGS_S, LANG="C.UTF-8")
    assert len(facts["answers"]) == 10
    assert {pressed: given for pressed, given in facts["answers"].items() if pressed.split()[0] != given} == {}
    assert facts["written"] == {"text": WRITTEN[layout], "text with Num Lock": f"{WRITTEN[layout]}7"}
    assert all(facts["delivers"].values())
