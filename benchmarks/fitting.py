"""Models of memory fitted to a hundred people: processor time and time by the clock, for 200 trials
each and three models with closed likelihoods.

python benchmarks/fitting.py [PEOPLE [WORKERS]]     100 people and 2 workers when not given

Fits, intervals of all parameters, and held-out answers are included; recovery, which does not grow
with the number of people, is not. The aim is two minutes on two cores.

Measured on two cores that did nothing else, all 100 people, by the clock and as processor time: 41
s and 80 s for yes-no questions (sdt, sdt-shared, threshold), 41 s and 81 s for serial order
(simple, primacy, m3), 83 s and 162 s for continuous report (slots, slots-averaging, resource), 63 s
and 125 s for change detection (slots, resource, sdt-shared). Intervals take more than half of it.
"""

from __future__ import annotations

import resource
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "helpers" / "data"))

from fitting_designs import design

from spanlab.core.worker_pool import open_pool
from spanlab.extensions.fitting.comparing import fit_job
from spanlab.extensions.fitting.likelihood import Space
from spanlab.extensions.fitting.models import models_named
from spanlab.extensions.fitting.reading import Answerer
from spanlab.extensions.fitting.trials import Kind

MODELS: dict[Kind, tuple[str, ...]] = {
    "detection": ("sdt", "sdt-shared", "threshold"),
    "order": ("simple", "primacy", "m3"),
    "report": ("slots", "slots-averaging", "resource"),
    "change": ("slots", "resource", "sdt-shared"),
}


def people(kind: Kind, names: tuple[str, ...], many: int) -> list[Answerer]:
    """People who answer as the first model does with typical parameters."""
    (model,) = models_named(names[0], kind)
    answerers = []
    for person in range(many):
        trials = design(kind, 200, seed=person)
        space = Space.of(model, trials)
        answers = model.draw(space.values(space.point({}), trials), trials, np.random.RandomState(person))
        answerers.append(Answerer(kind, f"P{person}", True, trials.answered(answers)))
    return answerers


def processor() -> float:
    """Processor time of this process and of its ended children, in seconds."""
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def main() -> None:
    many, workers = [*map(int, sys.argv[1:]), *(100, 2)[len(sys.argv) - 1 :]]
    for kind, names in MODELS.items():
        models = [model for name in names for model in models_named(name, kind)]
        everybody, clock, before = people(kind, names, many), time.monotonic(), processor()
        with open_pool(workers if workers > 1 else None) as pool:
            for _ in pool.each(fit_job, partial(tuple, (models, 1)), everybody):
                pass
        print(
            f"{kind}: {', '.join(names)}; {many} people: {time.monotonic() - clock:.0f} s by the clock,"
            f" {processor() - before:.0f} s of processor time"
        )


if __name__ == "__main__":
    main()
