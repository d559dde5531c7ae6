"""The YAML timelines, and the compiler that turns one into trials."""

from .compile import compile_trial, fingerprint, percept_bytes, resolve_levels
from .design import PlannedTrial, plan_dataset, plan_practice, plan_session
from .identity import trial_seed
from .network_view import NetworkView
from .paradigm import Factor, Paradigm, list_paradigms, load_paradigm, paradigm_from_data
from .responses import RESPONSES, Answer, ItemScore, Region, ResponseKind, Surface
from .samplers import SAMPLERS, Sampler
from .trial import Ask, Display, Percept, Step, Trial, Truth, Verdict

__all__ = [
    "RESPONSES",
    "SAMPLERS",
    "Answer",
    "Ask",
    "Display",
    "Factor",
    "ItemScore",
    "NetworkView",
    "Paradigm",
    "Percept",
    "PlannedTrial",
    "Region",
    "ResponseKind",
    "Sampler",
    "Step",
    "Surface",
    "Trial",
    "Truth",
    "Verdict",
    "compile_trial",
    "fingerprint",
    "list_paradigms",
    "load_paradigm",
    "paradigm_from_data",
    "percept_bytes",
    "plan_dataset",
    "plan_practice",
    "plan_session",
    "resolve_levels",
    "trial_seed",
]
