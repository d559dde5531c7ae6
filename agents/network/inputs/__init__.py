"""Inputs of networks: trials as frames or vectors of words, in arrays and joint batches."""
