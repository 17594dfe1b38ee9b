"""Compiles and runs linalg IR with upstream MLIR's Python bindings alone.

    unmess import MODEL --to linalg --upstream-only -o model.mlir
    python examples/upstream_mlir.py model.mlir arguments.npz results.npz

`arguments.npz` has the arguments of `main` in order: inputs, then weights and state. The script
writes the results to `results.npz`.
"""

import ctypes
import sys
from pathlib import Path

import mlir
import numpy as np
from mlir import ir, runtime
from mlir.execution_engine import ExecutionEngine
from mlir.passmanager import PassManager

PASSES = (
    "one-shot-bufferize{bufferize-function-boundaries "
    "function-boundary-type-conversion=identity-layout-map}",
    "buffer-deallocation-pipeline",
    "convert-bufferization-to-memref",
    "func.func(convert-linalg-to-loops)",
    "expand-strided-metadata",
    "lower-affine",
    "convert-scf-to-cf",
    "func.func(arith-expand)",
    "func.func(convert-math-to-llvm)",
    "convert-math-to-libm",
    "finalize-memref-to-llvm",
    "func.func(convert-arith-to-llvm)",
    "convert-func-to-llvm",
    "convert-cf-to-llvm",
    "reconcile-unrealized-casts",
)
NUMPY = {"f32": "f4", "f64": "f8", "i64": "i8", "i32": "i4", "i16": "i2", "i8": "i1", "i1": "?"}


def run(text: str, arguments: list[np.ndarray]) -> list[np.ndarray]:
    """Returns the results of the function `main` of a linalg module for these arguments."""
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        main = next(each for each in module.body if ir.StringAttr(each.sym_name).value == "main")
        results = [ir.RankedTensorType(each) for each in main.type.results]
        main.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
        # The caller owns the arguments, so bufferization must not write into their memory.
        read_only = ir.DictAttr.get({"bufferization.writable": ir.BoolAttr.get(False)})
        main.arg_attrs = [read_only] * len(arguments)
        PassManager.parse(f"builtin.module({','.join(PASSES)})").run(module.operation)
        folder = Path(mlir.__path__[0]) / "lib"
        libraries = [
            str(folder / f"libmlir_{name}.so") for name in ("c_runner_utils", "runner_utils")
        ]
        engine = ExecutionEngine(module, opt_level=2, shared_libs=libraries)

        class Results(ctypes.Structure):
            _fields_ = [
                (f"result_{index}", type(runtime.get_ranked_memref_descriptor(_empty(each))))
                for index, each in enumerate(results)
            ]

        returned = Results()
        given = [runtime.get_ranked_memref_descriptor(argument) for argument in arguments]
        pointers = [ctypes.pointer(ctypes.pointer(each)) for each in (returned, *given)]
        engine.invoke("main", *pointers)
        return [
            _array(getattr(returned, f"result_{index}"), each) for index, each in enumerate(results)
        ]


def _empty(result: ir.RankedTensorType) -> np.ndarray:
    return np.empty([1] * result.rank, NUMPY[str(result.element_type)])


def _array(descriptor: ctypes.Structure, result: ir.RankedTensorType) -> np.ndarray:
    """Returns a copy of a result."""
    if not result.rank:
        return np.array(descriptor.aligned[descriptor.offset], NUMPY[str(result.element_type)])
    if 0 in list(descriptor.shape):
        return np.empty(list(descriptor.shape), NUMPY[str(result.element_type)])
    return runtime.ranked_memref_to_numpy([descriptor]).copy()


def main() -> None:
    """Runs the module named on the command line."""
    module, arguments, results = sys.argv[1:]
    with np.load(arguments) as given:
        computed = run(Path(module).read_text(), [given[name] for name in given.files])
    np.savez(results, *computed)


if __name__ == "__main__":
    main()
