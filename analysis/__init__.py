"""What it means: curves, figures and the report."""
