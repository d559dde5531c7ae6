"""Data on their way in: sessions and tables read, scored, named, and left out by rules."""
