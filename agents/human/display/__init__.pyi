from .pad import keys_picture as keys_picture
from .surface import ACKNOWLEDGE as ACKNOWLEDGE
from .theme import STANDARD as STANDARD
from .theme import THEMES as THEMES
from .theme import Theme as Theme
from .theme import ThemeName as ThemeName
