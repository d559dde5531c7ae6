"""How far models are from people: scores, differences, and curves compared."""
