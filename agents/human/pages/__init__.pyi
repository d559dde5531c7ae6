from .dialog import Question as Question
from .pictured import Strip as Strip
from .pictured import heading as heading
