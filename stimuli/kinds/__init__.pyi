from .files import ShownSound as ShownSound
from .plain import Tone as Tone
