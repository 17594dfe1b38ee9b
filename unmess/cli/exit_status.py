"""The exit statuses that shells report for a process ended by a signal."""

INTERRUPTED = 130  # SIGINT
BROKEN_PIPE = 141  # SIGPIPE
