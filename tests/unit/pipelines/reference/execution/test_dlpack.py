"""Tests how results get to PyTorch: dtypes, and loads while new tensors are fake."""

import ctypes

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.dlpack import to_dlpack

import unmess
from pipelines.reference.execution import dlpack

get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def _form_of_pytorch(dtype):
    """Returns the dtype in the structure that PyTorch makes; None if DLPack does not have it."""
    try:
        capsule = to_dlpack(torch.empty(1, dtype=dtype))
    except BufferError:
        return None
    # The dtype follows an address and three 32-bit integers.
    return ctypes.string_at(get_pointer(capsule, b"dltensor") + 20, 4)


def test_dtypes_have_the_form_of_pytorch():
    dtypes = {each for each in vars(torch).values() if isinstance(each, torch.dtype)}
    # Programs have no results with two elements in each byte.
    expected = {each: _form_of_pytorch(each) for each in dtypes - {torch.float4_e2m1fn_x2}}
    expected = {dtype: form for dtype, form in expected.items() if form is not None}
    assert {torch.float32, torch.bfloat16, torch.bool, torch.int8, torch.uint8} <= set(expected)
    assert {dtype: dlpack.dtype_code(dtype) for dtype in expected} == expected


class Increment(torch.nn.Module):
    def forward(self, x):
        return x + 1


def test_a_load_while_new_tensors_are_fake():
    x = torch.randn(4, 3)
    program = unmess.capture(Increment(), (x,))
    with FakeTensorMode():
        run = unmess.load(program)
    torch.testing.assert_close(run(x), x + 1)
