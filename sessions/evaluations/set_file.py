"""Set files: what several chat models and other machines are to take, in one YAML file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from ...agents.chat.cost.totals import Prices
from ...core.errors import ParadigmError, Problem
from ...core.json_values import as_list, as_object
from ...paradigms.language.diagnostics import in_order, show, validated
from ...paradigms.language.yaml_source import Document, YamlPath


def _entries(named: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """The keys of each name; an empty mapping where there are none."""
    nothing: dict[str, Any] = {}
    return {name: entry or nothing for name, entry in named}


class ParadigmEntry(BaseModel):
    """The options of a paradigm."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    set: dict[str, Any] = Field(default={}, description="levels of factors, each one level or a list, as with --set")
    trials: int | None = Field(default=None, ge=1, le=1_000_000, description="number of trials, distributed over the factor levels")
    design: str | None = Field(default=None, description="design in the paradigm's file; human when not given")
    generator: Literal["corrected", "published"] | None = Field(default=None, description="corrected or published trials")


class Budget(BaseModel):
    """What all sessions of a set may take together."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_cost: float | None = Field(default=None, gt=0, description="the set stops before it costs more, in the currency of the prices")
    max_tokens: int | None = Field(default=None, ge=1, description="the set stops before it uses more tokens, read and written")


class SetFile(BaseModel):
    """The content of a set file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    agents: list[str] = Field(min_length=1, description="who takes the trials, as with --agent; one name, or a list")
    paradigms: dict[str, ParadigmEntry] = Field(min_length=1, description="names in the library or files, each with set, trials, design and generator")
    settings: dict[str, dict[str, Any]] = Field(default={"": {}}, min_length=1, description="settings of chat models by a name of yours, as with --chat")
    repeats: int = Field(default=1, ge=1, le=1000, description="how often chat models take the same trials")
    seed: int = Field(default=1, ge=0, description="seed of the sessions")
    budget: Budget = Field(default=Budget(), description="max_cost and max_tokens of all sessions together")
    prices: dict[str, Prices] = Field(default={}, description="price of a million tokens by agent: input and output (and cached_input)")
    care: dict[str, Any] = Field(default={}, description="limits for requests, as with --care")

    @field_validator("agents", mode="before")
    @classmethod
    def _one_agent(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    @field_validator("paradigms", "settings", mode="before")
    @classmethod
    def _nothing_below(cls, value: Any) -> Any:
        return _entries(as_object(value).items()) or value


def read_set(document: Document) -> tuple[SetFile, dict[str, YamlPath]]:
    """The content of a set file, in which paradigms may be one name, a list, or names with keys below them; and where each paradigm stands in it.

    Raises
    ------
    ParadigmError
        with everything that is wrong with it, by line.
    """
    places: dict[str, YamlPath] = {}
    problems: list[Problem] = []
    data, entries = document.data, as_object(document.data).get("paradigms")
    if isinstance(entries, str):
        data = {**data, "paradigms": {entries: None}}
    elif listed := as_list(entries):
        named: dict[str, Any] = {}
        for number, item in enumerate(listed):
            path: YamlPath = ("paradigms", number)
            entry = {item: None} if isinstance(item, str) else as_object(item)
            if len(entry) != 1:
                problems.append(document.problem(path, _not_one(item)))
                continue
            ((name, below),) = entry.items()
            if name in named:
                problems.append(document.problem(path, f"each paradigm can be named once, and '{name}' is named twice; give its levels as a list"))
            named[name] = below
            places[name] = path if isinstance(item, str) else (*path, name)
        data = {**data, "paradigms": named or None}
    content, wrong = validated(SetFile, data)
    for path, message in wrong:
        match path:
            case ("paradigms", str() as name) if name in ParadigmEntry.model_fields:
                stray = f"'{name}' stands where names of paradigms stand: indent it further than the name of its paradigm"
                problems.append(document.problem(path, stray))
            case ("paradigms", str() as name, *below):
                problems.append(document.problem((*places.get(name, ("paradigms", name)), *below), message))
            case ("paradigms",) if problems:
                pass  # what is wrong with its items is known
            case _:
                problems.append(document.problem(path, message))
    if problems or not isinstance(content, SetFile):
        raise ParadigmError(in_order(problems))
    return content, {name: places.get(name, ("paradigms", name)) for name in content.paradigms}


def _not_one(item: Any) -> str:
    """What is wrong with an item of a list of paradigms."""
    beside_name = [key for key in as_object(item) if key in ParadigmEntry.model_fields]
    name = next((key for key in as_object(item) if key not in beside_name), None)
    if name is not None and beside_name:
        return f"'{beside_name[0]}' stands beside '{name}' and not below it: indent it further than the name of its paradigm"
    if name is not None:
        return "there are several paradigms in one item: begin each of them with '- '"
    return f"expected the name of a paradigm; found {show(item)}"
