"""Reading data: sessions and tables are read, scored and named, and rules of exclusion are applied."""
