"""The YAML timelines, and the compiler that turns one into trials.

Names are loaded when they are first used, so that listing paradigms needs neither numpy nor the validators.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core import re_exports

if TYPE_CHECKING:
    from .compile import PlannedTrial, compile_trial, drawn_values, fingerprint, network_tasks, percept_bytes, resolve_levels
    from .design import plan_dataset, plan_practice, plan_session, session_design
    from .identity import trial_seed
    from .library import list_paradigms
    from .network_view import WORM_TASKS, NetworkArrays, NetworkView, network_arrays
    from .paradigm import Factor, Generator, Paradigm, load_paradigm, paradigm_from_data, with_streams
    from .responses import RESPONSES, Answer, AnswerKeys, Dial, ItemScore, Ordered, Region, ResponseKind, Surface
    from .samplers import SAMPLERS, Sampler
    from .trial import Ask, Display, Percept, Prompt, Step, Trial, Truth, Verdict, WorkedExample
    from .word_vectors import WordVectors, random_vectors, read_vectors

__getattr__ = re_exports(
    __name__,
    {
        "compile": ("PlannedTrial", "compile_trial", "drawn_values", "fingerprint", "network_tasks", "percept_bytes", "resolve_levels"),
        "design": ("plan_dataset", "plan_practice", "plan_session", "session_design"),
        "identity": ("trial_seed",),
        "library": ("list_paradigms",),
        "network_view": ("WORM_TASKS", "NetworkArrays", "NetworkView", "network_arrays"),
        "paradigm": ("Factor", "Generator", "Paradigm", "load_paradigm", "paradigm_from_data", "with_streams"),
        "responses": ("RESPONSES", "Answer", "AnswerKeys", "Dial", "ItemScore", "Ordered", "Region", "ResponseKind", "Surface"),
        "samplers": ("SAMPLERS", "Sampler"),
        "trial": ("Ask", "Display", "Percept", "Prompt", "Step", "Trial", "Truth", "Verdict", "WorkedExample"),
        "word_vectors": ("WordVectors", "random_vectors", "read_vectors"),
    },
)

__all__ = [
    "RESPONSES",
    "SAMPLERS",
    "WORM_TASKS",
    "Answer",
    "AnswerKeys",
    "Ask",
    "Dial",
    "Display",
    "Factor",
    "Generator",
    "ItemScore",
    "NetworkArrays",
    "NetworkView",
    "Ordered",
    "Paradigm",
    "Percept",
    "PlannedTrial",
    "Prompt",
    "Region",
    "ResponseKind",
    "Sampler",
    "Step",
    "Surface",
    "Trial",
    "Truth",
    "Verdict",
    "WordVectors",
    "WorkedExample",
    "compile_trial",
    "drawn_values",
    "fingerprint",
    "list_paradigms",
    "load_paradigm",
    "network_arrays",
    "network_tasks",
    "paradigm_from_data",
    "percept_bytes",
    "plan_dataset",
    "plan_practice",
    "plan_session",
    "random_vectors",
    "read_vectors",
    "resolve_levels",
    "session_design",
    "trial_seed",
    "with_streams",
]
