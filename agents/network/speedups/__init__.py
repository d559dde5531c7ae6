"""Looking at frames fast: what is the same is looked at once."""
