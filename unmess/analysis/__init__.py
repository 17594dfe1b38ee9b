"""An analysis for people and programs: as tables, as one HTML page, as JSON."""
