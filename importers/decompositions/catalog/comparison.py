"""Decompositions of comparisons, bounds, extremes and checks for NaN."""

from __future__ import annotations

import torch

from importers.decompositions.clamp import clamp, clamp_max, clamp_min, clamp_tensor, hardtanh
from importers.decompositions.comparison import (
    compare_booleans_with_integers,
    compare_with_number,
    isclose,
)
from importers.decompositions.decomposition import Decomposition
from importers.decompositions.nan import equal, fmax, fmin, is_finite, maximum, minimum
from importers.decompositions.reductions import any_or_all, over_several

COMPARISON = (
    *(
        Decomposition(
            "clamp",
            f"aten::{function.__name__}.default",
            "run",
            "torch-mlir returns a limit for NaN, returns the lower limit if it is above the upper "
            "one, and is wrong for integers with a floating-point limit (PatchTST clamps counts "
            "at 1.0)",
            function,
        )
        for function in (clamp, clamp_min, clamp_max, hardtanh)
    ),
    Decomposition(
        "clamp",
        "aten::clamp.Tensor",
        "run",
        "torch-mlir returns a limit for NaN",
        clamp_tensor,
    ),
    *(
        Decomposition(
            "NaN in comparisons",
            f"aten::{operator}",
            "run",
            "torch-mlir takes NaN for equal to itself, and ignores NaN in a maximum or minimum",
            function,
        )
        for operator, function in (
            ("eq.Tensor", equal),
            ("maximum.default", maximum),
            ("minimum.default", minimum),
        )
    ),
    *(
        Decomposition(
            "booleans compared with integers",
            f"aten::{compare.__name__}.Tensor",
            "run",
            "torch-mlir converts the integers to booleans, so that False < -2 is true",
            compare_booleans_with_integers(compare),
        )
        for compare in (torch.lt, torch.le, torch.gt, torch.ge, torch.eq, torch.ne)
    ),
    *(
        Decomposition(
            "tensors compared with numbers of another kind",
            f"aten::{compare.__name__}.Scalar",
            "run",
            "torch-mlir reads the bits of an integer as a float when it compares constants (2.0 < "
            "1 is true), crashes for constant integers and a float, and never takes uint8 for "
            "equal to -1, which eager converts to 255",
            compare_with_number(compare),
        )
        for compare in (torch.lt, torch.le, torch.gt, torch.ge, torch.eq, torch.ne)
    ),
    *(
        Decomposition(
            "fmax and fmin with broadcasting",
            f"aten::{function.__name__}.default",
            "linalg",
            "torch-mlir's lowering does not broadcast",
            function,
        )
        for function in (fmax, fmin)
    ),
    Decomposition(
        "isfinite",
        "aten::isfinite.default",
        "linalg",
        "torch-mlir has no lowering",
        is_finite,
    ),
    *(
        Decomposition(
            "any or all over several dimensions",
            f"aten::{function.__name__}.dims",
            "torch",
            "the torch dialect has any and all over one dimension or over all dimensions only",
            over_several(function),
        )
        for function in (torch.any, torch.all)
    ),
    *(
        Decomposition(
            "any or all of a tensor without dimensions",
            f"aten::{name}.dim",
            "linalg",
            "torch-mlir has no lowering",
            any_or_all,
        )
        for name in ("any", "all")
    ),
    *(
        Decomposition(
            "any or all of a tensor of booleans",
            f"aten::_is_{function.__name__}_true.default",
            "torch",
            "the torch dialect lacks these operators, by which distributions check their arguments",
            function,
        )
        for function in (torch.any, torch.all)
    ),
    Decomposition(
        "isclose",
        "aten::isclose.default",
        "run",
        "torch-mlir takes NaN for close to NaN, and does not lower isclose of integers",
        isclose,
    ),
)
