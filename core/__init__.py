"""What every part of the package may use."""
