"""Published human curves, and people with numbers of their own: tidy CSV files with their sources,
and their reader. Read-only."""

from .published import PUBLISHED_COLUMNS, conditions, of_persons, persons, published, studies

__all__ = ["PUBLISHED_COLUMNS", "conditions", "of_persons", "persons", "published", "studies"]
