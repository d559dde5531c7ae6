from . import train as train
from .presets import changed as changed
from .presets import config_named as config_named
