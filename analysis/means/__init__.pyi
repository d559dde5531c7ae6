from .bootstrap import LEVEL as LEVEL
from .cell_means import place_of as place_of
from .cell_means import unit_means as unit_means
from .contrasts import Apart as Apart
from .contrasts import Contrast as Contrast
from .contrasts import contrast as contrast
from .contrasts import contrast_of as contrast_of
from .contrasts import over_both as over_both
