"""The tools of lit tests run in forks of a process that has imported the libraries."""

# RUN: %python %s | filecheck %s
import sys

# CHECK: torch is imported: True
print("torch is imported:", "torch" in sys.modules)
