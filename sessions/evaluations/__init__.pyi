from .evaluation_set import EvaluationSet as EvaluationSet
from .evaluation_set import SetProgress as SetProgress
