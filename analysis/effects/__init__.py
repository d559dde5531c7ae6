"""The effects of memory that SpanLab looks for, each declared once, and what they are computed with."""
