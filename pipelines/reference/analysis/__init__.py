"""Analyses of the IR for steps and schedules. They do not change it."""
