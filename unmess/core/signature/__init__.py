"""Signatures of programs, and checks of calls against them."""
