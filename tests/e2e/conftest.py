"""What end-to-end tests of schedules share."""

import pytest

from pipelines.reference import lowering
from pipelines.reference.schedules.machine import MACHINES, host_machine

# A machine runs the code of those with shorter vectors.
HERE = [
    name
    for name, machine in MACHINES.items()
    if machine.vector_bytes <= host_machine().vector_bytes
]


@pytest.fixture(params=HERE)
def always_vectors(request, monkeypatch):
    """Small programs, and small operations, are otherwise compiled without schedules."""
    monkeypatch.setattr(lowering, "deserves_schedule", lambda operation: True)
    monkeypatch.setattr(lowering, "optimization_level", lambda module: 3)
    monkeypatch.setattr(lowering, "host_machine", lambda: MACHINES[request.param])
