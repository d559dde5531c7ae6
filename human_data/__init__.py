"""Published human curves: tidy CSV files with their sources, and their reader. Read-only."""

from .published import PUBLISHED_COLUMNS, conditions, published, studies

__all__ = ["PUBLISHED_COLUMNS", "conditions", "published", "studies"]
