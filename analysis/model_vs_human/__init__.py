"""How far models are from people: scores, differences, and comparisons of curves."""
