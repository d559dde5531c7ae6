"""Statistics: mixed-effects models and their contrasts, effect sizes, signal detection, agreement."""
