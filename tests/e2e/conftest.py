"""Fixtures for the end-to-end tests of schedules, and the order of all files."""

import pytest
from longest_first import longest_first

from pipelines.reference import pipeline
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
    monkeypatch.setattr(pipeline, "deserves_schedule", lambda operation, calls: True)
    monkeypatch.setattr(pipeline, "optimization_level", lambda module: 3)
    monkeypatch.setattr(pipeline, "host_machine", lambda: MACHINES[request.param])


# The files that take longest. A process runs whole files, because their tests share captures and
# compilations. The longest start first, so that all processes end at about the same time.
_LONGEST = (
    "test_smollm2.py",
    "test_sources.py",
    "test_triage.py",
    "test_hostile_values.py",
    "test_examples.py",
    "test_indices.py",
    "test_upstream_issues.py",
    "test_program_cache.py",
    "test_dynamic_shapes.py",
    "test_constant_folding.py",
    "test_iree_weights.py",
    "test_repairs.py",
    "test_decoder_bundles.py",
    "test_contractions.py",
    "test_channels_last.py",
    "test_conformance.py",
    "test_generate_command.py",
    "test_cli.py",
    "test_onnx_graphs.py",
    "test_compiled_programs.py",
    "test_torch_compile.py",
    "test_windows.py",
    "test_jax_files.py",
    "test_command_backends.py",
    "test_huggingface.py",
    "test_data_tiling.py",
    "test_training_step.py",
    "test_tune.py",
    "test_matrix.py",
)


def pytest_collection_modifyitems(items):
    longest_first(items, _LONGEST)
