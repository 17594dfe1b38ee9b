"""What IREE's runtime says, in one line."""

import pytest

from unmess.core.drivers import remedy, short_problem


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
def test_what_the_runtime_says_is_shortened(text, cause):
    assert short_problem(text) == cause


def test_what_to_install():
    assert "libcuda" in remedy("cuda")
    assert remedy("local-task") is None
