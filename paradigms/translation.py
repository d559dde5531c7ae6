"""Texts of the screen in the language of a person. Trials have their texts once, as the timeline
writes them and as machines see them; what a person sees instead is decided at the window, so that
neither a trial's identity nor its percepts depend on a language."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..core.json_values import as_object
from ..core.locale import FALLBACK
from ..core.locale import languages as spoken
from ..core.registry import nearest
from ..stimuli import Stimulus
from ..stimuli.kinds.files import ShownSound
from ..stimuli.kinds.lettering import Lines, tidied
from ..stimuli.kinds.together import Together
from .language.diagnostics import listed
from .language.expressions import varies
from .language.yaml_source import Document, YamlPath
from .responses import ResponseKind
from .trial import Display, Percept

#: texts of a paradigm, each with what is read in its place
Words = Mapping[str, str]


def translated(stimulus: Stimulus, words: Words) -> Stimulus:
    """A stimulus as people see it whose language has these words: a text among them is replaced,
    and everything else is as it was."""
    if isinstance(stimulus, Lines) and stimulus.text in words:
        return Lines.model_validate({**stimulus.model_dump(), "text": words[stimulus.text]})
    if isinstance(stimulus, ShownSound) and (visual := translated(stimulus.visual, words)) is not stimulus.visual:
        return stimulus.model_copy(update={"visual": visual})
    if isinstance(stimulus, Together):
        parts = tuple(part.model_copy(update={"show": translated(part.show, words)}) for part in stimulus.parts)
        return stimulus if parts == stimulus.parts else stimulus.model_copy(update={"parts": parts})
    return stimulus


def translated_percept(percept: Percept, words: Words) -> Percept:
    """A percept as people see it whose language has these words."""
    displays = tuple(translated_display(display, words) for display in percept.displays)
    return percept if displays == percept.displays else replace(percept, displays=displays)


def translated_display(display: Display, words: Words) -> Display:
    """A display as people see it whose language has these words."""
    stimulus = translated(display.stimulus, words) if words else display.stimulus
    return display if stimulus is display.stimulus else replace(display, stimulus=stimulus)


def mistranslated(
    document: Document, translations: Mapping[str, Words], languages: Iterable[str]
) -> Iterator[tuple[YamlPath, str]]:
    """List the problems of a paradigm's translations: texts that the timeline does not have,
    languages without instructions, texts that cannot be drawn. Translations that are inherited may
    be of texts that a timeline of one's own has no more."""
    answers = set(_answers(document.data.get("timeline")))
    texts = sorted({*_texts(document.data.get("timeline")), *answers})
    beside = _file(document, ("timeline",))
    for language, words in translations.items():
        if language not in languages:
            yield (
                ("translations", language),
                f"there are no instructions in '{language}'; their languages are {listed(languages)}",
            )
        called = [word for answer, word in words.items() if answer in answers]
        for text, other in words.items():
            if text in answers and called.count(other) > 1:
                yield ("translations", language, text), f"two answers would both be called '{other}'"
            if text not in texts and beside and _file(document, ("translations", language, text)) == beside:
                hint = nearest(text, texts) or (f"; it has {listed(texts)}" if texts else "; it has none")
                yield (
                    ("translations", language, text),
                    f"the timeline shows no text '{text}', and has no such answer{hint}",
                )
            if "\n".join(" ".join(line.split()) for line in other.strip().split("\n")) != other:
                yield (
                    ("translations", language, text),
                    f"leave out blanks at the ends, and more than one in a row; found {other!r}",
                )


def _file(document: Document, path: YamlPath) -> str:
    """The file in which a part of a document stands; empty where it comes from none."""
    return document.where(path).rpartition(":")[0]


def _mappings(part: Any) -> Iterator[dict[str, Any]]:
    """Everything in a timeline that has keys."""
    if isinstance(part, list):
        for inner in part:
            yield from _mappings(inner)
    elif isinstance(part, dict):
        yield part
        for inner in part.values():
            yield from _mappings(inner)


