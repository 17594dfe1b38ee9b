"""Runs loops over small steps in one dispatch on IREE."""
