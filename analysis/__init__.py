"""The analysis: curves, statistics, figures and the report."""
