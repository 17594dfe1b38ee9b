"""Tests how results get to PyTorch: dtypes, and loads while new tensors are fake."""

import ctypes

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.dlpack import to_dlpack

import unmess
from pipelines.reference.execution import memory

# Without a dtype that has two elements in each byte: programs have no such results.
DTYPES = {each for each in vars(torch).values() if isinstance(each, torch.dtype)}
DTYPES = sorted(DTYPES - {torch.float4_e2m1fn_x2}, key=str)
get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtype_has_the_form_of_pytorch(dtype):
    try:
        capsule = to_dlpack(torch.empty(1, dtype=dtype))
    except (BufferError, NotImplementedError, RuntimeError):
        pytest.skip("DLPack does not have this dtype")
    # The dtype follows an address and three 32-bit integers.
    assert memory._dlpack(dtype) == ctypes.string_at(get_pointer(capsule, b"dltensor") + 20, 4)


class Increment(torch.nn.Module):
    def forward(self, x):
        return x + 1


def test_a_load_while_new_tensors_are_fake():
    x = torch.randn(4, 3)
    program = unmess.capture(Increment(), (x,))
    with FakeTensorMode():
        run = unmess.load(program)
    torch.testing.assert_close(run(x), x + 1)
