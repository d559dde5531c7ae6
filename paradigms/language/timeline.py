"""The timeline of a paradigm: flow (for, repeat, when/else, do) around steps, read once and unrolled for every trial."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from keyword import iskeyword
from typing import Any

from ...core.errors import ParadigmError
from ...core.registry import nearest
from .component_spec import COUNTERS, Reader
from .diagnostics import show
from .expressions import FUNCTIONS, LITERALS, Environment, Template, is_expression
from .limits import MAX_STEPS
from .step_spec import STEP_KEYS, StepSpec
from .yaml_source import YamlPath

FLOW_KEYS = ("for", "when", "else", "repeat", "do")

_NAME = r"[A-Za-z][A-Za-z0-9_]*"
_FOR = re.compile(rf"\s*(?P<names>{_NAME}|\(\s*{_NAME}(\s*,\s*{_NAME})+\s*\))\s+in\s+(?P<list>\S.*)", re.DOTALL)


class Node(ABC):
    """A node of the timeline: a step, a sequence, a loop or a condition."""

    @abstractmethod
    def unroll(self, env: dict[str, Any]) -> Iterator[tuple[StepSpec, dict[str, Any]]]:
        """The steps in order, each with the names that hold for it."""

    @abstractmethod
    def steps(self) -> Iterator[StepSpec]:
        """Every step as it stands in the file, once, whether it happens or not."""


class StepNode(Node):
    def __init__(self, step: StepSpec) -> None:
        self.step = step

    def unroll(self, env: dict[str, Any]) -> Iterator[tuple[StepSpec, dict[str, Any]]]:
        yield self.step, env

    def steps(self) -> Iterator[StepSpec]:
        yield self.step


class Sequence(Node):
    def __init__(self, nodes: list[Node]) -> None:
        self.nodes = nodes

    def unroll(self, env: dict[str, Any]) -> Iterator[tuple[StepSpec, dict[str, Any]]]:
        for node in self.nodes:
            yield from node.unroll(env)

    def steps(self) -> Iterator[StepSpec]:
        for node in self.nodes:
            yield from node.steps()


class For(Node):
    """``for: item in list`` or ``for: (a, b) in zip(x, y)``."""

    def __init__(self, reader: Reader, path: YamlPath, names: tuple[str, ...], items: Template, body: Node) -> None:
        self.reader, self.path, self.names, self.items, self.body = reader, path, names, items, body

    def unroll(self, env: dict[str, Any]) -> Iterator[tuple[StepSpec, dict[str, Any]]]:
        items = self.reader.fill(self.items, self.path, env)
        if not isinstance(items, list):
            raise self._wrong(f"expected a list to loop over; found {show(items)}")
        for index, item in enumerate(items):
            self.reader.spend(len(env), self.path)
            if len(self.names) == 1:
                bound = {self.names[0]: item}
            else:
                if not isinstance(item, list) or len(item) != len(self.names):
                    raise self._wrong(f"expected {len(self.names)} values for ({', '.join(self.names)}); found {show(item)}")
                bound = dict(zip(self.names, item, strict=True))
            yield from self.body.unroll({**env, **bound, "index": index, "number": index + 1, f"{self.names[0]}_number": index + 1})

    def steps(self) -> Iterator[StepSpec]:
        return self.body.steps()

    def _wrong(self, message: str) -> ParadigmError:
        return ParadigmError([self.reader.document.problem(self.path, message)])


class Repeat(Node):
    """``repeat: 3``"""

    def __init__(self, reader: Reader, path: YamlPath, times: Template, body: Node) -> None:
        self.reader, self.path, self.times, self.body = reader, path, times, body

    def unroll(self, env: dict[str, Any]) -> Iterator[tuple[StepSpec, dict[str, Any]]]:
        times = self.reader.fill(self.times, self.path, env)
        if isinstance(times, bool) or not isinstance(times, int) or not 0 <= times <= MAX_STEPS:
            raise ParadigmError([self.reader.document.problem(self.path, f"expected a whole number from 0 to {MAX_STEPS}; found {show(times)}")])
        for index in range(times):
            self.reader.spend(len(env), self.path)
            yield from self.body.unroll({**env, "index": index, "number": index + 1})

    def steps(self) -> Iterator[StepSpec]:
        return self.body.steps()


class When(Node):
    """``when: =condition`` with an optional ``else``."""

    def __init__(self, reader: Reader, path: YamlPath, test: Template, body: Node, otherwise: Node | None) -> None:
        self.reader, self.path, self.test, self.body, self.otherwise = reader, path, test, body, otherwise

    def unroll(self, env: dict[str, Any]) -> Iterator[tuple[StepSpec, dict[str, Any]]]:
        chosen = self.body if self.reader.fill(self.test, self.path, env) else self.otherwise
        if chosen is not None:
            yield from chosen.unroll(env)

    def steps(self) -> Iterator[StepSpec]:
        yield from self.body.steps()
        if self.otherwise is not None:
            yield from self.otherwise.steps()


def read_timeline(reader: Reader, value: Any, path: YamlPath, variables: frozenset[str]) -> Node:
    """Read a list of steps and flow items; ``variables`` are the names that exist there."""
    if not isinstance(value, list) or not value:
        reader.report(path, f"expected a list of steps; found {show(value)}")
        return Sequence([])
    return Sequence([_read_item(reader, item, (*path, n), variables) for n, item in enumerate(value)])


def _read_item(reader: Reader, value: Any, path: YamlPath, variables: frozenset[str]) -> Node:
    if not isinstance(value, dict):
        reader.report(path, f"expected a step (phase, show, ask ...) or flow ({', '.join(FLOW_KEYS)}); found {show(value)}")
        return Sequence([])
    for key in value:
        if key not in FLOW_KEYS and key not in STEP_KEYS:
            reader.report((*path, key), f"unknown key '{key}'{nearest(key, (*FLOW_KEYS, *STEP_KEYS))}")
    inner = variables
    names: tuple[str, ...] = ()
    items = None
    if "for" in value:
        names, items = _read_for(reader, value["for"], (*path, "for"), variables)
        inner = variables | {*names, *COUNTERS, *(f"{name}_number" for name in names[:1])}
    test = reader.template(_condition(reader, value["when"], (*path, "when")), (*path, "when"), inner) if "when" in value else None
    otherwise = None
    if "else" in value:
        if test is None:
            reader.report((*path, "else"), "'else' needs a 'when' beside it")
        otherwise = read_timeline(reader, value["else"], (*path, "else"), inner)
    times = None
    if "repeat" in value:
        times = reader.template(value["repeat"], (*path, "repeat"), inner)
        if times.constant and (isinstance(value["repeat"], bool) or not isinstance(value["repeat"], int) or not 0 <= value["repeat"] <= MAX_STEPS):
            reader.report((*path, "repeat"), f"expected a whole number from 0 to {MAX_STEPS}, or an expression; found {show(value['repeat'])}")
        inner = inner | {*COUNTERS}
    node = _read_body(reader, value, path, inner)
    if times is not None:
        node = Repeat(reader, (*path, "repeat"), times, node)
    if test is not None:
        node = When(reader, (*path, "when"), test, node, otherwise)
    if items is not None:
        node = For(reader, (*path, "for"), names, items, node)
    return node


def _read_body(reader: Reader, value: dict[str, Any], path: YamlPath, variables: frozenset[str]) -> Node:
    step_keys = [key for key in value if key in STEP_KEYS]
    if "do" not in value:
        if not step_keys and any(key in value for key in FLOW_KEYS):
            reader.report(path, "nothing happens here: add 'do' with steps, or 'phase' and 'show'")
            return Sequence([])
        return StepNode(StepSpec(reader, {key: value[key] for key in step_keys}, path, variables))
    if step_keys:
        reader.report(path, f"'do' already says what happens; move {', '.join(step_keys)} into a step below it")
    return read_timeline(reader, value["do"], (*path, "do"), variables)


def _read_for(reader: Reader, value: Any, path: YamlPath, variables: frozenset[str]) -> tuple[tuple[str, ...], Template | None]:
    match = _FOR.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        reader.report(path, f"expected 'item in list' or '(a, b) in zip(x, y)'; found {show(value)}")
        return (), None
    names = tuple(re.findall(_NAME, match["names"]))
    for name in names:
        if name in variables or name in COUNTERS or name in FUNCTIONS or name in LITERALS or iskeyword(name) or names.count(name) > 1:
            reader.report(path, f"the name '{name}' is taken; choose another for this loop")
    return names, reader.template("=" + match["list"].removeprefix("="), path, variables)


def _condition(reader: Reader, value: Any, path: YamlPath) -> Any:
    if not is_expression(value) and not isinstance(value, bool):
        reader.report(path, f'expected an expression such as "=distractors > 0"; found {show(value)}')
    return value


def environment(env: Environment) -> dict[str, Any]:
    """A fresh copy of an environment, to which loops may add."""
    return dict(env)
