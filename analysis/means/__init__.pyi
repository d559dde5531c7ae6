from .bootstrap import LEVEL as LEVEL
