"""Scores of each participant of a battery, as the wide table that individual-differences papers
analyse."""
