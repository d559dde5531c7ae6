from .diagnostics import listed as listed
from .diagnostics import show as show
from .diagnostics import validated as validated
from .schema import DatasetDesign as DatasetDesign
from .yaml_source import read as read
