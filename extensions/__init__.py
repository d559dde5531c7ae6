"""Packages that build on the core: each extension is a package as a stranger would build it, and
can be deleted."""
