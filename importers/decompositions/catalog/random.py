"""Decompositions of operators that draw random numbers."""

from __future__ import annotations

from importers.decompositions.decomposition import Decomposition
from importers.decompositions.poisson import poisson
from importers.decompositions.sampling import (
    cauchy,
    geometric,
    integers,
    integers_below,
    integers_between,
    integers_of_other_dtypes,
    log_normal,
    multinomial,
    narrow_exponential,
    narrow_normal,
    narrow_normal_in_place,
    narrow_normal_like,
    narrow_uniform,
    narrow_uniform_in_place,
    narrow_uniform_like,
    normal,
    normal_of_numbers,
    permutation,
)

RANDOM = (
    *(
        Decomposition(
            "samples computed from uniform samples",
            f"aten::{operator}",
            "linalg",
            "torch-mlir has no lowering (ViLT samples patches of its image)",
            function,
        )
        for operator, function in (
            ("multinomial.default", multinomial),
            ("randperm.default", permutation),
            ("poisson.default", poisson),
            ("cauchy.default", cauchy),
            ("geometric.default", geometric),
            ("log_normal.default", log_normal),
            ("randint_like.default", integers_below),
            ("randint_like.low_dtype", integers_between),
            ("normal.Tensor_Tensor", normal),
            ("normal.Tensor_float", normal),
            ("normal.float_Tensor", normal),
            ("normal.float_float", normal_of_numbers),
        )
    ),
    *(
        Decomposition(
            "samples in f16 and bf16",
            f"aten::{operator}.default",
            "run",
            "torch-mlir rounds uniform samples to the dtype: some become 1, which eager excludes, "
            "and the logarithm of those that become 0 is infinite",
            function,
        )
        for operator, function in (
            ("rand", narrow_uniform),
            ("rand_like", narrow_uniform_like),
            ("randn", narrow_normal),
            ("randn_like", narrow_normal_like),
            ("uniform", narrow_uniform_in_place),
            ("normal_functional", narrow_normal_in_place),
            ("exponential", narrow_exponential),
        )
    ),
    Decomposition(
        "random integers with a lower bound",
        "aten::randint.low",
        "run",
        "torch-mlir rounds toward zero, so that 0 is twice as frequent if the lower bound is "
        "negative",
        integers,
    ),
    Decomposition(
        "random integers of other dtypes",
        "aten::randint.default",
        "run",
        "torch-mlir draws floating-point numbers that are not integers",
        integers_of_other_dtypes,
    ),
)
