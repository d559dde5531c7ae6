"""Keys, clicks and buttons: how they come in, and what becomes of them."""
