"""Decompositions of sorting, searching, scattering, concatenation and padding."""

from importers.decompositions import boolean_sums
from importers.decompositions.assertions import (
    checked,
    require_indices_in_plane,
    require_probabilities,
)
from importers.decompositions.concatenation import concatenate, constant_pad, roll
from importers.decompositions.counts import bincount, one_hot, repeat_interleave
from importers.decompositions.cumulative import cummax, cummin
from importers.decompositions.decomposition import entries, of_overloads
from importers.decompositions.histogram import histc
from importers.decompositions.indexing import (
    index_select,
    index_without_dimensions,
    select_scatter,
    take,
    take_along_dim,
    with_negative_indices,
    without_negative_indices,
)
from importers.decompositions.scatter import (
    gather,
    index_reduce,
    masked_scatter,
    mean_of_integers,
    normalize_scatter,
    put,
    scatter_and_combine,
)
from importers.decompositions.sorting import (
    kthvalue,
    masked_select,
    nonzero,
    nonzero_static,
    searchsorted,
    searchsorted_number,
    sort_integers,
    sort_stably,
    topk_in_order,
)

INDEXING = (
    *entries(
        "histogram",
        "torch",
        "the torch dialect has no histc; mixture-of-experts layers count the tokens of each "
        "expert with it",
        {"histc.default": histc},
    ),
    *entries(
        "stable sort",
        "torch",
        "the torch dialect has aten.sort only, which does not promise to keep the order of equal "
        "elements",
        {"sort.stable": sort_stably},
    ),
    *entries(
        "sort of integers",
        "run",
        "IREE computes zeros if the indices of one sort are sorted again, as mixtures of experts "
        "do to restore the order of tokens",
        {"sort.default": sort_integers},
    ),
    *entries(
        "scatter along a negative axis or without dimensions",
        "linalg",
        "torch-mlir's lowering crashes on a negative axis and on tensors without dimensions",
        of_overloads(
            normalize_scatter,
            *("scatter.src", "scatter.value", "scatter_add.default", "scatter_reduce.two"),
        ),
    ),
    *entries(
        "scatter with a reduction",
        "linalg",
        "torch-mlir has no lowering; scatter_reduce computes the same",
        {"scatter.reduce": scatter_and_combine, "scatter.value_reduce": scatter_and_combine},
    ),
    *entries(
        "scatter_reduce to the mean of integers",
        "run",
        "torch-mlir rounds the mean toward zero; eager rounds it down",
        {"scatter_reduce.two": mean_of_integers},
    ),
    *entries(
        "index_reduce",
        "torch",
        "torch-mlir has no lowering; scatter_reduce computes the same, with one index per element",
        {"index_reduce.default": index_reduce},
    ),
    *entries(
        "put at row-major indices",
        "torch",
        "torch-mlir has no lowering; index_put on the flattened tensor computes the same",
        {"put.default": put},
    ),
    *entries(
        "gather without dimensions",
        "linalg",
        "torch-mlir has no lowering for tensors without dimensions",
        {"gather.default": gather},
    ),
    *entries(
        "index_select of a single slice or an empty tensor",
        "run",
        "torch-mlir returns the single or empty slice for every index, also for one out of range",
        {"index_select.default": index_select},
    ),
    *entries(
        "select_scatter at an index that depends on data",
        "capture",
        "PyTorch's decomposition compares the index with 0, which the capture rejects",
        {"select_scatter.default": select_scatter},
    ),
    *entries(
        "take_along_dim of sizes that depend on data",
        "capture",
        "PyTorch's decomposition fails if a size depends on data",
        {"take_along_dim.default": take_along_dim},
    ),
    *entries(
        "checked indices of index_add and index_copy",
        "run",
        "PyTorch's decomposition accepts negative indices, which eager rejects",
        of_overloads(without_negative_indices, "index_add.default", "index_copy.default"),
    ),
    *entries(
        "negative indices of index_fill",
        "run",
        "PyTorch's decomposition uses index_copy, which rejects negative indices; eager "
        "accepts them",
        of_overloads(with_negative_indices, "index_fill.int_Scalar", "index_fill.int_Tensor"),
    ),
    *entries(
        "unsorted top-k",
        "linalg",
        "torch-mlir lowers sorted results only; eager promises no order otherwise, so sorted ones "
        "fit",
        {"topk.default": topk_in_order},
    ),
    *entries(
        "concatenation of empty tensors or of different dtypes",
        "linalg",
        "torch-mlir drops empty tensors and fails if none is left (Nemotron 3's empty speaker "
        "cache), and takes uint8 for int8 if the dtypes differ",
        {"cat.default": concatenate},
    ),
    *entries(
        "operands that eager rejects",
        "run",
        "torch-mlir computes a result where eager raises an error",
        {
            f"{operator}": checked(check)
            for operator, check in (
                ("bernoulli.default", require_probabilities),
                ("binary_cross_entropy.default", require_probabilities),
                ("max_unpool2d.default", require_indices_in_plane),
                ("max_unpool3d.default", require_indices_in_plane),
            )
        },
    ),
    *entries(
        "checked classes of one_hot",
        "run",
        "torch-mlir gives zeros for a class out of range; eager raises an error",
        {"one_hot.default": one_hot},
    ),
    *entries(
        "bincount",
        "linalg",
        "torch-mlir does not support weights, and accepts negative numbers, which eager rejects",
        {"bincount.default": bincount},
    ),
    *entries(
        "checked counts of repeat_interleave",
        "run",
        "torch-mlir accepts negative counts and counts that do not add up to output_size",
        {"repeat_interleave.Tensor": repeat_interleave},
    ),
    *entries(
        "masked scatter",
        "linalg",
        "torch-mlir lowers only masks of the tensor's own shape; vision-language models insert "
        "image features into text embeddings with a mask that is broadcast",
        {"masked_scatter.default": masked_scatter},
    ),
    *entries(
        "roll",
        "run",
        "torch-mlir's lowering is correct only for shifts less than the size, and requires dims",
        {"roll.default": roll},
    ),
    *entries(
        "argmax and argmin without dimensions",
        "linalg",
        "torch-mlir has no lowering for tensors without dimensions",
        {"argmax.default": index_without_dimensions, "argmin.default": index_without_dimensions},
    ),
    *entries(
        "take at row-major indices",
        "capture",
        "PyTorch's decomposition reads a single index as a Python number, which the capture "
        "rejects",
        {"take.default": take},
    ),
    *entries(
        "running maximum or minimum",
        "torch",
        "the torch dialect has no cummax and cummin",
        {"cummax.default": cummax, "cummin.default": cummin},
    ),
    *entries(
        "negative padding",
        "run",
        "torch-mlir lowers it to tensor.pad, which cannot remove elements: results are wrong "
        "(RWKV shifts its tokens by negative padding)",
        {"constant_pad_nd.default": constant_pad},
    ),
    *entries(
        "k-th smallest element",
        "run",
        "torch-mlir lowers it to a top-k operation that IREE does not compile",
        {"kthvalue.default": kthvalue},
    ),
    *entries(
        "search in a sorted sequence",
        "torch",
        "torch-mlir does not lower searchsorted",
        {"searchsorted.Tensor": searchsorted},
    ),
    *entries(
        "search of a number in a sorted sequence",
        "torch",
        "torch-mlir does not lower searchsorted",
        {"searchsorted.Scalar": searchsorted_number},
    ),
    *entries(
        "nonzero of complex numbers or without dimensions",
        "linalg",
        "torch-mlir has no lowering for complex tensors, and crashes on tensors without dimensions",
        {"nonzero.default": nonzero},
    ),
    *entries(
        "nonzero_static",
        "linalg",
        "torch-mlir lowers nonzero_static for some tensors only",
        {"nonzero_static.default": nonzero_static},
    ),
    *entries(
        "masked_select",
        "linalg",
        "torch-mlir lowers indexing by a mask, but not masked_select",
        {"masked_select.default": masked_select},
    ),
    *entries(
        "sums of booleans",
        "run",
        "torch-mlir adds bits, so that True + True is False; True is -1 in a maximum",
        {
            "scatter_add.default": boolean_sums.scatter_add,
            "scatter_reduce.two": boolean_sums.scatter_reduce,
            "index_put.default": boolean_sums.index_put,
            "sum.dim_IntList": boolean_sums.total,
            "sum.default": boolean_sums.total_of_all,
        },
    ),
)
