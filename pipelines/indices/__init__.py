"""Checks indices that a program computes from data, for every runner."""
