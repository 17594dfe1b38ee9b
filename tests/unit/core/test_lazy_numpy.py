"""Tests of MLIR's bindings when NumPy is imported later."""

import subprocess
import sys

import pytest

CODE = """
import sys
from unmess.core.ir.lazy_numpy import import_bindings
ir = import_bindings({name!r})
assert "numpy" not in sys.modules
with ir.Context():
    # This builder uses NumPy.
    elements = ir.AttrBuilder.get("I64ElementsAttr")([2, 3], context=None)
import numpy
assert sys.modules["numpy"].array([1]).tolist() == [1]
print(elements)
"""


@pytest.mark.parametrize("name", ["torch_mlir.ir", "mlir.ir"])
def test_builders_import_numpy(name):
    done = subprocess.run(
        [sys.executable, "-c", CODE.format(name=name)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "dense<[2, 3]> : tensor<2xi64>\n"
