"""Every sentence that people read, by language: one file for each language, such as ``en.yaml``.

What a paradigm or a study says stands in its own file, in the languages that it has; what SpanLab itself says to participants and assistants stands here. What
chat models are sent does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import yaml

_FOLDER = files(__name__)
#: What is said where there is no file for a language.
FALLBACK = "en"


@cache
def languages() -> tuple[str, ...]:
    """The languages that there are files for."""
    return tuple(sorted(path.name.removesuffix(".yaml") for path in _FOLDER.iterdir() if path.name.endswith(".yaml")))


@cache
def sentences(language: str) -> Mapping[str, str]:
    """Every sentence of a language, by ``section.key``; in English where there is no file for it."""
    name = language if language in languages() else FALLBACK
    written = (_FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    # Every value is a text; "no" and "1" are no exceptions.
    sections = yaml.load(written, Loader=yaml.BaseLoader)
    return {f"{section}.{key}": text for section, found in sections.items() for key, text in found.items()}


def sentence(key: str, language: str, **values: object) -> str:
    """One sentence, with its gaps filled.

    Parameters
    ----------
    key : section and key, such as ``window.go_on``
    language : of who reads it; English where there is no file for it
    values : what stands in the gaps
    """
    return sentences(language)[key].format(**values)


def by_language(key: str) -> dict[str, str]:
    """One sentence without gaps, in every language."""
    return {language: sentence(key, language) for language in languages()}
