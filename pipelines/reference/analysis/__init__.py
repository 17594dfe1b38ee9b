"""What steps and schedules ask of the IR; nothing here changes it."""
