"""Decompositions of medians, distinct elements, histograms, running sums and reductions."""

from importers.decompositions import distances, medians, reductions
from importers.decompositions.cumulative import converted, logcumsumexp
from importers.decompositions.decomposition import entries, of_overloads
from importers.decompositions.histogram import (
    edges_along_axes,
    histogram,
    histogram_along_axes,
    histogram_between,
    histogram_between_along_axes,
)
from importers.decompositions.unique import unique, unique_along, unique_consecutive, unique_old

STATISTICS = (
    *entries(
        "median by a sort",
        "torch",
        "the torch dialect has no median and mode",
        {
            "median.default": medians.median,
            "median.dim": medians.median_along,
            "nanmedian.default": medians.nanmedian,
            "nanmedian.dim": medians.nanmedian_along,
            "mode.default": medians.mode,
        },
    ),
    *entries(
        "distinct elements",
        "torch",
        "torch-mlir has no lowering; sorted elements that differ from the one before are distinct",
        {
            "_unique.default": unique_old,
            "_unique2.default": unique,
            "unique_dim.default": unique_along,
            "unique_consecutive.default": unique_consecutive,
        },
    ),
    *entries(
        "running sum or product without dimensions or with a dtype",
        "linalg",
        "torch-mlir has no lowering for tensors without dimensions, and none for cumprod with "
        "a dtype",
        of_overloads(converted, "cumsum.default", "cumprod.default"),
    ),
    *entries(
        "distances between rows",
        "torch",
        "torch-mlir has no lowering; a distance is the norm of a difference",
        {"_cdist_forward.default": distances.between, "_pdist_forward.default": distances.within},
    ),
    *entries(
        "histogram with edges",
        "torch",
        "torch-mlir has no lowering; each element is compared with each edge",
        {"histogram.bin_ct": histogram, "histogram.bins_tensor": histogram_between},
    ),
    *entries(
        "histogram of points",
        "torch",
        "torch-mlir has no lowering; each coordinate is compared with each edge",
        {
            "_histogramdd_bin_edges.default": edges_along_axes,
            "_histogramdd_from_bin_cts.default": histogram_along_axes,
            "_histogramdd_from_bin_tensors.default": histogram_between_along_axes,
        },
    ),
    *entries(
        "running logarithm of sums of exponentials",
        "run",
        "torch-mlir gives NaN from the first infinity on",
        {"logcumsumexp.default": logcumsumexp},
    ),
    *entries(
        "variance of no elements",
        "run",
        "torch-mlir gives 0; eager gives NaN",
        of_overloads(
            reductions.of_no_elements,
            *("var.correction", "std.correction", "var_mean.correction", "std_mean.correction"),
        ),
    ),
    *entries(
        "maximum or minimum without dimensions",
        "linalg",
        "torch-mlir has no lowering for tensors without dimensions",
        {f"{name}.default": reductions.extreme for name in ("amax", "amin")},
    ),
    *entries(
        "norm without dimensions",
        "linalg",
        "torch-mlir has no lowering for tensors without dimensions",
        {"linalg_vector_norm.default": reductions.norm},
    ),
    *entries(
        "product without dimensions",
        "linalg",
        "torch-mlir has no lowering for tensors without dimensions",
        {"prod.dim_int": reductions.product},
    ),
    *entries(
        "maximum or minimum with its index, without dimensions",
        "linalg",
        "torch-mlir has no lowering for tensors without dimensions",
        {f"{name}.dim": reductions.extreme_and_place for name in ("max", "min")},
    ),
)
