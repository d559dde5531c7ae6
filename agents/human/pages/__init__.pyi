from .dialog import Question as Question
from .pictured import strip as strip
