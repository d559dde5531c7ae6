from .figure_catalogue import figure_named as figure_named
from .inference import Margin as Margin
from .inference import Measured as Measured
from .inference import equivalence_test as equivalence_test
from .inference import read_margins as read_margins
