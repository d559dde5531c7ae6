"""Pages around the trials: text and pictures, and the dialog before a session."""
