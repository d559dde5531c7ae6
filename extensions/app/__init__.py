"""The app: a page on this computer on which trials are taken by people and machines, and their
curves grow beside each other."""
