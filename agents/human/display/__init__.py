"""The window and everything drawn in it, the durations that it can show, and how a display is measured."""
