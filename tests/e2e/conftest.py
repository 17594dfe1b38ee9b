"""Fixtures of the end-to-end tests, and the order of their files."""

import gc

import pytest
from iree.runtime import system_setup
from longest_first import longest_first

from pipelines.iree.devices import devices
from pipelines.iree.open_devices import close_device
from pipelines.reference import pipeline
from pipelines.reference.schedules.machine import MACHINES, host_machine
from unmess.core.options.processor import processor_flags

# The host also runs schedules for shorter vectors. This includes NEON's schedule, compiled to the
# host's own instructions.
HERE = [
    name
    for name, machine in MACHINES.items()
    if machine.vector_bytes <= host_machine().vector_bytes
    and (host_machine().fuses or not machine.fuses)
    and (host_machine().dots or not machine.dots)
    and ("avx512_bf16" in processor_flags() or not machine.pairs)
    and (host_machine().tiles or not machine.tiles)
]
BF16 = [name for name in HERE if MACHINES[name].pairs or MACHINES[name].tiles]
DOTS = [name for name in HERE if MACHINES[name].dots and name not in BF16]


@pytest.fixture(params=[name for name in HERE if not MACHINES[name].dots])
def always_vectors(request, monkeypatch):
    """Compiles all programs with schedules; otherwise small programs and operations have none."""
    _always(request.param, monkeypatch)


@pytest.fixture(params=DOTS or ["none"])
def always_dots(request, monkeypatch):
    """The same, for processors that multiply bytes four at a time. Others run plain loops."""
    _always(request.param if DOTS else HERE[0], monkeypatch)


@pytest.fixture(params=BF16 or ["none"])
def always_bf16(request, monkeypatch):
    """The same, for processors that multiply bf16. Others multiply in f32."""
    _always(request.param if BF16 else HERE[0], monkeypatch)


def _always(machine, monkeypatch):
    # Disable the cache: its key does not cover these patches.
    monkeypatch.setenv("UNMESS_CACHE_MB", "0")
    monkeypatch.setattr(pipeline, "deserves_schedule", lambda operation, calls: True)
    monkeypatch.setattr(pipeline, "optimization_level", lambda module: 2)
    monkeypatch.setattr(pipeline, "host_machine", lambda: MACHINES[machine])


@pytest.fixture
def vulkan(skip_without):
    """The Vulkan device. It is closed after the test, if no program uses it any more.

    IREE has a thread for each queue of an open device. On Mesa's lavapipe these threads poll, and
    would take two cores from all later tests.
    """
    found = devices("vulkan")
    if found.default is None:
        skip_without("vulkan", f"iree-vulkan: {found.problem}")
    yield found.default
    gc.collect()
    close_device("vulkan")
    system_setup._GLOBAL_DEVICES_BY_URI.pop("vulkan", None)  # the device of bundles


# The files that take longest. A process runs whole files, because their tests share captures and
# compilations. The longest start first, so that all processes end at about the same time.
_LONGEST = (
    "test_sources.py",
    "test_dynamic_shapes.py",
    "test_smollm2.py",
    "test_packed_folders.py",
    "test_output_dialects.py",
    "test_indices.py",
    "test_recurrent.py",
    "test_triage.py",
    "test_output_dialect_rewrites.py",
    "test_iree_calls.py",
    "test_integer_transformers.py",
    "test_counts_and_searches.py",
    "test_jax_files.py",
    "test_packed_experts.py",
    "test_special_values.py",
    "test_hostile_values.py",
    "test_generate_command.py",
    "test_examples.py",
    "test_common_dtype.py",
    "test_generate_texts.py",
    "test_generate_encoder_decoder.py",
    "test_channels_last.py",
    "test_upstream_issues.py",
    "test_onnx_graphs.py",
    "test_pixiw.py",
    "test_data_tiling.py",
    "test_torch_compile.py",
    "test_huggingface.py",
    "test_runners.py",
    "test_command_backends.py",
    "test_program_cache.py",
    "test_parts.py",
    "test_repeated_matrices.py",
    "test_sorts.py",
    "test_mask_indices.py",
    "test_packed_weights.py",
    "test_generate_window.py",
    "test_cli.py",
    "test_iree_weights.py",
    "test_dynamic_tiles.py",
)


def pytest_collection_modifyitems(items):
    longest_first(items, _LONGEST)
