"""Checking a paradigm by compiling it: every combination of factor levels, several seeds, both generators."""

from __future__ import annotations

from pathlib import Path

from ..errors import ParadigmError, Problem
from .compile import compile_trial
from .identity import trial_seed
from .paradigm import GENERATORS, load_paradigm

_SEEDS = 3
_MAX_TRIALS = 600


def check_paradigm(source: str | Path) -> str:
    """Validate a paradigm and compile trials of it; one line that says what was checked.

    Raises
    ------
    ParadigmError
        with everything that is wrong; each place once.
    """
    paradigm = load_paradigm(source)
    combinations = paradigm.combinations()
    if not combinations:
        combinations = [{}]
    problems: dict[tuple[str, str], Problem] = {}
    compiled = 0
    for index in range(_SEEDS):
        for levels in combinations:
            for generator in GENERATORS:
                if compiled >= _MAX_TRIALS:
                    break
                try:
                    compile_trial(paradigm, levels, trial_seed("check", 0, index), generator)
                except ParadigmError as error:
                    for problem in error.problems:
                        problems.setdefault((problem.where, problem.key), problem)
                compiled += 1
    if problems:
        raise ParadigmError(list(problems.values()))
    return f"{paradigm.reader.document.name}: {paradigm.name} is fine ({len(combinations)} combinations of factor levels, {compiled} trials compiled)"
