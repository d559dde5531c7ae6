"""Participants in browsers: the page, the line to it, the server, and the visits."""
