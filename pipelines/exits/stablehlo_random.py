"""Random numbers of StableHLO: `stablehlo.rng` has no seed, its lowerings to linalg a constant one.

They would give the same numbers at each call. Uniform ones are drawn as the way by linalg draws
them, from a seed in a global that each call changes, by torch-mlir's own lowering of
`aten.uniform`; others are refused.
"""

from __future__ import annotations

from torch_mlir import ir
from torch_mlir.passmanager import PassManager

from pipelines.ir_modules import find_operations, made
from unmess.core.error import Error
from unmess.core.user_source import location_line

# Of `aten.uniform`, and of what stands for the types of both dialects around it.
_LOWERING = (
    "builtin.module(func.func(convert-torch-to-linalg),convert-torch-conversion-to-mlprogram,"
    "func.func(canonicalize),func.func(torch-finalizing-backend-type-conversion))"
)
_UNIFORM = "#stablehlo<rng_distribution UNIFORM>"


def draw_from_a_seed(module: ir.Module, stage: str) -> None:
    """Rewrites the `stablehlo.rng` of a module, in place.

    Raises:
        Error: `stage`, where one is of another distribution than the uniform one, of integers, or
            of sizes that are not known.
    """
    operations = find_operations(module, lambda operation: operation.name == "stablehlo.rng")
    if not operations:
        return
    with module.context:
        for operation in operations:
            _check(operation, stage)
            with ir.InsertionPoint(operation), operation.location:
                operation.results[0].replace_all_uses_with(_drawn(operation))
            operation.erase()
        PassManager.parse(_LOWERING).run(module.operation)


def _check(operation: ir.Operation, stage: str) -> None:
    kind = ir.RankedTensorType(operation.results[0].type)
    distribution = str(operation.attributes["rng_distribution"])
    if distribution != _UNIFORM:
        problem = f"of the {distribution.split()[-1].rstrip('>').lower()} distribution"
    elif not isinstance(kind.element_type, ir.FloatType):
        problem = f"of {kind.element_type}"
    elif not kind.has_static_shape:
        problem = "of sizes that are not known"
    else:
        return
    raise Error(
        stage,
        f"stablehlo.rng {problem} has no lowering that draws other numbers at each call",
        where=location_line(operation.location),
        hint="the StableHLO form is fine, it cannot be run here; try --to linalg",
    )


def _drawn(operation: ir.Operation) -> ir.Value:
    """As many numbers of `aten.uniform`."""
    low, high, _ = operation.operands
    kind = ir.RankedTensorType(operation.results[0].type)
    shape = ",".join(map(str, kind.shape))
    like = made("tensor.empty", kind)
    like = made(
        "torch_c.from_builtin_tensor", f"!torch.vtensor<[{shape}],{kind.element_type}>", like
    )
    none = made("torch.constant.none", "!torch.none")
    drawn = made("torch.aten.uniform", like.type, like, _number(low), _number(high), none)
    return made("torch_c.to_builtin_tensor", kind, drawn)


def _number(scalar: ir.Value) -> ir.Value:
    """A tensor without axes, as a number of the torch dialect."""
    kind = ir.RankedTensorType(scalar.type).element_type
    number = made("tensor.extract", kind, scalar)
    double = ir.F64Type.get()
    wide = number if kind == double else made("arith.extf", double, number)
    return made("torch_c.from_f64", "!torch.float", wide)
