"""Weights as IREE parameters: bound by name at load, absent from the compiled module."""

from __future__ import annotations

import re
from collections.abc import Iterable

import iree.runtime as rt
import torch

from unmess.core.module import Module

SCOPE = "model"
_INNER = "__unmess_main"
_ENTRY = re.compile(r"func\.func( private)? @(\w+)\(")


def with_parameters(module: Module, text: str) -> str:
    """The module's IR as IREE takes it: weights are globals, and the entry takes the rest.

    The entry function becomes private, and a public one of its name loads the globals and calls it.

    Args:
        text: the IR of `module` at stage `linalg`, with the entry function's signature on one line.
    """
    signature = module.signature
    if not signature.of_kind("weight"):
        return text
    operand_types, result_types = entry_types(module)
    text = text.replace(f"func.func @{module.entry}(", f"func.func private @{_INNER}(", 1)
    globals_, loads, outer, operands = [], [], [], []
    for index, (argument, kind) in enumerate(
        zip(signature.arguments, operand_types, strict=True)
    ):
        value = f"%arg{index}"
        operands.append(value)
        if argument.kind == "weight":
            name = f"@__unmess_weight_{index}"
            key = _quoted(argument.name)
            globals_.append(
                f'util.global private {name} = #flow.parameter.named<"{SCOPE}"::{key}> : {kind}'
            )
            loads.append(f"  {value} = util.global.load {name} : {kind}")
        else:
            outer.append(f"{value}: {kind}")
    results = ", ".join(f"%result#{index}" for index in range(len(result_types)))
    call = f"call @{_INNER}({', '.join(operands)})"
    types = f"({', '.join(operand_types)}) -> ({', '.join(result_types)})"
    wrapper = [
        f"func.func @{module.entry}({', '.join(outer)}) -> ({', '.join(result_types)}) {{",
        *loads,
        f"  %result:{len(result_types)} = {call} : {types}",
        f"  return {results} : {', '.join(result_types)}",
        "}",
    ]
    # Inside the module's braces, so that its symbol table sees them; aliases stay in front.
    head, brace, tail = text.partition("module {")
    return "\n".join([head + brace, *globals_, *wrapper, tail.lstrip("\n")])


def entry_types(module: Module) -> tuple[list[str], list[str]]:
    """The types of the entry function's arguments and results, as text."""
    from torch_mlir import ir

    with module.ir.context:
        for function in module.ir.body.operations:
            if ir.StringAttr(function.attributes["sym_name"]).value == module.entry:
                kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
                return [str(t) for t in kind.inputs], [str(t) for t in kind.results]
    raise ValueError(f"no function {module.entry}")


def provider(weights: Iterable[tuple[str, torch.Tensor]]) -> rt.ParameterProvider:
    """Parameters that read the tensors' own memory. The tensors must outlive the provider."""
    index = rt.ParameterIndex()
    for name, tensor in weights:
        index.add_buffer(name, tensor.reshape(-1).view(torch.uint8).numpy())
    return index.create_provider(scope=SCOPE)


def _quoted(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
