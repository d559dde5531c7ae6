"""The parts of paradigms that the documents show (steps, designs, images) compile in a paradigm
around them."""

from __future__ import annotations

import re
import wave
from pathlib import Path
from typing import Any

import pytest
import yaml
from PIL import Image

from spanlab.paradigms import compile_trial, load_paradigm
from spanlab.paradigms.checking import check_paradigm
from spanlab.paradigms.language.yaml_source import parse

ROOT = Path(__file__).resolve().parents[2]
FRAGMENTS = [
    text
    for name in ("paradigms", "questions", "media", "designs")
    for text in re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / f"{name}.md").read_text("utf-8"), re.DOTALL)
    if re.search(r"^paradigm:", text, re.MULTILINE) is None
]
#: what the fragments take for granted
AROUND = """
paradigm: shown
version: 1
title: A fragment
factors: {list_length: [2, 3, 4], set_size: [3], n: [2], more: [1], retention_steps: {random: [0, 1]}}
draw:
  left: {one_of: {of: [A, B]}}
  angle: {one_of: 180}
  turned: {one_of: 360}
  start: {one_of: 360}
  colours: "=[10, 120, 230, null, null, null, null, null]"
  places: "=[0, 1, 2]"
  probed: {one_of: 3}
  words: {nouns: 3}
  probe: {one_of: =words}
  slots: {permutation: {of: 9, take: 3}}
  patterns: {matrix_patterns: {count: 3, grid: 6, filled: 18}}
  display: {place: {items: =patterns, at: =slots, of: 9}}
  items: {nback_block: {symbols: [a, b, c, d], n: 1, length: 6, matches: 2}}
  order: "=['01', '02']"
  length: "=1"
timeline:
  - phase: present
    show: {blank: {}}
  - phase: probe
    show: {blank: {}}
    ask: {choice: {options: [same, different]}, answer: "same"}
instructions: {en: Look.}
"""
ASKING = [
    {"phase": "present", "show": {"letter": "A", "ms": 100}},
    {"phase": "last", "show": {"blank": {}}, "ask": {"choice": {"options": ["A", "B"]}, "answer": "=left"}},
]


def whole(fragment: str) -> dict[str, Any]:
    """The paradigm with a fragment in it."""
    data, part = parse(AROUND, "around").data, parse(fragment, "fragment").data
    keys = part if isinstance(part, dict) else {"timeline": part}
    data |= keys
    data["timeline"] = [*keys.get("timeline", []), *ASKING]
    return data


@pytest.mark.parametrize("fragment", FRAGMENTS, ids=lambda text: re.sub(r"\W+", "-", text[:40]).strip("-"))
def test_every_fragment_compiles(fragment: str, tmp_path: Path) -> None:
    for name in ("01", "02"):
        (tmp_path / "faces").mkdir(exist_ok=True)
        Image.new("RGB", (8, 8)).save(tmp_path / "faces" / f"{name}.png")
        for folder in ("words", "tones"):
            (tmp_path / folder).mkdir(exist_ok=True)
            with wave.open(str(tmp_path / folder / f"{name}.wav"), "wb") as file:
                file.setparams((1, 2, 16_000, 0, "NONE", ""))
                file.writeframes(bytes(3200))
    (tmp_path / "tones" / "01.wav").rename(tmp_path / "tones" / "beep.wav")
    (tmp_path / "shown.yaml").write_text(yaml.safe_dump(whole(fragment), sort_keys=False), encoding="utf-8")
    paradigm = load_paradigm(tmp_path / "shown.yaml")
    assert compile_trial(paradigm, {name: factor.levels[0] for name, factor in paradigm.factors.items()}).asks
    if "retention_steps]" not in fragment:  # a whole session of all these combinations is planned elsewhere
        check_paradigm(tmp_path / "shown.yaml")
