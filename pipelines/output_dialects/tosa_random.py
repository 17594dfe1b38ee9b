"""Rejects random numbers: TOSA has none, and no memory for a seed.

torch-mlir lowers them to constants: the same ones in each call, and for all operators of a shape.
"""

from __future__ import annotations

import re

from torch_mlir import ir

from pipelines.ir.modules import find_operations
from unmess.core.errors.error import Error
from unmess.core.errors.user_source import location_line

# Most of them are `aten.uniform` at `torch`. The others remain if they are backend-legal.
_DRAWS = re.compile(
    r"torch\.(aten|valsem\.aten)\.(bernoulli|uniform|exponential|multinomial|normal_functional"
    r"|rand|rand_like|randn|randn_like|randint|randperm|random|rrelu_with_noise_functional)\b.*"
)


def refuse_random_numbers(module: ir.Module) -> None:
    """Raises an error if a module at `torch` draws random numbers.

    Raises:
        Error: stage `tosa`, for the first such operator.
    """
    for operation in find_operations(module, lambda each: _DRAWS.fullmatch(each.name)):
        raise Error(
            "tosa",
            f"{operation.name.removeprefix('torch.')} draws random numbers, which TOSA "
            "does not support",
            where=location_line(operation.location),
            hint="pass the numbers as an input, switch dropout to evaluation mode, or try "
            "--to linalg",
        )
