"""Training: from a config to a checkpoint, a log and a model card."""
