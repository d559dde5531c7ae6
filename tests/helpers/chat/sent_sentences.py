"""What chat models are told by the paradigms of the library, as hashes: ``python
tests/helpers/chat/sent_sentences.py > tests/golden/sent_sentences.json``."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from spanlab.agents.chat import ChatSettings
from spanlab.paradigms import Paradigm, compile_trial, list_paradigms, load_paradigm
from spanlab.paradigms.compile import resolve_levels

LANGUAGES = ("en", "de")


def sentences(paradigm: Paradigm, language: str) -> list[str]:
    """Title, instructions, legends and questions, in some combinations of factor levels: each once."""
    combinations = paradigm.combinations()
    found: dict[str, None] = {paradigm.titled(language): None}
    for combination in combinations[:: max(1, len(combinations) // 12)]:
        levels = resolve_levels(paradigm, combination, 1)
        found[paradigm.instructions_in(language, levels)] = None
        for step in compile_trial(paradigm, levels, 1).steps:
            if step.percept.ask is not None and not paradigm.name.startswith(
                "lsr"
            ):  # their questions name the words of the trial
                found |= dict.fromkeys(
                    (
                        step.percept.ask.kind.legend("words"),
                        step.percept.ask.kind.legend("words", language),
                        step.percept.ask.kind.question(),
                    )
                )
    return sorted(found)


def hashed(texts: list[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def everything() -> dict[str, Any]:
    told = {
        f"{name} {language}": hashed(sentences(load_paradigm(name), language))
        for name in list_paradigms()
        for language in LANGUAGES
    }
    return {**told, "preamble": hashed([ChatSettings().preamble])}


if __name__ == "__main__":
    print(json.dumps(everything(), indent=1))