def _texts(timeline: Any) -> Iterator[str]:
    """The texts that are written out in a timeline."""
    for part in _mappings(timeline):
        shown = part.get("text")
        text = shown.get("text") if isinstance(shown, dict) else shown
        if isinstance(text, str) and not varies(text):
            yield tidied(text)
        rating = part.get("rating")
        if isinstance(rating, dict) and isinstance(labels := rating.get("labels"), dict):
            yield from (label for label in labels.values() if isinstance(label, str) and not varies(label))


def _answers(timeline: Any) -> Iterator[str]:
    """The words to answer with that are written out in a timeline. Those that are seen at places
    are to be remembered, and stay as they are."""
    for part in _mappings(timeline):
        choice = part.get("choice")
        if isinstance(choice, dict) and "layout" not in choice and isinstance(choice.get("options"), list):
            yield from (option for option in choice["options"] if isinstance(option, str))


def illegible(
    data: Mapping[str, Any], languages: Iterable[str], browser: bool = False
) -> Iterator[tuple[YamlPath, str]]:
    """List the texts of a paradigm (the content of its file) that cannot be drawn in these
    languages, with the reasons.

    Parameters
    ----------
    browser : whether a browser sets the pages, which knows every script: only words on the canvas
        are drawn then
    """
    from ..stimuli.render.fonts import unreadable  # loads a typeface

    for language in languages:
        for key in ("translations",) if browser else ("title", "instructions", "translations"):
            texts = as_object(data.get(key)).get(language)
            for part, text in texts.items() if isinstance(texts, dict) else [(None, texts)]:
                if isinstance(text, str) and (why := unreadable(text)):
                    yield (key, language) if part is None else (key, language, part), why


_NO_INSTRUCTIONS = "there are no instructions"


def missing_texts(data: Mapping[str, Any], language: str) -> list[str]:
    """List the texts of a paradigm (the content of its file) that a language lacks.

    A timeline is taken to be written in the first language of the instructions.
    """
    title, translations, instructions = (
        data.get("title"),
        data.get("translations") or {},
        data.get("instructions") or {FALLBACK: ""},
    )
    read = dict.fromkeys(
        (*_texts(data.get("timeline")), *(answer for answer in _answers(data.get("timeline")) if len(answer) > 1))
    )
    lacking: list[str] = []
    if language not in instructions:
        lacking.append(_NO_INSTRUCTIONS)
    if isinstance(title, dict) and language not in title:
        lacking.append("there is no title")
    if language != next(iter(instructions)) and (
        others := [text for text in read if text not in translations.get(language, {})]
    ):
        lacking.append(f"the timeline has texts or answers without a translation: {listed(others)} (translations)")
    if any(language not in prompt for prompt in _prompts(data.get("timeline"), next(iter(instructions)))):
        lacking.append("there are questions that are not asked in it (prompt)")
    return lacking


def _prompts(timeline: Any, first: str) -> Iterator[Mapping[str, Any]]:
    """Return the wordings of a timeline's questions and the reasons for right answers, by language; plain texts are
    in the first."""
    for part in _mappings(timeline):
        yield from (
            {first: part[key]} if isinstance(part[key], str) else part[key]
            for key in ("prompt", "why")
            if isinstance(part.get(key), str | dict)
        )


def untranslated(data: Mapping[str, Any], kinds: Iterable[ResponseKind], languages: Iterable[str]) -> list[str]:
    """List what readers of these languages would get in another one, as sentences for ``spanlab
    check``.

    Parameters
    ----------
    data : the content of the paradigm's file
    kinds : of the questions that trials ask
    """
    problems: list[str] = []
    for language in languages:
        problems += [f"'{language}': {lacks}" for lacks in missing_texts(data, language) if lacks != _NO_INSTRUCTIONS]
        if language not in spoken():
            problems.append(
                f"'{language}': the window and legends are available in {', '.join(spoken())}; their own texts are then"
                " in English"
            )
        elif language != FALLBACK:
            for kind in kinds:
                if (legend := kind.legend("participant", language)) and legend == kind.legend("participant", FALLBACK):
                    problems.append(f"'{language}': the legend of '{kind.name}' is in English")
                    break
    return problems
