"""Decompositions of comparisons, bounds, extremes and checks for NaN."""

from __future__ import annotations

import torch

from importers.decompositions.any_all import over_several
from importers.decompositions.clamp import clamp, clamp_max, clamp_min, clamp_tensor, hardtanh
from importers.decompositions.comparison import isclose, of_mixed, with_number_of_its_kind
from importers.decompositions.decomposition import Decomposition
from importers.decompositions.nan import equal, fmax, fmin, is_finite, maximum, minimum

COMPARISON = (
    *(
        Decomposition(
            "limits as choices",
            f"aten::{function.__name__}.default",
            "run",
            "torch-mlir's lowering gives a limit for NaN, the lower one where it is above the "
            "upper one, and compares integers as floating point where a limit is (PatchTST keeps "
            "counts above 1.0)",
            function,
        )
        for function in (clamp, clamp_min, clamp_max, hardtanh)
    ),
    Decomposition(
        "limits as choices",
        "aten::clamp.Tensor",
        "run",
        "torch-mlir's lowering gives a limit for NaN",
        clamp_tensor,
    ),
    *(
        Decomposition(
            "NaN in comparisons",
            f"aten::{operator}",
            "run",
            "torch-mlir takes a value for equal to itself, and gives the other number for the "
            "larger or smaller of NaN and a number",
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
            "torch-mlir converts the numbers to booleans: False < -2",
            of_mixed(compare),
        )
        for compare in (torch.lt, torch.le, torch.gt, torch.ge, torch.eq, torch.ne)
    ),
    *(
        Decomposition(
            "integers in comparisons",
            f"aten::{compare.__name__}.Scalar",
            "run",
            "torch-mlir reads the bits of the integer as a float where it compares a constant: 2.0 "
            "is less than 1 then. It crashes for constant integers and a float. And uint8 is never "
            "-1, which eager takes for 255",
            with_number_of_its_kind(compare),
        )
        for compare in (torch.lt, torch.le, torch.gt, torch.ge, torch.eq, torch.ne)
    ),
    *(
        Decomposition(
            "larger or smaller number",
            f"aten::{function.__name__}.default",
            "linalg",
            "torch-mlir's lowering does not broadcast",
            function,
        )
        for function in (fmax, fmin)
    ),
    Decomposition(
        "finite numbers",
        "aten::isfinite.default",
        "linalg",
        "there is no lowering",
        is_finite,
    ),
    *(
        Decomposition(
            "any or all over several dimensions",
            f"aten::{function.__name__}.dims",
            "torch",
            "the torch dialect has them over one dimension, or all",
            over_several(function),
        )
        for function in (torch.any, torch.all)
    ),
    Decomposition(
        "numbers that are close",
        "aten::isclose.default",
        "run",
        "torch-mlir takes NaN for close to NaN, and no integers",
        isclose,
    ),
)
