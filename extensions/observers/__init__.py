"""Observers who keep the gist of a trial and none of its items: how far a task can be done without memory for them."""
