"""The memory effects that SpanLab looks for, each declared once, and the functions that compute them."""
