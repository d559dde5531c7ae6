"""Data folders of the WorM benchmark, in and out: one module for each family of its tasks."""
