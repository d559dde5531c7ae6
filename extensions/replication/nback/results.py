"""Per-trial results of the N-back study (AAAI 2024) and of anybody who writes the same layout:
reading and checking the JSON.

One object; ``"2back_17"`` holds the trials of one block, each with the stimulus as sent, its
target, the response that was extracted, whether it was correct, and the time of the reply in
seconds. ``Infinity`` marks answers that were written into the history and never asked; blocks that
were never run, or not to their end, have empty texts.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from spanlab.core import Problem, SpanLabError
from spanlab.paradigms.language import show

_KEY = re.compile(r"([1-9][0-9]?)back_(0|[1-9][0-9]{0,5})")
_FIELDS = ("stimulus", "target", "response", "correct", "rt")
_RESULT = ("response", "correct", "rt")
_LABELS = ("m", "-")
_MOST_BYTES = 200_000_000
#: a day: no reply took longer
_LONGEST_S = 86_400

State = Literal["finished", "unfinished", "never run"]


@dataclass(frozen=True, slots=True)
class Answered:
    """One trial of a block, as the file has it; ``rt_ms`` is None for an answer that was never
    asked."""

    stimulus: str
    target: str
    response: str
    correct: bool
    rt_ms: float | None

    @property
    def prefilled(self) -> bool:
        """True if the answer was written into the history instead of being asked."""
        return self.rt_ms is None


@dataclass(frozen=True, slots=True)
class Block:
    """One finished block: its key in the file, level, number, and trials."""

    key: str
    n: int
    number: int
    trials: tuple[Answered, ...]


@dataclass(frozen=True, slots=True)
class Results:
    """The content of a file of results.

    Parameters
    ----------
    blocks : finished ones, in the order of the file
    unfinished, never_run : keys of blocks that were begun and not finished, and of placeholders
    problems : what is wrong, by key and trial
    """

    blocks: tuple[Block, ...]
    unfinished: tuple[str, ...]
    never_run: tuple[str, ...]
    problems: tuple[Problem, ...]


def read_results(path: Path) -> Results:
    """Read and check a file of results.

    Raises
    ------
    SpanLabError
        when the file cannot be read at all.
    """
    content = _content(path)
    length = max((len(trials) for trials in content.values() if isinstance(trials, list)), default=0)
    blocks: list[Block] = []
    problems: list[Problem] = []
    left: dict[State, list[str]] = {"unfinished": [], "never run": []}
    for key, trials in content.items():
        try:
            named = _KEY.fullmatch(key)
            if named is None:
                raise _FaultError(None, "this is not a name of a block; expected names such as 1back_0")
            state, answered = _block(trials, length)
            if state == "finished":
                blocks.append(Block(key, int(named[1]), int(named[2]), answered))
            else:
                left[state].append(key)
        except _FaultError as fault:
            problems.append(
                Problem(str(path), key if fault.trial is None else f"{key} > trial {fault.trial}", str(fault))
            )
    return Results(tuple(blocks), tuple(left["unfinished"]), tuple(left["never run"]), tuple(problems))


class _FaultError(Exception):
    """Raised where something is wrong with a block: in which of its trials (from 1), or in all of
    it."""

    def __init__(self, trial: int | None, message: str) -> None:
        super().__init__(message)
        self.trial = trial


def _content(path: Path) -> Mapping[str, Any]:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise SpanLabError(f"{path} is longer than {_MOST_BYTES // 1_000_000} MB: it holds no results of this kind")
        content = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_no_doubles)
    except OSError as error:
        raise SpanLabError(f"{path} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise SpanLabError(f"{path} is not a text file (it is not UTF-8)") from None
    except json.JSONDecodeError as error:
        raise SpanLabError(f"{path}:{error.lineno} is not JSON (column {error.colno}: {error.msg})") from None
    except RecursionError:
        raise SpanLabError(f"{path} is nested too deeply to hold results") from None
    except _DoubleError as error:
        raise SpanLabError(
            f"{path}: the key {error.args[0]!r} occurs twice in one place; nobody can know which one counts"
        ) from None
    except ValueError as error:  # a number of thousands of digits
        raise SpanLabError(f"{path} is not JSON that can be read ({error})") from None
    if not isinstance(content, dict) or not content:
        raise SpanLabError(
            f'{path} holds no results; expected an object with blocks, such as {{"1back_0": [...]}}; found'
            f" {show(content)}"
        )
    return content


class _DoubleError(Exception):
    pass


def _no_doubles(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    if len(pairs) > 1:
        name, many = Counter(name for name, _ in pairs).most_common(1)[0]
        if many > 1:
            raise _DoubleError(name)
    return dict(pairs)


def _block(trials: Any, length: int) -> tuple[State, tuple[Answered, ...]]:
    if not isinstance(trials, list):
        raise _FaultError(None, f"expected a list of trials; found {show(trials)}")
    if not trials:
        return "never run", ()
    for number, trial in enumerate(trials, start=1):
        _check_fields(number, trial)
    empty = [number for number, trial in enumerate(trials, start=1) if all(trial[name] == "" for name in _RESULT)]
    if len(empty) == len(trials):
        return "never run", ()
    if empty and empty != list(range(empty[0], len(trials) + 1)):
        raise _FaultError(empty[0], "nothing was answered here, though later trials of the block were")
    answered = tuple(
        _answered(number, trial) for number, trial in enumerate(trials[: len(trials) - len(empty)], start=1)
    )
    # A block that broke off may have its trials cut short, too.
    return ("unfinished" if len(answered) < length else "finished"), answered


def _check_fields(number: int, trial: Any) -> None:
    if not isinstance(trial, dict):
        raise _FaultError(number, f"expected the fields {', '.join(_FIELDS)}; found {show(trial)}")
    missing = next((name for name in _FIELDS if name not in trial), None)
    unknown = next((name for name in trial if name not in _FIELDS), None)
    if missing is not None or unknown is not None:
        raise _FaultError(
            number,
            (
                f"'{missing}' is missing"
                if missing is not None
                else f"unknown key {show(unknown)}; expected {', '.join(_FIELDS)}"
            ),
        )
    if not isinstance(trial["stimulus"], str):
        raise _FaultError(number, f"stimulus: expected text; found {show(trial['stimulus'])}")
    if trial["target"] not in _LABELS:
        raise _FaultError(number, f"target: expected m or -; found {show(trial['target'])}")


def _answered(number: int, trial: Mapping[str, Any]) -> Answered:
    target, response, correct, rt = trial["target"], trial["response"], trial["correct"], trial["rt"]
    if response not in _LABELS:
        raise _FaultError(number, f"response: expected m or -; found {show(response)}")
    if not isinstance(correct, bool):
        raise _FaultError(number, f"correct: expected true or false; found {show(correct)}")
    if isinstance(rt, bool) or not isinstance(rt, (int, float)) or not (0 <= rt <= _LONGEST_S or rt == math.inf):
        raise _FaultError(
            number, f"rt: expected seconds, or Infinity for an answer that was never asked; found {show(rt)}"
        )
    if correct != (response == target):
        raise _FaultError(
            number,
            f"the file contradicts itself: target {target}, response {response}, and correct is"
            f" {'true' if correct else 'false'}",
        )
    if rt == math.inf and not correct:
        raise _FaultError(number, "an answer that was never asked (rt is Infinity) is the target; this one is not")
    return Answered(trial["stimulus"], target, response, correct, None if rt == math.inf else 1000.0 * rt)
