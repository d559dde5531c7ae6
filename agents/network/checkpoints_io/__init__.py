"""Files of trained networks: SpanLab's own and those of the WorM benchmark, and the card that goes with each."""
