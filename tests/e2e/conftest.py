"""What end-to-end tests of schedules share."""

import pytest

from pipelines.reference import order
from pipelines.reference.schedules.machine import MACHINES, host_machine

# A machine runs the code of those with shorter vectors: also NEON's, if not NEON's instructions.
HERE = [
    name
    for name, machine in MACHINES.items()
    if machine.vector_bytes <= host_machine().vector_bytes
    and (host_machine().fuses or not machine.fuses)
]


@pytest.fixture(params=HERE)
def always_vectors(request, monkeypatch):
    """Small programs, and small operations, are otherwise compiled without schedules."""
    # What is patched here is not part of a compiled program's key.
    monkeypatch.setenv("UNMESS_CACHE_MB", "0")
    monkeypatch.setattr(order, "deserves_schedule", lambda operation: True)
    monkeypatch.setattr(order, "optimization_level", lambda module: 3)
    monkeypatch.setattr(order, "host_machine", lambda: MACHINES[request.param])
