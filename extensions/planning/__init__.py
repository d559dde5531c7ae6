"""Before and after the data: power, a preregistration, and the text of a Methods section."""
