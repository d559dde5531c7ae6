from .transcript import SentMessage as SentMessage
from .transcript import SentPicture as SentPicture
from .transcript import Talk as Talk
from .transcript import Transcript as Transcript
