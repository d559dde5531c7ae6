"""Import and export of blocks and results of the N-back study of language models."""
