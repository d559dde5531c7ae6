"""How probable the answers of people are under chat models, given all that a person had seen: bits per choice."""
