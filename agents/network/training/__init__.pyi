from .journal import draw as draw
from .presets import changed as changed
from .presets import config_named as config_named
from .run import train as train
