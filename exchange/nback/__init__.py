"""Blocks and results of the N-back study of language models, in and out."""
