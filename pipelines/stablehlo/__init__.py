"""StableHLO of other tools, as both runners take it: a file for each kind of operation."""
