"""Chat models as participants, through any OpenAI-compatible endpoint."""

from .agent import ChatAgent
from .endpoint import Endpoint, EndpointError
from .settings import ChatSettings, Patience

__all__ = ["ChatAgent", "ChatSettings", "Endpoint", "EndpointError", "Patience"]
