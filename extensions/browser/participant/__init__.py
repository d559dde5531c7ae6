"""The participant at a browser: the same trials on a page that a server sends, with the truth kept
on the server."""
