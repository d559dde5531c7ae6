from .base import SAMPLERS as SAMPLERS
from .base import Sampler as Sampler
from .integration import whole as whole
from .nback import NBackBlock as NBackBlock
from .noise import CellNoise as CellNoise
from .noise import LetterNoise as LetterNoise
from .span import direction_of as direction_of
