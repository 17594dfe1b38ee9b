"""Formats an analysis as tables, as one HTML page, or as JSON."""
