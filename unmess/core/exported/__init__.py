"""IR in a file, and the files beside it with which it runs again."""
