"""Decompositions of comparisons, bounds, extremes and checks for NaN."""

import torch

from importers.decompositions.comparison import (
    clamp,
    clamp_max,
    clamp_min,
    clamp_tensor,
    compare_booleans_with_integers,
    compare_with_number,
    equal,
    fmax,
    fmin,
    hardtanh,
    is_finite,
    isclose,
    maximum,
    minimum,
)
from importers.decompositions.decomposition import entries
from importers.decompositions.reductions import any_or_all, over_several

COMPARISON = (
    *entries(
        "clamp",
        "run",
        "torch-mlir returns a limit for NaN, returns the lower limit if it is above the upper "
        "one, and is wrong for integers with a floating-point limit (PatchTST clamps counts "
        "at 1.0)",
        {
            "clamp.default": clamp,
            "clamp_min.default": clamp_min,
            "clamp_max.default": clamp_max,
            "hardtanh.default": hardtanh,
        },
    ),
    *entries("clamp", "run", "torch-mlir returns a limit for NaN", {"clamp.Tensor": clamp_tensor}),
    *entries(
        "NaN in comparisons",
        "run",
        "torch-mlir takes NaN for equal to itself, and ignores NaN in a maximum or minimum",
        {"eq.Tensor": equal, "maximum.default": maximum, "minimum.default": minimum},
    ),
    *entries(
        "booleans compared with integers",
        "run",
        "torch-mlir converts the integers to booleans, so that False < -2 is true",
        {
            f"{compare.__name__}.Tensor": compare_booleans_with_integers(compare)
            for compare in (torch.lt, torch.le, torch.gt, torch.ge, torch.eq, torch.ne)
        },
    ),
    *entries(
        "tensors compared with numbers of another kind",
        "run",
        "torch-mlir reads the bits of an integer as a float when it compares constants (2.0 < "
        "1 is true), crashes for constant integers and a float, and never takes uint8 for "
        "equal to -1, which eager converts to 255",
        {
            f"{compare.__name__}.Scalar": compare_with_number(compare)
            for compare in (torch.lt, torch.le, torch.gt, torch.ge, torch.eq, torch.ne)
        },
    ),
    *entries(
        "fmax and fmin with broadcasting",
        "linalg",
        "torch-mlir's lowering does not broadcast",
        {"fmax.default": fmax, "fmin.default": fmin},
    ),
    *entries("isfinite", "linalg", "torch-mlir has no lowering", {"isfinite.default": is_finite}),
    *entries(
        "any or all over several dimensions",
        "torch",
        "the torch dialect has any and all over one dimension or over all dimensions only",
        {
            f"{function.__name__}.dims": over_several(function)
            for function in (torch.any, torch.all)
        },
    ),
    *entries(
        "any or all of a tensor without dimensions",
        "linalg",
        "torch-mlir has no lowering",
        {"any.dim": any_or_all, "all.dim": any_or_all},
    ),
    *entries(
        "any or all of a tensor of booleans",
        "torch",
        "the torch dialect lacks these operators, by which distributions check their arguments",
        {f"_is_{function.__name__}_true.default": function for function in (torch.any, torch.all)},
    ),
    *entries(
        "isclose",
        "run",
        "torch-mlir takes NaN for close to NaN, and does not lower isclose of integers",
        {"isclose.default": isclose},
    ),
)
