"""Chat servers on this machine, which live as long as the program that started them."""
