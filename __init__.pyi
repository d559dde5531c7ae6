from .api.analysing import compare as compare
from .api.analysing import figure as figure
from .api.analysing import scores as scores
from .api.python import inspect_task as inspect_task
from .api.python import render as render
from .api.python import replay as replay
from .api.python import replay_async as replay_async
from .api.python import resume as resume
from .api.python import resume_async as resume_async
from .api.python import run as run
from .api.python import train as train
from .api.statistics import stats as stats
from .core.errors import SpanLabError as SpanLabError

__version__: str
from .paradigms import compile_trial as compile_trial
from .paradigms import list_paradigms as list_paradigms
from .paradigms import load_paradigm as load_paradigm
from .sessions.result import SessionResult as SessionResult
from .sessions.result import read_responses as read_responses

__all__: list[str]

# Names of other packages (entry points of the group spanlab.python), for type checkers; they are
# loaded when they are first used.
import spanlab.extensions.modelling.dataset as _dataset
import spanlab.extensions.modelling.gym as _gym

Dataset = _dataset.Dataset
gym = _gym
