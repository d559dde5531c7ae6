from .fonts import use_font as use_font
from .palette import PALETTES as PALETTES
from .palette import PaletteName as PaletteName
from .palette import checked_palette as checked_palette
from .palette import recoloured as recoloured
from .pixels import picture as picture
from .pixels import render as render
from .window import ring as ring
