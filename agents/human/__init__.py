"""The person at the PsychoPy window, and the simulated one who presses real keys. Importing this
package does not import PsychoPy."""

from ...core.doors import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
