"""The file of a paradigm with a sentence on each line, from what the code says of its keys."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, get_args

from pydantic import BaseModel

from spanlab.core.registry import describe
from spanlab.paradigms import RESPONSES, SAMPLERS
from spanlab.paradigms.language import schema
from spanlab.paradigms.language import timeline as steps
from spanlab.paradigms.network_view import NetworkView
from spanlab.paradigms.triggers import Triggers
from spanlab.stimuli import STIMULI

_KEY = re.compile(r"^(?P<indent>\s*(?:- )*)(?P<key>[\w-]+|\"[^\"]+\"):(?: |$)(?P<value>.*)$")
_FLOW = {
    "for": "what follows is done once for each of these",
    "repeat": "what follows is done so many times",
    "when": "only if this is true",
    "else": "otherwise",
    "do": "the steps to which this applies",
}
_PARTS: dict[str, type[BaseModel]] = {
    "source": schema.Source,
    "practice": schema.Practice,
    "example": schema.Example,
    "network": NetworkView,
    "triggers": Triggers,
    "quiz": schema.Quiz,
}
#: keys whose declared meaning is for a table of keys, and no sentence
_SAID = {
    "domains": "what kind of memory it needs",
    "functions": "what memory has to do",
    "phase": "the name of this part of a trial, which every row of the data has",
    "ends": "whether the step ends with the answer, or always lasts as long as its displays",
    "prompt": "the question, above the canvas",
    "why": "why the answer is right, for the worked example in the instructions",
    "timeline": "what happens, step by step",
    "paradigm": "its short name, for commands",
    "extends": "the paradigm from which everything else is taken",
    "version": "a number that increases whenever trials change",
    "instructions": "what everybody reads first; how to answer is added for each kind of agent",
}
_LANGUAGES = {"en": "in English", "de": "in German"}


def _summaries(registry: Any) -> dict[str, str]:
    return {component.name: component.summary for component in describe(registry)}


def _fields(model: type[BaseModel]) -> dict[str, str]:
    return {field.alias or name: field.description or "" for name, field in model.model_fields.items()}


def _designs() -> dict[str, str]:
    """What the keys of all sorts of designs mean."""
    models = [one for one in get_args(schema.Design) if isinstance(one, type)] or [schema.SessionDesign]
    return {key: said for model in models for key, said in _fields(model).items()}


def explained(text: str) -> str:
    """The file as a list of lines, each with its sentence where it has one."""
    shown = "".join(
        f"<li><code>{html.escape(line) or '&nbsp;'}</code>{f'<span>{html.escape(said)}</span>' if said else ''}</li>"
        for line, said in sentences(text)
    )
    return f'<ol class="lines">{shown}</ol>\n'


def sentences(text: str) -> Iterator[tuple[str, str]]:
    """Each line of a file without the comment at its end, and what is said of it; a comment that the file has comes
    first."""
    open_keys: list[tuple[int, str]] = []
    known = _known()
    for whole in text.splitlines():
        line, _, comment = whole.partition("  # ") if not whole.lstrip().startswith("#") else (whole, "", "")
        line = line.rstrip()
        found = _KEY.match(line)
        if found is None:
            yield line, _sentence(comment)
            continue
        depth, key = len(found["indent"]), found["key"].strip('"')
        while open_keys and open_keys[-1][0] >= depth:
            open_keys.pop()
        path = [name for _, name in open_keys]
        open_keys.append((depth, key))
        yield line, _sentence(comment or known.of(path, key, found["value"]))


def _sentence(words: str) -> str:
    """Words as a sentence."""
    words = words.strip().replace("``", "")
    return words and words[0].upper() + words[1:] + ("" if words[-1] in ".?!" else ".")


class _Known:
    """What is known of keys, by where they stand."""

    def __init__(self) -> None:
        self.head = _fields(schema.Head)
        self.stimuli, self.samplers, self.responses = map(_summaries, (STIMULI, SAMPLERS, RESPONSES))
        self.within = {name: _fields(model) for name, model in _PARTS.items()}
        self.designs = _designs()
        self.parameters = {
            component.name: {parameter.name: parameter.help for parameter in component.parameters}
            for registry in (STIMULI, SAMPLERS, RESPONSES)
            for component in describe(registry)
        }

    def of(self, path: list[str], key: str, value: str) -> str:
        if key in _LANGUAGES and path:
            return _LANGUAGES[key]
        if key in _SAID and (not path or path[0] == "timeline"):
            return _SAID[key]
        if not path:
            return self.head.get(key, "")
        place, inside = path[0], path[1:]
        if key in self.parameters.get(path[-1], {}):
            return self.parameters[path[-1]][key]
        if path[-1] == "ours":
            return "how long this phase lasts, which the papers leave open"
        if path[-1] == "feedback":
            return "what is shown after such an answer"
        if place == "factors":
            return "" if inside else self.factor(value)
        if place == "draw":
            return self.samplers.get(key, "") if inside else self.drawn(value or key)
        if place == "timeline":
            return self.step(key, value)
        if place == "designs":
            return self.designs.get(key, "") if inside else self.design(key, value)
        if place == "effects":
            return "an effect of this name, with a figure, a test and a sentence" if not inside else ""
        if place == "translations":
            return "what people read in place of the words of the file"
        return self.within.get(place, {}).get(key, "")

    def factor(self, value: str) -> str:
        if "random" in value:
            return "a factor whose level is drawn at random for each trial"
        if value.startswith("{"):
            return "a factor whose levels come in these proportions"
        return "a factor: every level comes equally often, crossed with the other factors"

    def drawn(self, value: str) -> str:
        sampler = self.first(value, self.samplers)
        return f"drawn for each trial: {sampler}" if sampler else "follows from factors and earlier draws"

    def design(self, name: str, value: str) -> str:
        if "adaptive:" in value:
            return "a staircase: answers decide which trial comes next"
        if "train:" in value:
            return "a data set for networks"
        return (
            "the trials of a session, unless another design is named" if name == "human" else "the trials of a session"
        )

    def step(self, key: str, value: str) -> str:
        if key == "show":
            shown = self.first(value, self.stimuli)
            return f"what is seen: {shown}" if shown else "what is seen, one display after another"
        if key == "ask":
            asked = self.first(value, self.responses)
            return f"the question: {asked}" if asked else "the question of this step"
        tables: tuple[Mapping[str, str], ...] = (_FLOW, steps.STEP_KEYS, steps.ASK_KEYS, steps.DISPLAY_KEYS)
        for table in (*tables, self.responses, self.stimuli):
            if key in table:
                return table[key]
        return ""

    def first(self, value: str, table: Mapping[str, str]) -> str:
        """What the first name in a value means that a table knows."""
        return next((table[name] for name in re.findall(r"(\w+):", value) if name in table), "")


@cache
def _known() -> _Known:
    return _Known()
