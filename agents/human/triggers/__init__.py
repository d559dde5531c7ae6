"""Trigger codes on their way out: the ports that take them, the sender that gives each code its
pulse, and the marker that knows which code is due when.

A code that belongs to a display is written by the call that PsychoPy makes within the flip, right
after it has read the time of the flip. So nothing lies between the two but the writing itself, and
no other thread has to be woken. Everything else (the end of a pulse, codes that have to wait for
their turn) is done by a thread, so that no frame waits for it.
"""
