from .checkpoint import Checkpoint as Checkpoint
from .checkpoint import family_of as family_of
from .checkpoint import load as load
from .checkpoint import locate as locate
from .checkpoint import shipped as shipped
from .published import worm_tasks as worm_tasks
