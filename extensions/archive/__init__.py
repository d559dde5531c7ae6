"""A study as one file: its data, its paradigms, and what explains them; the way back from it."""
