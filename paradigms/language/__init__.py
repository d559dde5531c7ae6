"""The language of paradigm files: YAML with lines, expressions, components, steps and flow, and what is said of mistakes in it."""
