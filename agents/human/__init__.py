"""The person at the PsychoPy window, and the simulated one who presses real keys. Importing this package does not import PsychoPy."""

from ..interruptions import Abandoned
from .display.screen import virtual_screen
from .participant import Participant, ParticipantEpisode
from .simulated import SimulatedParticipant

__all__ = ["Abandoned", "Participant", "ParticipantEpisode", "SimulatedParticipant", "virtual_screen"]
