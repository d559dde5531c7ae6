from .text import protocols_of as protocols_of
