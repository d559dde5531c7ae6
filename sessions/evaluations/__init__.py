"""Evaluations beyond single sessions: sets of sessions, and the probabilities that models give to the answers of others."""
