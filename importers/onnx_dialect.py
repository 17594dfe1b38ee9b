"""ONNX program to raw torch dialect: torch-mlir's ONNX importer, then its conversion."""

from __future__ import annotations

import time
from dataclasses import replace

from torch_mlir import ir, passmanager
from torch_mlir.dialects import torch as torch_d
from torch_mlir.extras import onnx_importer

from importers.capture.onnx import OnnxProgram
from unmess.core.error import Error, first_line
from unmess.core.module import ENTRY, Module

_CONVERSION = "builtin.module(func.func(convert-torch-onnx-to-torch))"


def import_onnx(program: OnnxProgram, weights: str) -> Module:
    """Imports an ONNX program into the torch dialect, stage `raw`.

    Args:
        weights: `external` makes the large initializers arguments of the entry function, after the
            model's own inputs; `inline` and `elide` make them literals.

    Raises:
        Error: stage `import`, for an operator that the torch dialect has no form for.
    """
    if weights == "splat":
        raise Error(
            "usage",
            "weights='splat' is for PyTorch programs, not for ONNX models",
            hint="take weights='elide', for IR to be read",
        )
    start = time.perf_counter()
    signature, tensors = program.signature, dict(program.weights)
    if weights == "external":
        proto = program.onnx.graph_proto
    else:
        proto, tensors = program.onnx.whole_proto(), {}
        inputs = tuple(a for a in signature.arguments if a.kind == "input")
        signature = replace(signature, arguments=inputs)
    proto.graph.name = ENTRY
    info = onnx_importer.ModelInfo(proto)
    context = ir.Context()
    torch_d.register_dialect(context)
    module = info.create_module(context)
    try:
        importer = onnx_importer.NodeImporter.define_function(info.main_graph, module.operation)
        importer.import_all()
    except Exception as problem:
        raise Error(
            "import",
            f"the ONNX graph has no form in the torch dialect: {first_line(problem)}",
            hint="write the model with simpler operators",
        ) from problem
    function = module.body.operations[0]
    with context:
        function.attributes["arg_attrs"] = ir.ArrayAttr.get(
            [
                ir.DictAttr.get({f"unmess.{argument.kind}": ir.StringAttr.get(argument.name)})
                for argument in signature.arguments
            ]
        )
        diagnostics: list[str] = []
        handler = context.attach_diagnostic_handler(
            lambda diagnostic: diagnostics.append(str(diagnostic.message)) or True
        )
        try:
            passmanager.PassManager.parse(_CONVERSION).run(module.operation)
        except Exception as problem:
            raise _no_form(proto, diagnostics, problem) from problem
        finally:
            handler.detach()
        left = sorted(_operators(function))
        if left:
            raise Error(
                "import",
                f"{', '.join(left)} (opset {_opset(proto)}) has no form in the torch dialect",
                hint="write the model without this operator, or with a simpler form of it",
            )
    result = Module(
        name=program.name,
        stage="raw",
        ir=module,
        signature=signature,
        weights=tensors,
        weight_mode=weights,
        entry=ENTRY,
        notes=program.notes,
        seconds=dict(program.seconds),
        program=program,
    )
    result.seconds["import"] = time.perf_counter() - start
    return result


def _operators(function: ir.Operation) -> set[str]:
    """The ONNX operators in a function."""
    found = set()

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name == "torch.operator":
            found.add(ir.StringAttr(operation.attributes["name"]).value)
        return ir.WalkResult.ADVANCE

    function.operation.walk(visit)
    return found


def _no_form(proto, diagnostics: list[str], problem: Exception) -> Error:
    message = next((text for text in diagnostics if text), first_line(problem))
    return Error(
        "import",
        f"an ONNX operator of opset {_opset(proto)} has no form in the torch dialect: {message}",
        hint="write the model without this operator, or with a simpler form of it",
    )


def _opset(proto) -> int:
    return max(o.version for o in proto.opset_import)
