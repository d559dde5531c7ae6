"""What models are asked beside single sessions: how probable they hold the answers of others."""
