"""Stored replies of chat models, read again by a newer reader."""
