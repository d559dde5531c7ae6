"""N-back: hits, false alarms and d' of blocks and cells, and the published results."""
