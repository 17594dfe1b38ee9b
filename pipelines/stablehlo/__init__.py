"""Rewrites StableHLO of other tools for both runners: a file for each kind of operation."""
