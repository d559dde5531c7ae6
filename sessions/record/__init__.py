"""The record of a session: its files, how they are written, and how they are read back. It imports nothing but the core."""
