"""The window and all that is drawn in it; what it does to durations, and how it is measured."""
