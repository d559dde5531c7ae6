"""Reading of answers in replies."""
