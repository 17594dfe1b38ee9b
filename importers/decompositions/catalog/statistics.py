"""Decompositions of medians, distinct elements, histograms, running sums and reductions."""

from __future__ import annotations

import torch

from importers.decompositions import distances, medians, reductions
from importers.decompositions.cumulative import converted, logcumsumexp
from importers.decompositions.decomposition import Decomposition
from importers.decompositions.histogram import (
    edges_along_axes,
    histogram,
    histogram_along_axes,
    histogram_between,
    histogram_between_along_axes,
)
from importers.decompositions.unique import unique, unique_along, unique_consecutive, unique_old

STATISTICS = (
    *(
        Decomposition(
            "median by a sort",
            f"aten::{operator}",
            "torch",
            "the torch dialect has no median and mode",
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
            "torch-mlir has no lowering; sorted elements that differ from the one before are "
            "distinct",
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
            "running sum or product without dimensions or with a dtype",
            f"aten::{name}.default",
            "linalg",
            "torch-mlir has no lowering for tensors without dimensions, and none for cumprod with "
            "a dtype",
            converted(getattr(torch.ops.aten, name).default),
        )
        for name in ("cumsum", "cumprod")
    ),
    *(
        Decomposition(
            "distances between rows",
            f"aten::{operator}.default",
            "torch",
            "torch-mlir has no lowering; a distance is the norm of a difference",
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
            "torch-mlir has no lowering; each element is compared with each edge",
            function,
        )
        for overload, function in (("bin_ct", histogram), ("bins_tensor", histogram_between))
    ),
    *(
        Decomposition(
            "histogram of points",
            f"aten::{operator}.default",
            "torch",
            "torch-mlir has no lowering; each coordinate is compared with each edge",
            function,
        )
        for operator, function in (
            ("_histogramdd_bin_edges", edges_along_axes),
            ("_histogramdd_from_bin_cts", histogram_along_axes),
            ("_histogramdd_from_bin_tensors", histogram_between_along_axes),
        )
    ),
    Decomposition(
        "running logarithm of sums of exponentials",
        "aten::logcumsumexp.default",
        "run",
        "torch-mlir gives NaN from the first infinity on",
        logcumsumexp,
    ),
    *(
        Decomposition(
            "variance of no elements",
            f"aten::{operator}.correction",
            "run",
            "torch-mlir gives 0; eager gives NaN",
            reductions.of_no_elements(getattr(torch.ops.aten, operator).correction),
        )
        for operator in ("var", "std", "var_mean", "std_mean")
    ),
    *(
        Decomposition(
            "maximum or minimum without dimensions",
            f"aten::{name}.default",
            "linalg",
            "torch-mlir has no lowering for tensors without dimensions",
            reductions.extreme,
        )
        for name in ("amax", "amin")
    ),
    Decomposition(
        "norm without dimensions",
        "aten::linalg_vector_norm.default",
        "linalg",
        "torch-mlir has no lowering for tensors without dimensions",
        reductions.norm,
    ),
    Decomposition(
        "product without dimensions",
        "aten::prod.dim_int",
        "linalg",
        "torch-mlir has no lowering for tensors without dimensions",
        reductions.product,
    ),
    *(
        Decomposition(
            "maximum or minimum with its index, without dimensions",
            f"aten::{name}.dim",
            "linalg",
            "torch-mlir has no lowering for tensors without dimensions",
            reductions.extreme_and_place,
        )
        for name in ("max", "min")
    ),
)
