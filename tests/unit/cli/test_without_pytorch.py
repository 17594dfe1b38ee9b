"""Commands that need no PyTorch do not spend the seconds that importing it takes."""

import subprocess
import sys

import pytest

FILES = {
    "linalg.mlir": """
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %b = arith.addf %a, %a : tensor<4xf32>
  return %b : tensor<4xf32>
}
""",
    "torch.mlir": """
func.func @main(%a: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %b = torch.aten.tanh %a : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  return %b : !torch.vtensor<[4],f32>
}
""",
}
RUN = """
import sys
from unmess.__main__ import main
status = main(sys.argv[1:])
assert "torch" not in sys.modules, "PyTorch was imported"
sys.exit(status)
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["pipeline", "linalg"],
        ["portable", "linalg.mlir"],
        ["contract", "torch.mlir"],
        ["analyze", "torch.mlir", "--at", "linalg"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_pytorch_is_not_imported(arguments, tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    done = subprocess.run(
        [sys.executable, "-c", RUN, *arguments], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
