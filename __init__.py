"""SpanLab: one working-memory experiment, for people and for machines."""

__version__ = "0.1.0"
