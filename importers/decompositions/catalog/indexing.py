"""Decompositions of sorting, searching, scattering, concatenation and padding."""

from __future__ import annotations

import torch

from importers.decompositions import boolean_sums
from importers.decompositions.concatenation import concatenate
from importers.decompositions.counts import bincount, one_hot, repeat_interleave
from importers.decompositions.cumulative import cummax, cummin
from importers.decompositions.decomposition import Decomposition
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
from importers.decompositions.masked_scatter import masked_scatter
from importers.decompositions.operand_checks import (
    checked,
    require_indices_in_plane,
    require_probabilities,
)
from importers.decompositions.padding import constant_pad
from importers.decompositions.roll import roll
from importers.decompositions.scatter import (
    gather,
    index_reduce,
    mean_of_integers,
    normalize_scatter,
    put,
    scatter_and_combine,
)
from importers.decompositions.searching import (
    kthvalue,
    masked_select,
    nonzero,
    nonzero_static,
    searchsorted,
    searchsorted_number,
)
from importers.decompositions.sorting import sort_integers, sort_stably, topk_in_order

INDEXING = (
    Decomposition(
        "histogram",
        "aten::histc.default",
        "torch",
        "the torch dialect has no histc; mixture-of-experts layers count the tokens of each "
        "expert with it",
        histc,
    ),
    Decomposition(
        "stable sort",
        "aten::sort.stable",
        "torch",
        "the torch dialect has aten.sort only, which does not promise to keep the order of equal "
        "elements",
        sort_stably,
    ),
    Decomposition(
        "sort of integers",
        "aten::sort.default",
        "run",
        "IREE computes zeros if the indices of one sort are sorted again, as mixtures of experts "
        "do to restore the order of tokens",
        sort_integers,
    ),
    *(
        Decomposition(
            "scatter along a negative axis or without dimensions",
            f"aten::{name}.{overload}",
            "linalg",
            "torch-mlir's lowering crashes on a negative axis and on tensors without dimensions",
            normalize_scatter(getattr(getattr(torch.ops.aten, name), overload)),
        )
        for name, overload in (
            ("scatter", "src"),
            ("scatter", "value"),
            ("scatter_add", "default"),
            ("scatter_reduce", "two"),
        )
    ),
    *(
        Decomposition(
            "scatter with a reduction",
            f"aten::scatter.{overload}",
            "linalg",
            "torch-mlir has no lowering; scatter_reduce computes the same",
            scatter_and_combine,
        )
        for overload in ("reduce", "value_reduce")
    ),
    Decomposition(
        "scatter_reduce to the mean of integers",
        "aten::scatter_reduce.two",
        "run",
        "torch-mlir rounds the mean toward zero; eager rounds it down",
        mean_of_integers,
    ),
    Decomposition(
        "index_reduce",
        "aten::index_reduce.default",
        "torch",
        "torch-mlir has no lowering; scatter_reduce computes the same, with one index per element",
        index_reduce,
    ),
    Decomposition(
        "put at row-major indices",
        "aten::put.default",
        "torch",
        "torch-mlir has no lowering; index_put on the flattened tensor computes the same",
        put,
    ),
    Decomposition(
        "gather without dimensions",
        "aten::gather.default",
        "linalg",
        "torch-mlir has no lowering for tensors without dimensions",
        gather,
    ),
    Decomposition(
        "index_select of a single slice or an empty tensor",
        "aten::index_select.default",
        "run",
        "torch-mlir returns the single or empty slice for every index, also for one out of range",
        index_select,
    ),
    Decomposition(
        "select_scatter at an index that depends on data",
        "aten::select_scatter.default",
        "capture",
        "PyTorch's decomposition compares the index with 0, which the capture rejects",
        select_scatter,
    ),
    Decomposition(
        "take_along_dim of sizes that depend on data",
        "aten::take_along_dim.default",
        "capture",
        "PyTorch's decomposition fails if a size depends on data",
        take_along_dim,
    ),
    *(
        Decomposition(
            "checked indices of index_add and index_copy",
            f"aten::{name}.default",
            "run",
            "PyTorch's decomposition accepts negative indices, which eager rejects",
            without_negative_indices(getattr(torch.ops.aten, name).default),
        )
        for name in ("index_add", "index_copy")
    ),
    *(
        Decomposition(
            "negative indices of index_fill",
            f"aten::index_fill.{overload}",
            "run",
            "PyTorch's decomposition uses index_copy, which rejects negative indices; eager "
            "accepts them",
            with_negative_indices(getattr(torch.ops.aten.index_fill, overload)),
        )
        for overload in ("int_Scalar", "int_Tensor")
    ),
    Decomposition(
        "unsorted top-k",
        "aten::topk.default",
        "linalg",
        "torch-mlir lowers sorted results only; eager promises no order otherwise, so sorted ones "
        "fit",
        topk_in_order,
    ),
    Decomposition(
        "concatenation of empty tensors or of different dtypes",
        "aten::cat.default",
        "linalg",
        "torch-mlir drops empty tensors and fails if none is left (Nemotron 3's empty speaker "
        "cache), and takes uint8 for int8 if the dtypes differ",
        concatenate,
    ),
    *(
        Decomposition(
            "operands that eager rejects",
            f"aten::{operator}",
            "run",
            "torch-mlir computes a result where eager raises an error",
            checked(check),
        )
        for operator, check in (
            ("bernoulli.default", require_probabilities),
            ("binary_cross_entropy.default", require_probabilities),
            ("max_unpool2d.default", require_indices_in_plane),
            ("max_unpool3d.default", require_indices_in_plane),
        )
    ),
    Decomposition(
        "checked classes of one_hot",
        "aten::one_hot.default",
        "run",
        "torch-mlir gives zeros for a class out of range; eager raises an error",
        one_hot,
    ),
    Decomposition(
        "bincount",
        "aten::bincount.default",
        "linalg",
        "torch-mlir does not support weights, and accepts negative numbers, which eager rejects",
        bincount,
    ),
    Decomposition(
        "checked counts of repeat_interleave",
        "aten::repeat_interleave.Tensor",
        "run",
        "torch-mlir accepts negative counts and counts that do not add up to output_size",
        repeat_interleave,
    ),
    Decomposition(
        "masked scatter",
        "aten::masked_scatter.default",
        "linalg",
        "torch-mlir lowers only masks of the tensor's own shape; vision-language models insert "
        "image features into text embeddings with a mask that is broadcast",
        masked_scatter,
    ),
    Decomposition(
        "roll",
        "aten::roll.default",
        "run",
        "torch-mlir's lowering is correct only for shifts less than the size, and requires dims",
        roll,
    ),
    *(
        Decomposition(
            "argmax and argmin without dimensions",
            f"aten::{name}.default",
            "linalg",
            "torch-mlir has no lowering for tensors without dimensions",
            index_without_dimensions,
        )
        for name in ("argmax", "argmin")
    ),
    Decomposition(
        "take at row-major indices",
        "aten::take.default",
        "capture",
        "PyTorch's decomposition reads a single index as a Python number, which the capture "
        "rejects",
        take,
    ),
    *(
        Decomposition(
            "running maximum or minimum",
            f"aten::{function.__name__}.default",
            "torch",
            "the torch dialect has no cummax and cummin",
            function,
        )
        for function in (cummax, cummin)
    ),
    Decomposition(
        "negative padding",
        "aten::constant_pad_nd.default",
        "run",
        "torch-mlir lowers it to tensor.pad, which cannot remove elements: results are wrong "
        "(RWKV shifts its tokens by negative padding)",
        constant_pad,
    ),
    Decomposition(
        "k-th smallest element",
        "aten::kthvalue.default",
        "run",
        "torch-mlir lowers it to a top-k operation that IREE does not compile",
        kthvalue,
    ),
    Decomposition(
        "search in a sorted sequence",
        "aten::searchsorted.Tensor",
        "torch",
        "torch-mlir does not lower searchsorted",
        searchsorted,
    ),
    Decomposition(
        "search of a number in a sorted sequence",
        "aten::searchsorted.Scalar",
        "torch",
        "torch-mlir does not lower searchsorted",
        searchsorted_number,
    ),
    Decomposition(
        "nonzero of complex numbers or without dimensions",
        "aten::nonzero.default",
        "linalg",
        "torch-mlir has no lowering for complex tensors, and crashes on tensors without dimensions",
        nonzero,
    ),
    Decomposition(
        "nonzero_static",
        "aten::nonzero_static.default",
        "linalg",
        "torch-mlir lowers nonzero_static for some tensors only",
        nonzero_static,
    ),
    Decomposition(
        "masked_select",
        "aten::masked_select.default",
        "linalg",
        "torch-mlir lowers indexing by a mask, but not masked_select",
        masked_select,
    ),
    *(
        Decomposition(
            "sums of booleans",
            f"aten::{operator}",
            "run",
            "torch-mlir adds bits, so that True + True is False; True is -1 in a maximum",
            function,
        )
        for operator, function in (
            ("scatter_add.default", boolean_sums.scatter_add),
            ("scatter_reduce.two", boolean_sums.scatter_reduce),
            ("index_put.default", boolean_sums.index_put),
            ("sum.dim_IntList", boolean_sums.total),
            ("sum.default", boolean_sums.total_of_all),
        )
    ),
)
