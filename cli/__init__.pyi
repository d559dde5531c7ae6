from .app import main as main
from .options import DataOption as DataOption
from .options import ExcludeOption as ExcludeOption
from .options import GeneratorOption as GeneratorOption
from .options import parse_generator as parse_generator
from .options import progress_bar as progress_bar
