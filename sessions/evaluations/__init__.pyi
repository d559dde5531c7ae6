from .evaluation_set import EvaluationSet as EvaluationSet
from .evaluation_set import Progress as Progress
