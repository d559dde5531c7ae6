"""Trigger codes: the numbers that go out to an EEG amplifier, an eye tracker or another recorder
when something happens in a trial."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any

from pydantic import Field, model_validator

from ..core.errors import SpanLabError
from ..core.json_values import grouped
from ..core.registry import StrictModel, nearest
from .language.diagnostics import listed, validated
from .language.timeline import Node
from .language.yaml_source import YamlPath
from .responses import ResponseKind, Surface
from .trial import Verdict

Code = Annotated[int, Field(ge=1, le=255)]
#: The answer of several values is confirmed: the name of that press among ``responses``.
DONE = "done"


class Triggers(StrictModel):
    """The ``triggers`` part of a paradigm: which code goes out when. 0 is the line at rest, so
    codes are 1 to 255."""

    phases: dict[str, Code | dict[Verdict, Code]] = Field(
        default_factory=dict,
        description=(
            "code for the onset of each step of a phase; for a feedback phase, one code or one for each verdict"
        ),
    )
    responses: Code | dict[str, Code] | None = Field(
        default=None, description="code for every answer, or one for each answer, as written in the record (and `done`)"
    )
    verdicts: dict[Verdict, Code] = Field(
        default_factory=dict, description="code for the verdict on an answer: right, wrong, missed"
    )
    trial_start: Code | None = Field(
        default=None, description="code for the start of a trial, before its first display"
    )
    trial_end: Code | None = Field(
        default=None, description="code for the end of a trial, when the screen has been cleared"
    )
    shared: list[Code] = Field(default_factory=list, description="codes that intentionally mark several kinds of event")
    practice: bool = Field(default=False, description="whether practice trials send codes, too")

    @model_validator(mode="after")
    def _each_its_own(self) -> Triggers:
        if not self.meanings:
            raise ValueError("no codes: give some to phases, responses, verdicts, trial_start or trial_end")
        for code, meant in sorted(self.meanings.items()):
            if len(meant) > 1 and code not in self.shared:
                raise ValueError(
                    f"the code {code} stands for {' and for '.join(meant)}: give each its own, or list {code} under"
                    " 'shared' when that is meant"
                )
        for code in self.shared:
            if len(self.meanings.get(code, ())) < 2:
                raise ValueError(f"the code {code} is listed under 'shared', but does not stand for several things")
        return self

    @property
    def meanings(self) -> dict[int, list[str]]:
        """Return the meaning of each code, as it is written on the command line: ``phases.probe``."""
        return grouped(
            (code, spelt)
            for name, value in self.model_dump(
                include={"phases", "responses", "verdicts", "trial_start", "trial_end"}
            ).items()
            for spelt, code in _spelt(name, value)
        )

    def of_phase(self, phase: str, verdict: Verdict) -> int | None:
        """The code of the onset of a phase; for feedback, of that on an answer with this verdict."""
        code = self.phases.get(phase)
        if isinstance(code, dict):
            # as with its displays, what holds for wrong answers holds for missed ones that have
            # none of their own
            return code.get(verdict, code.get("wrong") if verdict == "missed" else None)
        return code

    def of_response(self, answer: int | str) -> int | None:
        """The code of one value that is given as an answer, or of :data:`DONE`."""
        return self.responses.get(str(answer)) if isinstance(self.responses, dict) else self.responses


def _spelt(name: str, value: Any) -> Iterator[tuple[str, int]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _spelt(f"{name}.{key}", inner)
    elif value is not None:
        yield name, value


def misplaced(triggers: Triggers, timeline: Node) -> Iterator[tuple[YamlPath, str]]:
    """(path below ``triggers``, message) for codes of what a timeline does not have."""
    steps = [
        step for step in timeline.steps() if isinstance(step.phase, str)
    ]  # the others are told as problems of the timeline
    phases = {
        step.phase: all(other.feedback is not None for other in steps if other.phase == step.phase) for step in steps
    }
    for phase, code in triggers.phases.items():
        if phase not in phases:
            yield (
                ("phases", phase),
                f"there is no phase '{phase}'{nearest(phase, phases) or '; there are ' + listed(phases)}",
            )
        elif isinstance(code, dict) and not phases[phase]:
            yield (
                ("phases", phase),
                f"'{phase}' is not a phase of feedback, so it has one code; found one for each verdict",
            )
    if any(step.ask is not None for step in steps):
        return
    for name in ("responses", "verdicts"):
        if getattr(triggers, name):
            yield (name,), "nothing is asked in the timeline"


def unanswerable(triggers: Triggers, kinds: Iterable[ResponseKind], declared: Triggers | None = None) -> str | None:
    """Why some code under ``responses`` (that is not declared already) can never be sent where
    these kinds of responses are given, or None."""
    if not isinstance(triggers.responses, dict):
        return None
    declared_codes = declared.responses if declared is not None and isinstance(declared.responses, dict) else {}
    answers = dict.fromkeys(answer for kind in kinds for answer in _answers(kind.surface()))
    wrong = next(
        (answer for answer in triggers.responses if answer not in answers and answer not in declared_codes), None
    )
    return (
        None
        if wrong is None
        else f"no question takes the answer '{wrong}'{nearest(wrong, answers) or '; there are ' + listed(answers, 20)}"
    )


def _answers(surface: Surface) -> list[str]:
    values = (
        [value for _, value in surface.keys]
        + [region.value for region in surface.regions]
        + list(() if surface.dial is None else surface.dial.values)
    )
    return [*map(str, values), *([DONE] if surface.several else [])]


def overridden(declared: Mapping[str, Any] | None, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The codes of a paradigm (plain, as in its file) with some of them changed; what is changed to
    None is removed.

    Raises
    ------
    SpanLabError
        when one code is to become several.
    """
    merged = dict(declared or {})
    for key, value in changes.items():
        if isinstance(value, Mapping):
            below = merged.get(key)
            if isinstance(below, int):
                raise SpanLabError(
                    f"there is one code for all {key} ({below}), so codes for single ones are given in the paradigm's"
                    " file (or in one that extends it)"
                )
            merged[key] = overridden(below if isinstance(below, Mapping) else None, value)
        elif value is None:
            merged.pop(key, None)
        else:
            merged[key] = value
    return merged


def read_triggers(data: Mapping[str, Any], timeline: Node, where: str) -> Triggers:
    """Codes that came from elsewhere than the paradigm's file, validated against its timeline.

    Raises
    ------
    SpanLabError
        with everything that is wrong; ``where`` says where the codes come from.
    """
    read, problems = validated(Triggers, dict(data))
    if read is not None:
        assert isinstance(read, Triggers)
        problems = list(misplaced(read, timeline))
        if not problems:
            return read
    raise SpanLabError(
        "\n".join(f"{where}{' ' if path else ''}{'.'.join(map(str, path))}: {message}" for path, message in problems)
    )


def suggestion(timeline: Node) -> str:
    """Codes for a timeline that declares none, to be pasted into its file."""
    phases = dict.fromkeys(step.phase for step in timeline.steps())
    named = ", ".join(f"{phase}: {10 + 10 * number}" for number, phase in enumerate(phases))
    asks = ", responses: 100" if any(step.ask is not None for step in timeline.steps()) else ""
    return f"triggers: {{trial_start: 1, phases: {{{named}}}{asks}, trial_end: 2}}"
