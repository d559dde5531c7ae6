"""Who meets what: the one runner, and the record of what happened."""
