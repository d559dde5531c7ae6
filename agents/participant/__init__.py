"""The person at the PsychoPy window, and the simulated one who presses real keys. Importing this package does not import PsychoPy."""

from .errors import Abandoned
from .participant import Participant, ParticipantEpisode
from .screen import virtual_screen
from .simulated import SimulatedParticipant

__all__ = ["Abandoned", "Participant", "ParticipantEpisode", "SimulatedParticipant", "virtual_screen"]
