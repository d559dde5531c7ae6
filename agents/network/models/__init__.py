"""Networks, room by room: what sees (encoders), what remembers (memories, transformer), what
answers (heads), and the two kinds of whole networks.

Everything here imports torch.
"""

from .build import build, check_architecture, empty
from .encoders import Seen
from .memories import ARCHITECTURES, Memory, Options, State, StepMemory
from .network import Network, Passage
from .noise import NoisyLstm, add_noise

__all__ = [
    "ARCHITECTURES",
    "Memory",
    "Network",
    "NoisyLstm",
    "Options",
    "Passage",
    "Seen",
    "State",
    "StepMemory",
    "add_noise",
    "build",
    "check_architecture",
    "empty",
]
