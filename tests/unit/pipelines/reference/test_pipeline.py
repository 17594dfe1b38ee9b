"""The listed steps to LLVM are the steps that run."""

import pytest

from pipelines.debugging import debugging
from pipelines.listing import steps_of
from pipelines.reference.pipeline import lower_to_llvm
from pipelines.reference.steps.assertions import Assertions
from unmess.core.ir.parsing import parse

MATMUL = """
func.func @main(%x: tensor<64x64xTYPE>, %y: tensor<64x64xTYPE>, %z: tensor<64x64xTYPE>)
    -> tensor<64x64xTYPE> {
  %0 = linalg.matmul ins(%x, %y : tensor<64x64xTYPE>, tensor<64x64xTYPE>)
    outs(%z : tensor<64x64xTYPE>) -> tensor<64x64xTYPE>
  return %0 : tensor<64x64xTYPE>
}
"""


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_listed_steps_are_the_steps_that_run(dtype):
    seen = []
    with debugging(["all"], lambda text: seen.append(text.splitlines()[0])):
        lower_to_llvm(parse(MATMUL.replace("TYPE", dtype), "test"), "test", Assertions(), ["main"])
    # The last pass of a pipeline is printed with the pipeline's name, too.
    names = [line.removeprefix("// After ").split(",")[0] for line in seen]
    assert names == [entry.name for entry in steps_of("reference")]
