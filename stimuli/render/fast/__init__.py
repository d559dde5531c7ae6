"""Many small frames at once: looked up or pasted instead of drawn, the same to the last bit."""
