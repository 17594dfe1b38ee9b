"""Decompositions of medians, distinct elements, histograms, running sums and reductions."""

from __future__ import annotations

import torch

from importers.decompositions import distances, medians, one_element
from importers.decompositions.cumulative import converted
from importers.decompositions.cumulative_log import logcumsumexp
from importers.decompositions.decomposition import Decomposition
from importers.decompositions.histogram import histogram, histogram_between
from importers.decompositions.one_element import of_nothing
from importers.decompositions.unique import unique, unique_along, unique_consecutive, unique_old

STATISTICS = (
    *(
        Decomposition(
            "median by a sort",
            f"aten::{operator}",
            "torch",
            "the torch dialect has no medians and modes",
            function,
        )
        for operator, function in (
            ("median.default", medians.median),
            ("median.dim", medians.median_along),
            ("nanmedian.default", medians.nanmedian),
            ("nanmedian.dim", medians.nanmedian_along),
            ("mode.default", medians.mode),
        )
    ),
    *(
        Decomposition(
            "distinct elements",
            f"aten::{operator}.default",
            "torch",
            "there is no lowering; they are found where a sorted tensor changes",
            function,
        )
        for operator, function in (
            ("_unique", unique_old),
            ("_unique2", unique),
            ("unique_dim", unique_along),
            ("unique_consecutive", unique_consecutive),
        )
    ),
    *(
        Decomposition(
            "running sum or product of one element, or of another type",
            f"aten::{name}.default",
            "linalg",
            "torch-mlir has no lowering for a tensor without dimensions, and none of cumprod with "
            "a dtype",
            converted(getattr(torch.ops.aten, name).default),
        )
        for name in ("cumsum", "cumprod")
    ),
    *(
        Decomposition(
            "distances of rows",
            f"aten::{operator}.default",
            "torch",
            "there is no lowering; they are norms of differences",
            function,
        )
        for operator, function in (
            ("_cdist_forward", distances.between),
            ("_pdist_forward", distances.within),
        )
    ),
    *(
        Decomposition(
            "histogram with edges",
            f"aten::histogram.{overload}",
            "torch",
            "there is no lowering; each element is compared with each edge",
            function,
        )
        for overload, function in (("bin_ct", histogram), ("bins_tensor", histogram_between))
    ),
    Decomposition(
        "running sum of exponentials",
        "aten::logcumsumexp.default",
        "run",
        "torch-mlir's lowering is NaN from the first infinity on",
        logcumsumexp,
    ),
    *(
        Decomposition(
            "variance of nothing",
            f"aten::{operator}.correction",
            "run",
            "torch-mlir's lowering gives 0, eager NaN",
            of_nothing(getattr(torch.ops.aten, operator).correction),
        )
        for operator in ("var", "std", "var_mean", "std_mean")
    ),
    *(
        Decomposition(
            "extreme of one element",
            f"aten::{name}.default",
            "linalg",
            "torch-mlir has no lowering for a tensor without dimensions",
            one_element.extreme,
        )
        for name in ("amax", "amin")
    ),
    Decomposition(
        "product of one element",
        "aten::prod.dim_int",
        "linalg",
        "torch-mlir has no lowering for a tensor without dimensions",
        one_element.product,
    ),
    *(
        Decomposition(
            "extreme and its place of one element",
            f"aten::{name}.dim",
            "linalg",
            "torch-mlir has no lowering for a tensor without dimensions",
            one_element.extreme_and_place,
        )
        for name in ("max", "min")
    ),
)
