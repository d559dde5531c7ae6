"""Chat models as participants, through any OpenAI-compatible endpoint."""

from .agent import ChatAgent
from .settings import ChatSettings
from .transport.endpoint import Endpoint, EndpointError
from .transport.request_limits import RequestLimits

__all__ = ["ChatAgent", "ChatSettings", "Endpoint", "EndpointError", "RequestLimits"]
