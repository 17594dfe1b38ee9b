"""Tries operators one by one: what imports, what lowers, found out and not listed by hand."""
