from .diagnostics import listed as listed
from .diagnostics import show as show
from .diagnostics import validated as validated
from .limits import is_whole as is_whole
from .limits import start_trial as start_trial
from .schema import DatasetDesign as DatasetDesign
from .yaml_source import read as read
