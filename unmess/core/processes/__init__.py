"""Child processes, the workers built on them, and the state of this process."""
