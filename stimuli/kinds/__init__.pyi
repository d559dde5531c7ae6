from .plain import Tone as Tone
from .sounds import ShownSound as ShownSound
