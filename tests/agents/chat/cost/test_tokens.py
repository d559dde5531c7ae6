"""How many tokens a text has, before it is sent: held against what real tokenizers made of it, and
counted by one where it is at hand."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from spanlab.agents.chat.cost import estimate
from spanlab.agents.chat.cost.estimate import USUAL_ERROR, WORST_ERROR, by_pieces, counter_for

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


def test_without_its_file_no_tokenizer_is_asked_and_nothing_is_fetched(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    package, models = ModuleType("tiktoken"), ModuleType("tiktoken.model")
    asked: list[str] = []

    class Words:
        def encode(self, text: str, disallowed_special: tuple[str, ...]) -> list[str]:
            return text.split()

    def named(model: str) -> str:
        if model != "gpt-4o":
            raise KeyError(model)
        return "o200k_base"

    def get_encoding(name: str) -> Words:
        asked.append(name)
        return Words()

    package.get_encoding, models.encoding_name_for_model = get_encoding, named  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tiktoken", package)
    monkeypatch.setitem(sys.modules, "tiktoken.model", models)
    monkeypatch.setattr(estimate.importlib.util, "find_spec", lambda name: object())
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    assert counter_for("gpt-4o").usual_error > 0
    assert not asked
    address = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
    (tmp_path / hashlib.sha1(address.encode()).hexdigest()).write_bytes(b"")
    real = counter_for("openai/gpt-4o")
    assert (real.count("one two three"), real.how, real.usual_error, asked) == (
        3,
        "the tokenizer o200k_base",
        0,
        ["o200k_base"],
    )
    assert counter_for("my-model").usual_error > 0
