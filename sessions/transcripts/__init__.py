"""Conversations of chat sessions, put together from the record and shown as pages."""
