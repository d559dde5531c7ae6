from .base import SAMPLERS as SAMPLERS
from .base import Sampler as Sampler
from .integration import whole as whole
from .nback import CellNoise as CellNoise
from .nback import LetterNoise as LetterNoise
from .nback import NBackBlock as NBackBlock
from .span import direction_of as direction_of
