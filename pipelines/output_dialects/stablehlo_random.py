"""Lowers `stablehlo.rng`, which has no seed. Its lowering to linalg uses a constant one.

Each call would return the same numbers. Uniform numbers are lowered by torch-mlir's own lowering of
`aten.uniform` instead, as at linalg, with a seed in a global that each call changes. Other
distributions are errors.
"""

from __future__ import annotations

from torch_mlir import ir
from torch_mlir.passmanager import PassManager

from pipelines.ir.modules import build_op, find_operations
from unmess.core.errors.error import Error
from unmess.core.errors.user_source import location_line

# The passes that lower `aten.uniform` and the type casts around it.
_LOWERING = (
    "builtin.module(func.func(convert-torch-to-linalg),convert-torch-conversion-to-mlprogram,"
    "func.func(canonicalize),func.func(torch-finalizing-backend-type-conversion))"
)
_UNIFORM = "#stablehlo<rng_distribution UNIFORM>"


def draw_from_seed(module: ir.Module) -> None:
    """Rewrites the `stablehlo.rng` of a module in place.

    Raises:
        Error: stage `linalg`, for a distribution other than the uniform one, for integers, or for
            dynamic sizes.
    """
    operations = find_operations(module, lambda operation: operation.name == "stablehlo.rng")
    if not operations:
        return
    with module.context:
        for operation in operations:
            _check(operation)
            with ir.InsertionPoint(operation), operation.location:
                operation.results[0].replace_all_uses_with(_drawn(operation))
            operation.erase()
        PassManager.parse(_LOWERING).run(module.operation)


def _check(operation: ir.Operation) -> None:
    kind = ir.RankedTensorType(operation.results[0].type)
    distribution = str(operation.attributes["rng_distribution"])
    if distribution != _UNIFORM:
        problem = f"of the {distribution.split()[-1].rstrip('>').lower()} distribution"
    elif not isinstance(kind.element_type, ir.FloatType):
        problem = f"of {kind.element_type}"
    elif not kind.has_static_shape:
        problem = "of dynamic sizes"
    else:
        return
    raise Error(
        "linalg",
        f"stablehlo.rng {problem} has no lowering that draws new numbers at each call",
        where=location_line(operation.location),
        hint="the StableHLO is valid for other tools; to run the program here, try --to linalg",
    )


def _drawn(operation: ir.Operation) -> ir.Value:
    """Creates an `aten.uniform` of the same shape."""
    low, high, _ = operation.operands
    kind = ir.RankedTensorType(operation.results[0].type)
    shape = ",".join(map(str, kind.shape))
    like = build_op("tensor.empty", kind)
    like = build_op(
        "torch_c.from_builtin_tensor", f"!torch.vtensor<[{shape}],{kind.element_type}>", like
    )
    none = build_op("torch.constant.none", "!torch.none")
    drawn = build_op("torch.aten.uniform", like.type, like, _number(low), _number(high), none)
    return build_op("torch_c.to_builtin_tensor", kind, drawn)


def _number(scalar: ir.Value) -> ir.Value:
    """Converts a tensor of rank 0 to a `!torch.float`."""
    kind = ir.RankedTensorType(scalar.type).element_type
    number = build_op("tensor.extract", kind, scalar)
    double = ir.F64Type.get()
    wide = number if kind == double else build_op("arith.extf", double, number)
    return build_op("torch_c.from_f64", "!torch.float", wide)
