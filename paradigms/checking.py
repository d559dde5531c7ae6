"""Checking a paradigm by compiling it: every combination of factor levels, several seeds, both generators."""

from __future__ import annotations

import itertools
from pathlib import Path

from ..errors import ParadigmError, Problem, SpanLabError
from .balance import BalanceError
from .compile import compile_trial
from .design import plan_session
from .identity import trial_seed
from .limits import MAX_WORK, work_done
from .paradigm import GENERATORS, load_paradigm
from .problems import in_order
from .responses import ResponseKind
from .schema import SessionDesign
from .triggers import unanswerable

_SEEDS = 3
_MAX_TRIALS = 600
_MAX_FAILURES = 30
#: when trials are huge, fewer of them are compiled
_MAX_WORK = 3 * MAX_WORK


def check_paradigm(source: str | Path) -> str:
    """Validate a paradigm and compile trials of it; one line that says what was checked.

    Raises
    ------
    ParadigmError
        with everything that is wrong; each place once.
    """
    paradigm = load_paradigm(source)
    combinations = paradigm.combinations()
    problems: dict[tuple[str, str], Problem] = {}
    kinds: dict[ResponseKind, None] = {}
    compiled = failures = work = 0
    every = itertools.product(range(_SEEDS), combinations, GENERATORS)
    for index, levels, generator in itertools.islice(every, _MAX_TRIALS):
        try:
            trial = compile_trial(paradigm, levels, trial_seed("check", 0, index), generator)
            kinds |= dict.fromkeys(step.percept.ask.kind for step in trial.steps if step.percept.ask is not None)
        except ParadigmError as error:
            failures += 1
            for problem in error.problems:
                problems.setdefault((problem.where, problem.key), problem)
        compiled += 1
        work += work_done()
        if failures >= _MAX_FAILURES or work >= _MAX_WORK:
            break
    if problems:
        raise ParadigmError(in_order(problems.values()))
    wrong = unanswerable(paradigm.triggers, kinds) if paradigm.triggers is not None else None
    if wrong is not None:
        raise ParadigmError([paradigm.reader.document.problem(("triggers", "responses"), wrong)])
    for name, design in paradigm.designs.items():
        if isinstance(design, SessionDesign) and (design.adaptive is not None or design.chooses):
            try:
                plan_session(paradigm, 0, design)
            except BalanceError as error:
                raise ParadigmError([paradigm.reader.document.problem(("designs", name, error.key), error.why)]) from None
            except SpanLabError as error:
                raise ParadigmError([paradigm.reader.document.problem(("designs", name), str(error))]) from None
    return f"{paradigm.reader.document.name}: {paradigm.name} is fine ({len(combinations)} combinations of factor levels, {compiled} trials compiled)"
