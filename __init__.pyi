from .api.analysing import compare as compare
from .api.analysing import figure as figure
from .api.analysing import scores as scores
from .api.checking import check as check
from .api.exchange import export as export
from .api.exchange import import_data as import_data
from .api.listing import catalogue as catalogue
from .api.machines import SessionResult as SessionResult
from .api.machines import read_responses as read_responses
from .api.machines import replay as replay
from .api.people import resume as resume
from .api.people import run as run
from .api.screens import display as display
from .api.screens import timing as timing
from .api.starting import new as new
from .api.starting import render as render
from .api.starting import show as show
from .api.statistics import stats as stats
from .api.studies import study_monitor as study_monitor
from .api.studies import study_status as study_status
from .api.studies import study_withdraw as study_withdraw
from .api.training import train as train
from .api.transcripts import transcript as transcript
from .core.errors import SpanLabError as SpanLabError

__version__: str
from .paradigms import compile_trial as compile_trial
from .paradigms import list_paradigms as list_paradigms
from .paradigms import load_paradigm as load_paradigm

__all__: list[str]

# Names of other packages (entry points of the group spanlab.python), for type checkers; they are
# loaded when they are first used.
import spanlab.extensions.app.command as _app
import spanlab.extensions.archive.command as _archive
import spanlab.extensions.battery.command as _battery
import spanlab.extensions.benchmark.command as _benchmark
import spanlab.extensions.choices.command as _choices
import spanlab.extensions.demonstration.command as _demonstration
import spanlab.extensions.fitting.command as _fitting
import spanlab.extensions.modelling.dataset as _dataset
import spanlab.extensions.modelling.gym as _gym
import spanlab.extensions.neural.command as _neural
import spanlab.extensions.planning.command as _planning
import spanlab.extensions.replication.command as _replication
import spanlab.extensions.standards.inspect_task as _inspect_task
import spanlab.extensions.sweeps.command as _sweeps

Dataset = _dataset.Dataset
gym = _gym
benchmark = _benchmark.benchmark
demo = _demonstration.demo
fit = _fitting.fit
inspect_task = _inspect_task.inspect_task
methods = _planning.methods
neural = _neural.neural
plan = _planning.plan
reproduce = _replication.reproduce
score_choices = _choices.score_choices
scores_by_person = _battery.scores_by_person
study_archive = _archive.archive
study_restore = _archive.restore
sweep = _sweeps.sweep
view = _app.view
