"""Chat models as participants, through any OpenAI-compatible endpoint."""

from .agent import ChatAgent
from .care import Care
from .endpoint import Endpoint, EndpointError
from .settings import ChatSettings

__all__ = ["Care", "ChatAgent", "ChatSettings", "Endpoint", "EndpointError"]
