"""IR files, and the files beside them that are needed to run them again."""
