"""Keys, clicks and buttons: how they are read and interpreted."""
