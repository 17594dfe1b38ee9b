"""Fixtures for the end-to-end tests of schedules."""

import pytest

from pipelines.reference import order
from pipelines.reference.schedules.machine import MACHINES, host_machine

# The host also runs schedules for shorter vectors. This includes NEON's schedule, in the host's own
# instructions.
HERE = [
    name
    for name, machine in MACHINES.items()
    if machine.vector_bytes <= host_machine().vector_bytes
    and (host_machine().fuses or not machine.fuses)
]


@pytest.fixture(params=HERE)
def always_vectors(request, monkeypatch):
    """Compiles all programs with schedules; otherwise small programs and operations have none."""
    # Disable the cache: its key does not cover these patches.
    monkeypatch.setenv("UNMESS_CACHE_MB", "0")
    monkeypatch.setattr(order, "deserves_schedule", lambda operation: True)
    monkeypatch.setattr(order, "optimization_level", lambda module: 3)
    monkeypatch.setattr(order, "host_machine", lambda: MACHINES[request.param])
