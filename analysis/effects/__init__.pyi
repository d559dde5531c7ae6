from .conditions import question_of as question_of
from .confidence import ROC_METHOD as ROC_METHOD
from .groups import GROUP as GROUP
from .groups import GROUP_METHOD as GROUP_METHOD
from .reaction_times import timed_questions as timed_questions
from .registry import EFFECTS as EFFECTS
