from .analysing import DATA_HELP as DATA_HELP
from .analysing import MapOption as MapOption
from .analysing import MarginOption as MarginOption
from .analysing import PilotOption as PilotOption
from .analysing import PracticeOption as PracticeOption
from .analysing import caution as caution
from .listing import print_table as print_table
from .run import given as given
