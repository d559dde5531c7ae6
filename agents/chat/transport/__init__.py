"""Requests on their way to a chat server and back: endpoints, limits, repeats, and replies that are kept."""
