from . import scores as scores
from .score_layout import published_scores as published_scores
