"""Wordings of a task as a random factor: is one model better than another whatever the wording?"""
