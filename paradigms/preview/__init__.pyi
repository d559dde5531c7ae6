from . import timetable as timetable
from .example import ExampleDisplay as ExampleDisplay
