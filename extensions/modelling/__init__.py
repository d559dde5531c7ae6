"""A door for people who train models of their own: trials as batches, and as an environment."""
