"""The files of sentences that people read, one for each language; and that what chat models are
sent does not depend on them."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter
from typing import get_args

import pytest
from lab_pages import ENGLISH
from sent_sentences import everything

from spanlab.core.locale import FALLBACK, by_language, folders, languages, sentence, sentences
from spanlab.extensions.app.jobs import State
from spanlab.extensions.app.pages import _HIDDEN
from spanlab.extensions.app.replies import COLUMNS
from spanlab.stimuli.render.fonts import has

ROOT = Path(__file__).resolve().parents[2]
OTHERS = [language for language in languages() if language != FALLBACK]


def gaps(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def test_english_and_german_ship() -> None:
    assert set(languages()) >= {"en", "de"}


@pytest.mark.parametrize("language", OTHERS)
def test_every_language_has_every_sentence_with_the_same_gaps(language: str) -> None:
    english, other = sentences(FALLBACK), sentences(language)
    assert list(other) == list(english)
    for key, text in other.items():
        assert text.strip(), key
        assert gaps(text) == gaps(english[key]), key


@pytest.mark.parametrize("language", languages())
def test_the_typeface_has_all_letters(language: str) -> None:
    assert not {character for text in sentences(language).values() for character in text if not has(character)}


def test_german_sentences_are_german() -> None:
    for key, text in sentences("de").items():
        assert not ENGLISH.findall(re.sub(r"\{.*?\}", "", text)), key


def test_no_key_stands_twice() -> None:
    for language in languages():
        lines = [
            line
            for folder in folders()
            for line in (ROOT / folder / f"{language}.yaml").read_text(encoding="utf-8").splitlines()
        ]
        keys = [match[0] for line in lines if (match := re.match(r" *[\w']+:", line))]
        sections = [key for key in keys if not key.startswith(" ")]
        assert len(sections) == len(set(sections))
        assert len(keys) - len(sections) == len(sentences(language))


def _said() -> Iterator[str]:
    """The keys of sentences that the code and the templates of pages ask for; those with gaps in
    them as patterns."""
    for template in ROOT.glob("extensions/*/page/*.html"):
        text = template.read_text(encoding="utf-8")
        for section, start in re.findall(r'(?<!/)\b(app)(?:\.(?!css)|\[")(\w+)', text):
            yield rf"{section}\.{start}\w*" if start.endswith("_") else rf"{section}\.{start}"
    yield from (r"word\.\w+", *(rf"app\.{state}" for state in get_args(State)))
    yield from (rf"app\.{column}" for column in COLUMNS if column not in _HIDDEN)
    for script in ROOT.glob("extensions/app/page/*.js"):
        for name in re.findall(r"\bsays\.(\w+)\b(?!\()", script.read_text(encoding="utf-8")):
            yield rf"app\.{name}"
    for path in ROOT.glob("[a-z]*/**/*.py"):
        if path.parts[len(ROOT.parts)] in ("tests", "build"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in (sentence.__name__, by_language.__name__):
                within = {
                    id(value)
                    for part in ast.walk(node.args[0])
                    if isinstance(part, ast.JoinedStr)
                    for value in ast.walk(part)
                    if value is not part
                }
                for part in ast.walk(node.args[0]):
                    if id(part) in within:
                        continue
                    if isinstance(part, ast.JoinedStr):
                        yield "".join(
                            re.escape(str(value.value)) if isinstance(value, ast.Constant) else r"\w*"
                            for value in part.values
                        )
                    elif isinstance(part, ast.Constant) and re.fullmatch(r"\w+\.\w+", str(part.value)):
                        yield re.escape(str(part.value))


def test_what_is_said_is_there_and_what_is_there_is_said() -> None:
    said = set(_said())
    assert len(said) > 30
    for pattern in said:
        assert any(re.fullmatch(pattern, key) for key in sentences(FALLBACK)), pattern
    unsaid = [key for key in sentences(FALLBACK) if not any(re.fullmatch(pattern, key) for pattern in said)]
    assert not unsaid


def test_a_language_without_a_file_is_spoken_to_in_english() -> None:
    assert sentence("window.done", "fr") == sentence("window.done", "en") == "Done"
    assert sentence("window.which", "de", n=2) == "Antwort 2"
    assert by_language("window.done") == {language: sentence("window.done", language) for language in languages()}


def test_what_chat_models_are_sent_has_not_changed_by_a_byte() -> None:
    stored = json.loads((ROOT / "tests" / "golden" / "sent_sentences.json").read_text(encoding="utf-8"))
    now = everything()
    assert {key: now.get(key) for key in stored} == stored
