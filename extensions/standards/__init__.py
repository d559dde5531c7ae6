"""Sessions in the files of others: BIDS, Psych-DS, tables with a codebook, Psych-101, conversations
as JSON Lines, logs of inspect_ai; and the field's own raw data."""
