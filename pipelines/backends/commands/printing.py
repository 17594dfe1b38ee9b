"""A `main` without arguments, which calls a program on literals and prints its results.

MLIR's runner utilities print floats with six digits. So `main` reinterprets them as integers of the
same width, whose digits are exact.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch_mlir import ir

from pipelines.backends.commands.tensors import as_tensor
from pipelines.backends.results import GARBAGE
from pipelines.ir.modules import copy_module, entry_function
from unmess.core.errors.error import Error
from unmess.core.ir.literals import tensor_literal
from unmess.core.module.module import Module
from unmess.core.signature.entry_points import ENTRY
from unmess.core.signature.signature import Result, ScalarSpec

# The name of the program's own entry function beside `main`.
_PROGRAM = "program"
_HEADER = re.compile(r"Unranked Memref base@ = \S+ rank = \d+ offset = -?\d+ ")
_SIZES = re.compile(r"sizes = \[([\d, ]*)\] strides = \[[-\d, ]*\] data =\s*")
_INTEGER = re.compile(r"-?\d+")
_WORDS = {8: torch.int8, 16: torch.int16, 32: torch.int32, 64: torch.int64}


def with_main(module: Module, arguments: Sequence[Any]) -> Module:
    """Returns a copy of a module at `linalg` with a `main` that calls its entry function.

    Args:
        arguments: tensors and numbers for the arguments of the entry function.
    """
    copy = copy_module(module.ir)
    with copy.context, ir.Location.unknown():
        function = entry_function(copy, module.entry)
        function.attributes["sym_name"] = ir.StringAttr.get(_PROGRAM)
        function.attributes["sym_visibility"] = ir.StringAttr.get("private")
        types = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
        main = ir.Operation.parse(f"func.func @{ENTRY}() {{\n  return\n}}")
        copy.body.append(main)
        block = main.regions[0].blocks[0]
        widths = set()
        with ir.InsertionPoint.at_block_begin(block):
            given = [
                _literal(value, kind, number)
                for number, (value, kind) in enumerate(zip(arguments, types.inputs, strict=True))
            ]
            call = ir.Operation.create(
                "func.call",
                types.results,
                given,
                {"callee": ir.FlatSymbolRefAttr.get(_PROGRAM)},
            )
            for result in call.results:
                for tensor in _integers(result):
                    widths.add(_print(tensor))
        for width in sorted(widths):
            printer = f"func.func private @printMemrefI{width}(tensor<*xi{width}>)"
            copy.body.append(ir.Operation.parse(f"{printer} attributes {{llvm.emit_c_interface}}"))
    return replace(module, ir=copy)


def _literal(value: Any, kind: ir.Type, number: int) -> ir.Value:
    """Creates an argument of the call."""
    tensor = as_tensor(value)
    is_tensor = isinstance(kind, ir.RankedTensorType)
    static = ir.RankedTensorType.get(tensor.shape, kind.element_type if is_tensor else kind)
    attribute = tensor_literal(tensor, static, f"argument_{number}")
    constant = ir.Operation.create("arith.constant", [static], attributes={"value": attribute})
    if is_tensor:
        return _cast(constant.result, kind)
    return ir.Operation.create("tensor.extract", [kind], [constant.result]).result


def _cast(value: ir.Value, kind: ir.Type) -> ir.Value:
    if value.type == kind:
        return value
    return ir.Operation.create("tensor.cast", [kind], [value]).result


def _integers(value: ir.Value) -> list[ir.Value]:
    """Returns tensors of integers with the bits of a result: two of a complex one."""
    if not isinstance(value.type, ir.RankedTensorType):
        kind = ir.RankedTensorType.get([], value.type)
        value = ir.Operation.create("tensor.from_elements", [kind], [value]).result
    element = ir.RankedTensorType(value.type).element_type
    if isinstance(element, ir.IntegerType) and element.width > 8:
        return [value]
    if isinstance(element, ir.IntegerType):
        # The runner utilities print i8 as characters.
        extend = "arith.extui" if element.width == 1 else "arith.extsi"
        return [_generic(value, 32, f"%1 = {extend} %0 : {element} to i32", "%1")]
    if isinstance(element, ir.ComplexType):
        part = str(element.element_type)
        width = int(part.removeprefix("f"))
        return [
            _generic(
                value,
                width,
                f"%1 = complex.{which} %0 : {element}\n%2 = arith.bitcast %1 : {part} to i{width}",
                "%2",
            )
            for which in ("re", "im")
        ]
    width = int(re.sub(r"\D", "", str(element)))
    return [_generic(value, width, f"%1 = arith.bitcast %0 : {element} to i{width}", "%1")]


def _generic(value: ir.Value, width: int, body: str, result: str) -> ir.Value:
    """Creates a tensor of i`width` whose elements are computed by `body` from those of a tensor."""
    kind = ir.RankedTensorType(value.type)
    rank = kind.rank
    integers = ir.RankedTensorType.get(kind.shape, ir.IntegerType.get_signless(width))
    identity = ir.AffineMap.get_identity(rank)
    sizes = []
    for axis in range(rank):
        if kind.is_dynamic_dim(axis):
            index = ir.Operation.create(
                "arith.constant",
                [ir.IndexType.get()],
                attributes={"value": ir.IntegerAttr.get(ir.IndexType.get(), axis)},
            ).result
            size = ir.Operation.create("tensor.dim", [ir.IndexType.get()], [value, index])
            sizes.append(size.result)
    empty = ir.Operation.create("tensor.empty", [integers], sizes).result
    iterators = ", ".join(["#linalg.iterator_type<parallel>"] * rank)
    generic = ir.Operation.create(
        "linalg.generic",
        [integers],
        [value, empty],
        {
            "indexing_maps": ir.ArrayAttr.get([ir.AffineMapAttr.get(identity)] * 2),
            "iterator_types": ir.Attribute.parse(f"[{iterators}]"),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1]),
        },
        regions=1,
    )
    block = generic.regions[0].blocks.append(
        kind.element_type,
        integers.element_type,
        arg_locs=[ir.Location.unknown()] * 2,
    )
    values = {"%0": block.arguments[0]}
    with ir.InsertionPoint(block):
        for line in body.splitlines():
            name, text = line.split(" = ")
            operation, operand = text.split(" ")[:2]
            target = text.rpartition(" to ")[2] if " to " in text else None
            if target is None:
                target = str(ir.ComplexType(values[operand].type).element_type)
            values[name] = ir.Operation.create(
                operation, [ir.Type.parse(target)], [values[operand]]
            ).result
        ir.Operation.create("linalg.yield", [], [values[result]])
    return generic.result


def _print(tensor: ir.Value) -> int:
    """Creates the call that prints a tensor of integers; returns their width."""
    element = ir.RankedTensorType(tensor.type).element_type
    width = ir.IntegerType(element).width
    unranked = ir.Operation.create(
        "tensor.cast", [ir.UnrankedTensorType.get(element)], [tensor]
    ).result
    ir.Operation.create(
        "func.call",
        [],
        [unranked],
        {"callee": ir.FlatSymbolRefAttr.get(f"printMemrefI{width}")},
    )
    return width


def read_printed(text: str, results: Sequence[Result]) -> list[torch.Tensor]:
    """Returns the tensors that `main` has printed, for the results of the entry function.

    Raises:
        Error: stage `run`; the text has other tensors than these.
    """
    parts = _HEADER.split(text)[1:]
    dtypes = [_dtype(result) for result in results]
    expected = sum(2 if dtype.is_complex else 1 for dtype in dtypes)
    if len(parts) != expected:
        raise Error(
            "run",
            f"{GARBAGE}{len(parts)} memrefs are printed, expected {expected}",
            hint="stdout must have what main prints, and nothing after it",
        )
    tensors, rest = [], iter(parts)
    for dtype in dtypes:
        if dtype.is_complex:
            real, imaginary = (_tensor(next(rest), dtype.to_real()) for _ in range(2))
            tensors.append(torch.complex(real, imaginary))
        else:
            tensors.append(_tensor(next(rest), dtype))
    return tensors


def _tensor(part: str, dtype: torch.dtype) -> torch.Tensor:
    sizes = _SIZES.match(part)
    shape = [int(size) for size in sizes[1].split(",") if size.strip()] if sizes else []
    data = part[sizes.end() :] if sizes else ""
    # Of a tensor without elements, the runner utilities print a row that is not there.
    found = _INTEGER.findall(data) if math.prod(shape) else []
    numbers = np.array(found, dtype="i8")
    if sizes is None or len(numbers) != math.prod(shape):
        raise Error(
            "run",
            f"{GARBAGE}{len(numbers)} numbers are printed for the shape {shape}",
            hint="stdout must have what main prints, and nothing after it",
        )
    word = _WORDS[8 * dtype.itemsize]
    if dtype == torch.bool:
        return torch.from_numpy(numbers).to(torch.bool).reshape(shape)
    return torch.from_numpy(numbers).to(word).view(dtype).reshape(shape)


def _dtype(result: Result) -> torch.dtype:
    spec = result.spec
    if isinstance(spec, ScalarSpec):
        return {int: torch.int64, float: torch.float64, bool: torch.bool}[spec.type]
    return spec.dtype
