"""A benchmark of memory: an agent takes a suite of paradigms, and a card says how it compares with
published people and models."""
