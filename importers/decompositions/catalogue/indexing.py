"""Where elements are: sorting, searching, scattering, joining, padding."""

from __future__ import annotations

import torch

from importers.decompositions.concatenation import concatenate
from importers.decompositions.cumulative import cummax, cummin
from importers.decompositions.decomposition import Decomposition
from importers.decompositions.histogram import histc
from importers.decompositions.indexing import of_a_number, take
from importers.decompositions.masked_scatter import masked_scatter
from importers.decompositions.padding import constant_pad
from importers.decompositions.roll import roll
from importers.decompositions.scatter import with_axis_from_the_front
from importers.decompositions.searching import kthvalue, masked_select, searchsorted
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
            "scatter along an axis from the back",
            f"aten::{name}.{overload}",
            "linalg",
            "torch-mlir's lowering crashes on a negative axis",
            with_axis_from_the_front(getattr(getattr(torch.ops.aten, name), overload)),
        )
        for name, overload in (
            ("scatter", "src"),
            ("scatter", "value"),
            ("scatter_add", "default"),
            ("scatter_reduce", "two"),
        )
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
        "elements of a mask",
        "aten::masked_select.default",
        "linalg",
        "torch-mlir lowers an index by a mask, but not this",
        masked_select,
    ),
)
