"""What a chat session takes and costs: estimated before, counted while it runs."""
