"""Strategies for the trials of a session: one by one, in batches, or several at once."""
