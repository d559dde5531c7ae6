"""A participant and machines take the same trials, and one page shows the results."""
