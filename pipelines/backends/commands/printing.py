"""A `main` without arguments, which calls a program on literals and prints its results.

MLIR's runner utilities print floats with six digits. So `main` reinterprets them as integers of the
same width, whose digits are exact.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch_mlir import ir

from pipelines.backends.commands.tensors import as_tensor
from pipelines.backends.results import GARBAGE
from pipelines.ir.generics import elementwise
from pipelines.ir.modules import copy_module, entry_function
from pipelines.ir.tensor_ops import empty, sizes_of
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
    element = kind.element_type if is_tensor else kind
    name = f"argument_{number}"
    if isinstance(element, ir.ComplexType):
        literal = _complex_literal(tensor, element, name)
    else:
        literal = _constant(tensor, element, name)
    if is_tensor:
        return _cast(literal, kind)
    return _created("tensor.extract", kind, literal)


def _constant(tensor: torch.Tensor, element: ir.Type, name: str) -> ir.Value:
    """Creates a literal of static shape."""
    static = ir.RankedTensorType.get(tensor.shape, element)
    attribute = tensor_literal(tensor, static, name)
    return ir.Operation.create("arith.constant", [static], attributes={"value": attribute}).result


def _complex_literal(tensor: torch.Tensor, element: ir.ComplexType, name: str) -> ir.Value:
    """Creates a complex tensor of two literals. LLVM IR has no literals of complex tensors."""
    parts = [
        _constant(part.contiguous(), element.element_type, f"{name}_{which}")
        for part, which in ((tensor.real, "re"), (tensor.imag, "im"))
    ]
    return _elementwise(parts, element, lambda *both: _created("complex.create", element, *both))


def _cast(value: ir.Value, kind: ir.Type) -> ir.Value:
    if value.type == kind:
        return value
    return _created("tensor.cast", kind, value)


def _integers(value: ir.Value) -> list[ir.Value]:
    """Returns tensors of integers with the bits of a result: two of a complex one."""
    if not isinstance(value.type, ir.RankedTensorType):
        # LLVM 22.1 does not lower memory of booleans.
        if value.type == ir.IntegerType.get_signless(1):
            value = _created("arith.extui", ir.IntegerType.get_signless(32), value)
        value = _created("tensor.from_elements", ir.RankedTensorType.get([], value.type), value)
    element = ir.RankedTensorType(value.type).element_type
    if isinstance(element, ir.IntegerType) and element.width > 8:
        return [value]
    if isinstance(element, ir.IntegerType):
        # The runner utilities print i8 as characters.
        extend = "arith.extui" if element.width == 1 else "arith.extsi"
        wide = ir.IntegerType.get_signless(32)
        return [_elementwise([value], wide, lambda x: _created(extend, wide, x))]
    if isinstance(element, ir.ComplexType):
        part = element.element_type
        return [
            _bits(_elementwise([value], part, lambda x, name=name: _created(name, part, x)))
            for name in ("complex.re", "complex.im")
        ]
    return [_bits(value)]


def _bits(value: ir.Value) -> ir.Value:
    """Creates a tensor of integers with the bits of floats."""
    element = ir.RankedTensorType(value.type).element_type
    integer = ir.IntegerType.get_signless(ir.FloatType(element).width)
    return _elementwise([value], integer, lambda x: _created("arith.bitcast", integer, x))


def _elementwise(
    values: Sequence[ir.Value], element: ir.Type, body: Callable[..., ir.Value]
) -> ir.Value:
    """Creates a tensor of `element` whose elements are computed from those of tensors."""
    output = empty(sizes_of(values[0]), element)
    return elementwise(values, output, lambda *each: [body(*each[:-1])])


def _created(name: str, kind: ir.Type, *operands: ir.Value) -> ir.Value:
    return ir.Operation.create(name, [kind], operands).result


def _print(tensor: ir.Value) -> int:
    """Creates the call that prints a tensor of integers; returns their width."""
    element = ir.RankedTensorType(tensor.type).element_type
    width = ir.IntegerType(element).width
    unranked = _created("tensor.cast", ir.UnrankedTensorType.get(element), tensor)
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
    # The runner utilities print a row even for a tensor without elements.
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
