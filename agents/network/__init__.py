"""Networks as participants: they see 32 × 32 frames, one per step, and answer through the head of their task.

Nothing here imports torch until a network is used.
"""

from .agent import NetworkAgent
from .foreign import Interface, OwnNetwork
from .settings import CompactSettings, WormSettings, model_settings
from .training.config import TrainingConfig, read_config

__all__ = ["CompactSettings", "Interface", "NetworkAgent", "OwnNetwork", "TrainingConfig", "WormSettings", "model_settings", "read_config"]
