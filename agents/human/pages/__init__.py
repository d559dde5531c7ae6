"""What people read around the trials: pages of text and pictures, and the dialog before a session."""
