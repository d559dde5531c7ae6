"""Chat servers on this machine, which live as long as whoever started them."""
