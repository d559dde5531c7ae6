from .answering import CONFIRM_KEYS as CONFIRM_KEYS
from .answering import DONE as DONE
from .answering import AnswerSheet as AnswerSheet
from .answering import Button as Button
from .answering import Press as Press
from .refractory import TOO_SOON as TOO_SOON
from .refractory import USUAL as USUAL
from .refractory import Refractory as Refractory
