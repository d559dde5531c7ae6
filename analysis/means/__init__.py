"""Means of cells and their intervals, from sums of any number of parts."""
