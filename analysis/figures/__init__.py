"""Figures: charts, the marks that they share, and the figures of papers."""
