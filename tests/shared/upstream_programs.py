"""Runs the programs of `upstream_issues.yaml` without the changes that unmess makes."""

import math
import tempfile
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch.export import Dim
from torch.utils import _pytree as pytree

import unmess
from importers.decompositions.tracing import fast_overrides
from unmess.upstream_issues import OUTPUT_TYPES, Program

_NAMES = {"math": math, "torch": torch, "F": F, "Dim": Dim}


class Wrapper(torch.nn.Module):
    """A module that calls a function."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def problem(item: tuple[str, Program]) -> str | None:
    """Returns how a program fails or differs from eager PyTorch; None if it is right.

    Args:
        item: the way of compilation, and the program.
    """
    through, program = item
    torch.manual_seed(0)
    model = _model(program)
    inputs = _inputs(program.inputs)
    try:
        # PyTorch overrides all composite operators in each call, which takes most of the time.
        with fast_overrides():
            compiled = _compiled(through, program, model, inputs)
        if program.rejected is not None:
            return _accepted(compiled, model, _inputs(program.rejected))
        _assert_same(compiled(*inputs), model(*inputs))
    except unmess.Error as error:
        return error.cause
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def _model(program: Program) -> torch.nn.Module:
    if program.defines_model:
        names = dict(_NAMES)
        exec(program.model, names)  # The programs are part of this project.
        model = names["model"]
    else:
        model = eval(program.model, dict(_NAMES))
    return model if isinstance(model, torch.nn.Module) else Wrapper(model)


def _inputs(text: str) -> tuple:
    return eval(f"({text},)", dict(_NAMES)) if text else ()


def _compiled(through, program, model, inputs):
    if through == "decompositions":
        return torch.export.export(model, inputs).run_decompositions().module()
    from torch_mlir import fx

    dynamic = program.dynamic and {"inputs": eval(program.dynamic, dict(_NAMES))}
    module = fx.export_and_import(
        model.eval(),
        *inputs,
        output_type=OUTPUT_TYPES.get(through, through),
        dynamic_shapes=dynamic or None,
        **(program.options or {}),
    )
    if through == "iree":
        return run_by_iree(str(module))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.mlir"
        path.write_text(str(module))
        run = unmess.load(str(path), on="reference")
    # The integers of the IR are signless.
    return lambda *args: run(*(x.view(torch.int8) if x.dtype == torch.uint8 else x for x in args))


def run_by_iree(text: str, cpu: str = "host"):
    """Returns the function `main` of a module, compiled by IREE without the steps of unmess."""
    import iree.compiler
    import iree.runtime

    options = [f"--iree-llvmcpu-target-cpu={cpu}", "--iree-input-demote-f64-to-f32=false"]
    binary = iree.compiler.compile_str(text, target_backends=["llvm-cpu"], extra_args=options)
    program = iree.runtime.load_vm_flatbuffer(binary, driver="local-sync")

    def run(*inputs):
        results = program.main(*(each.numpy() for each in inputs))
        results = results if isinstance(results, tuple) else (results,)
        return [torch.from_numpy(np.array(each.to_host())) for each in results]

    return run


def _accepted(compiled, model, inputs) -> str | None:
    try:
        model(*inputs)
    except Exception:
        pass
    else:
        raise AssertionError("eager PyTorch accepts these inputs: they are no example")
    try:
        compiled(*inputs)
    except unmess.Error:
        return None
    return "accepts inputs that eager PyTorch rejects"


def _assert_same(ours, theirs) -> None:
    for mine, eager in zip(pytree.tree_leaves(ours), pytree.tree_leaves(theirs), strict=True):
        if eager.dtype == torch.uint8:
            mine = mine.view(torch.uint8)
        torch.testing.assert_close(mine, eager, equal_nan=True)
        if eager.is_floating_point():
            signs = torch.signbit(mine) == torch.signbit(eager)
            assert (signs | eager.isnan()).all(), "the sign of a zero differs"
