"""Decompositions of operators that draw random numbers."""

from importers.decompositions.decomposition import entries
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
    poisson,
)

RANDOM = (
    *entries(
        "samples computed from uniform samples",
        "linalg",
        "torch-mlir has no lowering (ViLT samples patches of its image)",
        {
            "multinomial.default": multinomial,
            "randperm.default": permutation,
            "poisson.default": poisson,
            "cauchy.default": cauchy,
            "geometric.default": geometric,
            "log_normal.default": log_normal,
            "randint_like.default": integers_below,
            "randint_like.low_dtype": integers_between,
            "normal.Tensor_Tensor": normal,
            "normal.Tensor_float": normal,
            "normal.float_Tensor": normal,
            "normal.float_float": normal_of_numbers,
        },
    ),
    *entries(
        "samples in f16 and bf16",
        "run",
        "torch-mlir rounds uniform samples to the dtype: some become 1, which eager excludes, "
        "and the logarithm of those that become 0 is infinite",
        {
            "rand.default": narrow_uniform,
            "rand_like.default": narrow_uniform_like,
            "randn.default": narrow_normal,
            "randn_like.default": narrow_normal_like,
            "uniform.default": narrow_uniform_in_place,
            "normal_functional.default": narrow_normal_in_place,
            "exponential.default": narrow_exponential,
        },
    ),
    *entries(
        "random integers with a lower bound",
        "run",
        "torch-mlir rounds toward zero, so that 0 is twice as frequent if the lower bound is "
        "negative",
        {"randint.low": integers},
    ),
    *entries(
        "random integers of other dtypes",
        "run",
        "torch-mlir draws floating-point numbers that are not integers",
        {"randint.default": integers_of_other_dtypes},
    ),
)
