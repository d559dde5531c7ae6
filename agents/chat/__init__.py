"""Chat models as participants, through any OpenAI-compatible endpoint."""

from .agent import ChatAgent
from .settings import ChatSettings
from .transport.endpoint import Endpoint, EndpointError
from .transport.request_limits import Care

__all__ = ["Care", "ChatAgent", "ChatSettings", "Endpoint", "EndpointError"]
