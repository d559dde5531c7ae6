"""Trials compiled per second, for every paradigm that ships: all combinations of factor levels in
turn, a fresh seed each time."""

from __future__ import annotations

import time

from spanlab.paradigms import compile_trial, list_paradigms, load_paradigm

SECONDS = 2.0


def main() -> None:
    for name in list_paradigms():
        load_paradigm(name)
        began = time.perf_counter()
        paradigm = load_paradigm(name)
        print(f"{name}: load and validate\t{(time.perf_counter() - began) * 1000:.1f}\tms")
        combinations = paradigm.combinations()
        compile_trial(paradigm, combinations[0], 0)
        trials, steps, began, elapsed = 0, 0, time.perf_counter(), 0.0
        while elapsed < SECONDS:
            for levels in combinations:
                steps += len(compile_trial(paradigm, levels, trials).steps)
                trials += 1
            elapsed = time.perf_counter() - began
        print(f"{name}: compiled\t{trials / elapsed}\ttrials/s")
        print(f"{name}: compiled\t{steps / elapsed}\tsteps/s")


if __name__ == "__main__":
    main()
