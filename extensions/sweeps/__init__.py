"""Grids of training runs, and what came of them."""
