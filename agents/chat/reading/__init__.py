"""How an answer is read in a reply."""
