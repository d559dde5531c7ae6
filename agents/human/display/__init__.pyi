from .colours import COLOURS as COLOURS
from .pad import keys_picture as keys_picture
from .surface import ACKNOWLEDGE as ACKNOWLEDGE
