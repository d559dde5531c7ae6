"""Chat models as participants, through any OpenAI-compatible endpoint, or a hook of one's own."""

from .agent import ChatAgent
from .messages import Reply
from .settings import ChatSettings
from .transport.endpoint import Endpoint, EndpointError
from .transport.hooks import Outgoing, SendHook
from .transport.request_limits import RequestLimits

__all__ = ["ChatAgent", "ChatSettings", "Endpoint", "EndpointError", "Outgoing", "Reply", "RequestLimits", "SendHook"]
