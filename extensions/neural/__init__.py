"""Analysis of a network's units: their task variance, clusters, lesions, and the similarity of
states, as a page with figures and tables."""

from .command import Analysis, analyse

__all__ = ["Analysis", "analyse"]
