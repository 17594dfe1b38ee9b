"""Calls the runtime with Python functions in place of compiled ones."""

import ctypes
import os
import signal

import pytest
import torch
from torch_mlir import ir
from torch_mlir.execution_engine import ExecutionEngine

from pipelines.reference.runtime import DO_PARTS, Runtime

PART = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
# An entry function with MLIR's packed interface.
PROGRAM = """
llvm.func @main(%do_parts: !llvm.ptr, %function: !llvm.ptr, %count: i64)
    attributes {llvm.emit_c_interface} {
  llvm.call %do_parts(%function, %function, %count) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, i64) -> ()
  llvm.return
}
"""


@pytest.fixture
def compute_parts():
    """A function that computes a number of parts with a Python function."""
    runtime = Runtime.get()
    with ir.Context():
        engine = ExecutionEngine(ir.Module.parse(PROGRAM))

    def run(part, count):
        function = PART(part)
        values = [
            ctypes.c_void_p(runtime.symbols[DO_PARTS]),
            ctypes.cast(function, ctypes.c_void_p),
            ctypes.c_int64(count),
        ]
        runtime.run(engine.raw_lookup("main"), [ctypes.addressof(value) for value in values])

    return run


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_ends_the_call_before_the_next_part(compute_parts, threads):
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    began = []

    def part(packed):
        index = ctypes.c_int64.from_address(packed).value
        began.append(index)
        if index == 0:
            os.kill(os.getpid(), signal.SIGINT)

    def last_part(packed):
        began.append(ctypes.c_int64.from_address(packed).value)

    try:
        with pytest.raises(KeyboardInterrupt):
            compute_parts(part, 1000)
        # The main thread computes the parts with even numbers if there are two threads.
        assert [index for index in began if index % threads == 0] == [0]
        began.clear()
        compute_parts(last_part, 5)
        assert sorted(began) == [0, 1, 2, 3, 4]
    finally:
        torch.set_num_threads(before)
