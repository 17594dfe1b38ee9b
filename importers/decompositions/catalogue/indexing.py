"""Decompositions of sorting, searching, scattering, concatenation and padding."""

from __future__ import annotations

import torch

from importers.decompositions.concatenation import concatenate
from importers.decompositions.counts import bincount, one_hot, repeat_interleave
from importers.decompositions.cumulative import cummax, cummin
from importers.decompositions.decomposition import Decomposition
from importers.decompositions.histogram import histc
from importers.decompositions.indexing import (
    counting_from_the_back,
    index_select,
    of_a_number,
    take,
    take_along_dim,
    without_negative_indices,
)
from importers.decompositions.masked_scatter import masked_scatter
from importers.decompositions.padding import constant_pad
from importers.decompositions.refusals import (
    checked,
    places_in_plane,
    probabilities,
)
from importers.decompositions.roll import roll
from importers.decompositions.scatter import (
    gather,
    in_one_form,
    index_reduce,
    mean_of_integers,
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
from importers.decompositions.sorting import sort_integers, sort_stably
from importers.decompositions.topk import topk_in_order

INDEXING = (
    Decomposition(
        "histogram",
        "aten::histc.default",
        "torch",
        "the torch dialect has no histc; mixture-of-experts routing counts tokens with it",
        histc,
    ),
    Decomposition(
        "stable sort",
        "aten::sort.stable",
        "torch",
        "the torch dialect has aten.sort only, which promises nothing about equal elements",
        sort_stably,
    ),
    Decomposition(
        "sort of integers",
        "aten::sort.default",
        "run",
        "IREE computes zeros where the indices of one sort are sorted by another, with which "
        "mixtures of experts undo their order",
        sort_integers,
    ),
    *(
        Decomposition(
            "scatter along an axis from the back, or of one element",
            f"aten::{name}.{overload}",
            "linalg",
            "torch-mlir's lowering crashes on a negative axis, and on tensors without dimensions",
            in_one_form(getattr(getattr(torch.ops.aten, name), overload)),
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
            "scatter that combines",
            f"aten::scatter.{overload}",
            "linalg",
            "there is no lowering; it is a scatter_reduce",
            scatter_and_combine,
        )
        for overload in ("reduce", "value_reduce")
    ),
    Decomposition(
        "mean of integers at indices",
        "aten::scatter_reduce.two",
        "run",
        "torch-mlir's lowering rounds it towards zero, eager down",
        mean_of_integers,
    ),
    Decomposition(
        "reduction at indices",
        "aten::index_reduce.default",
        "torch",
        "there is no lowering; it is a scatter_reduce with an index for each element",
        index_reduce,
    ),
    Decomposition(
        "elements put at places in row-major order",
        "aten::put.default",
        "torch",
        "there is no lowering; it is an index_put of all elements in a row",
        put,
    ),
    Decomposition(
        "gather of one element",
        "aten::gather.default",
        "linalg",
        "there is no lowering for tensors without dimensions",
        gather,
    ),
    Decomposition(
        "index_select of a single slice",
        "aten::index_select.default",
        "run",
        "torch-mlir takes the slice, whatever the index is",
        index_select,
    ),
    Decomposition(
        "take_along_dim of sizes that depend on data",
        "aten::take_along_dim.default",
        "capture",
        "PyTorch's own takes sizes for integers",
        take_along_dim,
    ),
    *(
        Decomposition(
            "indices that are not negative",
            f"aten::{name}.default",
            "run",
            "PyTorch's decomposition takes indices below 0, which eager refuses",
            without_negative_indices(getattr(torch.ops.aten, name).default),
        )
        for name in ("index_add", "index_copy")
    ),
    *(
        Decomposition(
            "indices from the back",
            f"aten::index_fill.{overload}",
            "run",
            "PyTorch's decomposition is an index_copy, which refuses indices below 0",
            counting_from_the_back(getattr(torch.ops.aten.index_fill, overload)),
        )
        for overload in ("int_Scalar", "int_Tensor")
    ),
    Decomposition(
        "top-k in no order",
        "aten::topk.default",
        "linalg",
        "torch-mlir lowers sorted results only; the order that eager has otherwise is open",
        topk_in_order,
    ),
    Decomposition(
        "concatenation of nothing or of several types",
        "aten::cat.default",
        "linalg",
        "torch-mlir leaves empty tensors out of a concatenation, which may not be of none "
        "(Nemotron 3's cache of speakers at the start), and takes uint8 for int8 beside others",
        concatenate,
    ),
    *(
        Decomposition(
            "operands that eager refuses",
            f"aten::{operator}",
            "run",
            "torch-mlir's lowering computes with them",
            checked(check),
        )
        for operator, check in (
            ("bernoulli.default", probabilities),
            ("binary_cross_entropy.default", probabilities),
            ("max_unpool2d.default", places_in_plane),
            ("max_unpool3d.default", places_in_plane),
        )
    ),
    Decomposition(
        "classes that there are",
        "aten::one_hot.default",
        "run",
        "torch-mlir's lowering gives zeros for a class that eager refuses",
        one_hot,
    ),
    Decomposition(
        "counts of numbers",
        "aten::bincount.default",
        "linalg",
        "torch-mlir's lowering takes no weights, and computes with negative numbers",
        bincount,
    ),
    Decomposition(
        "counts that add up",
        "aten::repeat_interleave.Tensor",
        "run",
        "torch-mlir's lowering computes with negative counts, and with others than were promised",
        repeat_interleave,
    ),
    Decomposition(
        "masked scatter",
        "aten::masked_scatter.default",
        "linalg",
        "torch-mlir lowers it for a mask of the tensor's own shape only; models that see put image "
        "features at the places of a text with one that is broadcast",
        masked_scatter,
    ),
    Decomposition(
        "roll",
        "aten::roll.default",
        "run",
        "torch-mlir's lowering takes shifts of less than a size only, and wants dimensions",
        roll,
    ),
    *(
        Decomposition(
            "place of an extreme of one element",
            f"aten::{name}.default",
            "linalg",
            "torch-mlir has no lowering for a tensor without dimensions",
            of_a_number,
        )
        for name in ("argmax", "argmin")
    ),
    Decomposition(
        "elements at places in row-major order",
        "aten::take.default",
        "capture",
        "PyTorch's decomposition reads a lone index as a number",
        take,
    ),
    *(
        Decomposition(
            "running extreme",
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
        "torch-mlir's lowering makes tensor.pad of it, which only adds: results are wrong (RWKV "
        "shifts its tokens so)",
        constant_pad,
    ),
    Decomposition(
        "element by its order",
        "aten::kthvalue.default",
        "run",
        "torch-mlir makes a top-k of it that IREE does not take",
        kthvalue,
    ),
    Decomposition(
        "search in order",
        "aten::searchsorted.Tensor",
        "torch",
        "the torch dialect has no lowering of searchsorted",
        searchsorted,
    ),
    Decomposition(
        "search of a number in order",
        "aten::searchsorted.Scalar",
        "torch",
        "the torch dialect has no lowering of searchsorted",
        searchsorted_number,
    ),
    Decomposition(
        "place of one element",
        "aten::nonzero.default",
        "linalg",
        "torch-mlir's lowering crashes on a tensor without dimensions",
        nonzero,
    ),
    Decomposition(
        "as many places as are asked for",
        "aten::nonzero_static.default",
        "linalg",
        "torch-mlir lowers it for some tensors only",
        nonzero_static,
    ),
    Decomposition(
        "elements of a mask",
        "aten::masked_select.default",
        "linalg",
        "torch-mlir lowers an index by a mask, but not this",
        masked_select,
    ),
)
