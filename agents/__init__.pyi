from .base import Agent as Agent
from .base import AgentKind as AgentKind
from .base import AgentOptions as AgentOptions
from .base import BatchAgent as BatchAgent
from .base import ConcurrentAgent as ConcurrentAgent
from .base import Episode as Episode
from .base import Option as Option
from .base import Response as Response
from .base import Shown as Shown
from .base import TrialContext as TrialContext
from .base import WindowAgent as WindowAgent
from .base import WindowEpisode as WindowEpisode
from .interruptions import TrialCut as TrialCut
from .oracles import Observer as Observer
from .recorded import Published as Published
from .registry import AGENTS as AGENTS
from .registry import make_agent as make_agent
from .base import Cost as Cost, Ledger as Ledger, Outlook as Outlook
