"""Compiles and runs a function on tensors with upstream MLIR's bindings."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path

import mlir
import numpy as np
from mlir import ir, runtime
from mlir.dialects import arith
from mlir.execution_engine import ExecutionEngine
from mlir.passmanager import PassManager

# Loops without optimization: each result is computed in the order of the iteration space, as by the
# interpreter.
PASSES = (
    "one-shot-bufferize{bufferize-function-boundaries "
    "function-boundary-type-conversion=identity-layout-map}",
    "buffer-deallocation-pipeline",
    "convert-bufferization-to-memref",
    "func.func(convert-linalg-to-loops)",
    "expand-strided-metadata",
    "lower-affine",
    "convert-math-to-funcs",
    "convert-scf-to-cf",
    "func.func(arith-expand)",
    # libm has no rsqrt.
    "func.func(math-expand-ops{ops=rsqrt})",
    # Before convert-math-to-llvm, which would lower expm1 to exp(x) - 1.
    "convert-math-to-libm",
    "func.func(convert-math-to-llvm)",
    "convert-complex-to-standard",
    "convert-complex-to-llvm",
    "finalize-memref-to-llvm",
    "func.func(convert-arith-to-llvm)",
    "convert-func-to-llvm",
    "convert-cf-to-llvm",
    "reconcile-unrealized-casts",
)
_LIBRARIES = ("libmlir_c_runner_utils.so", "libmlir_runner_utils.so")
# The dtypes of memory. i1 is one byte, and bf16 has no NumPy dtype.
DTYPES = {
    **{"f64": "f8", "f32": "f4", "f16": "f2", "bf16": "u2", "i1": "?"},
    **{f"i{8 * size}": f"i{size}" for size in (1, 2, 4, 8)},
    **{"complex<f32>": "c8", "complex<f64>": "c16", "index": "i8"},
}


class CannotCompile(Exception):
    """Upstream MLIR rejects the module, or cannot lower or call it; the message is one line."""


def function_of(module: ir.Module, name: str) -> ir.OpView:
    """Returns the function of a module."""
    for each in module.body.operations:
        if ir.StringAttr(each.attributes["sym_name"]).value == name:
            return each
    raise CannotCompile(f"no function {name}")


def run(module: ir.Module, name: str, arguments: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Compiles a module, which changes it, and returns the results of one call.

    Args:
        arguments: tensors, and arrays of rank 0 for numbers. They are not changed.

    Raises:
        CannotCompile: upstream MLIR cannot compile it.
    """
    with module.context, ir.Location.unknown():
        main = function_of(module, name)
        kinds = list(main.type.inputs)
        results = list(main.type.results)
        if not all(isinstance(each, ir.RankedTensorType) for each in results):
            raise CannotCompile("a result is no tensor")
        main.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
        read_only = ir.DictAttr.get({"bufferization.writable": ir.BoolAttr.get(False)})
        main.attributes["arg_attrs"] = ir.ArrayAttr.get(
            [
                read_only if isinstance(each, ir.RankedTensorType) else ir.DictAttr.get({})
                for each in kinds
            ]
        )
        _expand_absi(module)
        try:
            PassManager.parse(f"builtin.module({','.join(PASSES)})").run(module.operation)
            folder = Path(mlir.__path__[0]) / "lib"
            libraries = [str(folder / each) for each in _LIBRARIES]
            engine = ExecutionEngine(module, opt_level=2, shared_libs=libraries)
            # Compiles the code. A missing function of a library shows here.
            engine.lookup(name)
        except (ir.MLIRError, RuntimeError) as problem:
            raise CannotCompile(_first_line(problem)) from problem
        returned = _structure(results)()
        given = [_descriptor(value, kind) for value, kind in zip(arguments, kinds, strict=True)]
        engine.invoke(name, ctypes.pointer(ctypes.pointer(returned)), *given)
        return [
            _array(getattr(returned, f"result_{index}"), each) for index, each in enumerate(results)
        ]


def _expand_absi(module: ir.Module) -> None:
    """Replaces `math.absi` on integers, which convert-math-to-libm rejects."""
    found = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name == "math.absi" and isinstance(operation.result.type, ir.IntegerType):
            found.append(operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    for operation in found:
        value = operation.operands[0]
        with ir.InsertionPoint(operation):
            zero = arith.ConstantOp(value.type, 0).result
            positive = arith.MaxSIOp(value, arith.SubIOp(zero, value).result).result
        operation.result.replace_all_uses_with(positive)
        operation.erase()


def _first_line(problem: Exception) -> str:
    diagnostics = getattr(problem, "error_diagnostics", None)
    text = diagnostics[0].message if diagnostics else str(problem)
    return text.strip().splitlines()[0][:200] if text.strip() else type(problem).__name__


def dtype_of(kind: ir.Type) -> np.dtype:
    """Returns the dtype of the elements of a tensor, or of a number."""
    element = kind.element_type if isinstance(kind, ir.RankedTensorType) else kind
    if str(element) not in DTYPES:
        raise CannotCompile(f"no NumPy dtype for {element}")
    return np.dtype(DTYPES[str(element)])


def _descriptor(value: np.ndarray, kind: ir.Type):
    if isinstance(kind, ir.RankedTensorType):
        memref = runtime.get_ranked_memref_descriptor(np.asarray(value, order="C"))
        return ctypes.pointer(ctypes.pointer(memref))
    return ctypes.pointer(np.ctypeslib.as_ctypes_type(value.dtype)(value.item()))


def _structure(results: Sequence[ir.RankedTensorType]) -> type[ctypes.Structure]:
    fields = []
    for index, each in enumerate(results):
        like = np.empty([1] * each.rank, dtype_of(each))
        fields.append((f"result_{index}", type(runtime.get_ranked_memref_descriptor(like))))
    return type("Results", (ctypes.Structure,), {"_fields_": fields})


def _array(descriptor: ctypes.Structure, kind: ir.RankedTensorType) -> np.ndarray:
    """Returns a copy of a result."""
    dtype = dtype_of(kind)
    shape = list(descriptor.shape) if kind.rank else []
    if 0 in shape:
        return np.empty(shape, dtype)
    strides = [each * dtype.itemsize for each in descriptor.strides] if kind.rank else []
    start = ctypes.cast(descriptor.aligned, ctypes.c_void_p).value
    start += descriptor.offset * dtype.itemsize
    size = sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) + dtype.itemsize
    memory = np.frombuffer((ctypes.c_char * size).from_address(start), np.uint8)
    return np.ndarray(shape, dtype, memory, 0, strides).copy()
