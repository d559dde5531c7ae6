"""What a network takes in: trials as frames or vectors of words, in arrays and joint batches."""
