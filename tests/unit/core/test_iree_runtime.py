"""Errors of IREE's runtime, shortened to one line, and remedies for missing drivers."""

import pytest

from unmess.core.errors.iree_runtime import remedy, short_problem


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (
            "Error creating driver: c/runtime/src/cuda.c:66: UNAVAILABLE; CUDA driver library "
            "'libcuda.so' not available; please ensure installed and in the search path",
            "CUDA driver library 'libcuda.so' not available",
        ),
        (
            "Error creating driver: c/runtime/src/hip.c:155: UNAVAILABLE; HIP runtime library "
            "'libamdhip64.so' not available: please ensure installed: \n  Tried: libamdhip64.so",
            "HIP runtime library 'libamdhip64.so' not available",
        ),
        ("something else\nand more", "RuntimeError: something else"),
    ],
)
def test_runtime_errors_are_shortened(text, cause):
    assert short_problem(text) == cause


def test_remedy_names_the_missing_library():
    assert "libcuda" in remedy("cuda")
    assert remedy("local-task") is None
