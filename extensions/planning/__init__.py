"""Before and after the data: power, and the text of a Methods section."""
