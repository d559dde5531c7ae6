"""Cognitive models of working memory, fitted to people and machines alike, and as agents that take
the trials themselves."""
