"""An example of a package that extends SpanLab: one file for each sort of extension, named in
``pyproject.toml``."""
