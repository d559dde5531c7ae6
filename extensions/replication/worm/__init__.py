"""Import and export of data folders of the WorM benchmark: one module for each family of its tasks."""
