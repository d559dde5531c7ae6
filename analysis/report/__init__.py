"""The report: one page that opens offline, section by section."""
