"""Studies of several paradigms and sessions: who takes what, in which order, and who has finished."""
