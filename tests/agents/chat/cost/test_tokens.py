"""How many tokens a text has, before it is sent: held against what real tokenizers made of it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from spanlab.agents.chat.cost.estimate import USUAL_ERROR, WORST_ERROR, by_pieces

#: beginnings of conversations in every paradigm, with the tokens that four tokenizers made of them
COUNTED = json.loads((Path(__file__).resolve().parents[3] / "golden" / "token_counts.json").read_text("utf-8"))
TOKENIZERS = ("o200k", "cl100k", "deepseek", "anthropic")


def test_the_error_is_the_one_that_is_told() -> None:
    ratios = np.array([[by_pieces(one["text"]) / one[name] for name in TOKENIZERS] for one in COUNTED.values()])
    assert len(ratios) >= 20
    assert np.abs(ratios - 1).mean() <= USUAL_ERROR + 0.02
    assert np.abs(ratios - 1).max() <= WORST_ERROR + 0.02
    quarters = np.array([[len(one["text"]) / 4 / one[name] for name in TOKENIZERS] for one in COUNTED.values()])
    assert quarters.min() < 0.5, "a quarter of the letters is less than half of it"


@pytest.mark.parametrize("text", ["", " ", "\n", "1", "答案是四", "a" * 10_000, "." * 10_000, "\ud800"])
def test_any_text_has_tokens(text: str) -> None:
    assert 0 <= by_pieces(text) <= 2 * len(text) + 1
