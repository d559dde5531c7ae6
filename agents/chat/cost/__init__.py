"""Tokens and costs of a chat session: estimated before, counted while it runs."""
