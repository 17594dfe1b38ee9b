"""Constants in the resource section of a file: fewer bytes than the type needs are an error."""

import pytest

from unmess.core.errors.error import Error
from unmess.core.ir.parsing import parse

TEXT = """
func.func @main() -> tensor<{type}> {{
  %0 = arith.constant dense_resource<blob> : tensor<{type}>
  return %0 : tensor<{type}>
}}
{{-# dialect_resources: {{ builtin: {{ blob: "0x04000000{data}" }} }} #-}}
"""


@pytest.mark.parametrize(
    ("kind", "size"),
    [
        ("4xf32", 16),
        ("1000000xf32", 4_000_000),
        ("2x3xbf16", 12),
        ("f64", 8),
        ("4xi1", 4),
        ("3xcomplex<f32>", 24),
        ("2xindex", 16),
        ("3xi4", 2),
    ],
)
def test_resources_are_as_long_as_their_type(kind, size):
    parse(TEXT.format(type=kind, data="3F" * size), "whole.mlir")
    for shorter in (size - 1, 0):
        with pytest.raises(Error, match="fewer elements than its type") as caught:
            parse(TEXT.format(type=kind, data="3F" * shorter), "short.mlir")
        assert caught.value.stage == "usage"
