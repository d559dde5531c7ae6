"""The version of SpanLab."""

__version__ = "0.1.0"
