"""Every sentence that people read, by language: one file for each language, such as ``en.yaml``.

The texts of a paradigm or a study stand in its own file, in the languages that it has. What SpanLab
itself says to participants and assistants stands here; the sentences of an extension stand in its
folder ``locale``, which an entry point of the group ``spanlab.locales`` names by its package. What
chat models are sent does not depend on any of these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from string import Formatter

import yaml

from ..doors import entry_points_of

GROUP = "spanlab.locales"
_FOLDER = files(__name__)
#: What is said where there is no file for a language.
FALLBACK = "en"
_TO_PEOPLE = frozenset({"window", "session", "study", "legend", "keys", "counting"})


@cache
def languages() -> tuple[str, ...]:
    """The languages that there are files for."""
    return tuple(sorted(path.name.removesuffix(".yaml") for path in _FOLDER.iterdir() if path.name.endswith(".yaml")))


@cache
def folders() -> Mapping[str, Traversable]:
    """The folders with sentences: that of the core, and one of each package that has an entry
    point."""
    packages = [point.value for point in entry_points_of(GROUP)]
    others = {f"{name.removeprefix('spanlab.').replace('.', '/')}/locale": files(name) / "locale" for name in packages}
    return {"core/locale": _FOLDER, **others}


@cache
def _written(folder: str, language: str) -> Mapping[str, str]:
    """The sentences of one file, by ``section.key``; empty if there is no such file."""
    file = folders()[folder] / f"{language}.yaml"
    if not file.is_file():
        return {}
    # Every value is a text; "no" and "1" are not exceptions.
    sections = yaml.load(file.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)
    return {f"{section}.{key}": text for section, texts in sections.items() for key, text in texts.items()}


@cache
def sentences(language: str) -> Mapping[str, str]:
    """Every sentence of a language, by ``section.key``; in English where there is no file for it."""
    name = language if language in languages() else FALLBACK
    texts: dict[str, str] = {}
    for folder in folders():
        for key, text in (_written(folder, name) or _written(folder, FALLBACK)).items():
            texts.setdefault(key, text)
    return texts


def sentence(key: str, language: str, **values: object) -> str:
    """One sentence, with its gaps filled.

    Parameters
    ----------
    key : section and key, such as ``window.go_on``
    language : of who reads it; English where there is no file for it
    values : what stands in the gaps
    """
    texts = sentences(language)
    if key not in texts:
        raise KeyError(f"no file has the sentence {key}; if a package's entry points have changed, install it again")
    return texts[key].format(**values)


def ordinal(number: int, language: str) -> str:
    """The how-manieth something is, as a word: ``first``, ``erste``."""
    words = sentence("counting.ordinals", language).split()
    return words[number - 1] if number <= len(words) else sentence("counting.beyond", language, n=number)


def missing_sentences(language: str) -> list[str]:
    """List what a language lacks in comparison with English, as sentences for translators.

    A language is one file here, and one in the folder of each extension that has sentences:
    complete, with the same gaps.
    """
    return [problem for folder in folders() for problem in _missing(folder, language)]


def _missing(folder: str, language: str) -> list[str]:
    """List what the file of a language in one folder lacks."""
    wanted, there, file = _written(folder, FALLBACK), _written(folder, language), f"{folder}/{language}.yaml"
    if not there:
        sections = Counter(key.partition(".")[0] for key in wanted)
        counts = ", ".join(f"{section} {count}" for section, count in sections.items())
        return [
            f"there is no file {file}; {folder}/{FALLBACK}.yaml has what it needs: {len(wanted)} sentences ({counts})"
        ]
    lacking = [f"{file}: {key} is missing; in English: {text}" for key, text in wanted.items() if key not in there]
    unknown = [f"{file}: {key} is unknown" for key in there if key not in wanted]
    gaps = [
        f"{file}: {key} has the gaps {_spelt(there[key])}, and in English {_spelt(text)}"
        for key, text in wanted.items()
        if key in there and _gaps(there[key]) != _gaps(text)
    ]
    return [*lacking, *unknown, *gaps]


def _gaps(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def _spelt(text: str) -> str:
    return ", ".join(f"{{{name}}}" for name in sorted(_gaps(text))) or "none"


def texts_for_people(language: str) -> dict[str, str]:
    """Return the sentences that a participant may read besides those of a paradigm or a study, for
    the record."""
    return {key: text for key, text in sentences(language).items() if key.partition(".")[0] in _TO_PEOPLE}


def by_language(key: str) -> dict[str, str]:
    """One sentence without gaps, in every language."""
    return {language: sentence(key, language) for language in languages()}
