"""Tests operators one by one, to find out which of them import and lower."""
