"""Operators that are taken apart before the import, and why."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch._decomp import core_aten_decompositions
from torch_mlir.extras.fx_decomp_util import get_decomposition_table

from importers.decompositions.angles import atan2
from importers.decompositions.antialias import resize
from importers.decompositions.any_all import over_several
from importers.decompositions.attention import attention
from importers.decompositions.clamp import clamp, clamp_max, clamp_min, clamp_tensor, hardtanh
from importers.decompositions.comparison import isclose, with_number_of_its_kind
from importers.decompositions.concatenation import concatenate
from importers.decompositions.cut_transposed import cut_transposed_convolution
from importers.decompositions.depthwise_transposed import depthwise_transposed_convolution
from importers.decompositions.division import divide, fmod
from importers.decompositions.elu import elu
from importers.decompositions.embedding_bag import embedding_bag
from importers.decompositions.error_function import erfc
from importers.decompositions.gamma import lgamma
from importers.decompositions.gelu import gelu
from importers.decompositions.grouped_convolution import grouped_3d_convolution
from importers.decompositions.grouped_mm import grouped_mm
from importers.decompositions.histogram import histc
from importers.decompositions.integer_products import bmm, int_mm, mm
from importers.decompositions.logarithms import acosh, asinh, log10
from importers.decompositions.lstm import mkldnn_lstm_layer
from importers.decompositions.magnitude import (
    copysign,
    copysign_of_number,
    distance,
    hypot,
    signbit,
)
from importers.decompositions.masked_scatter import masked_scatter
from importers.decompositions.memory import (
    checked_at_capture,
    copy_in_order,
    empty_in_order,
    scalar_tensor,
)
from importers.decompositions.narrow_sums import in_f32, rms_norm
from importers.decompositions.negation import neg, neg_view
from importers.decompositions.not_a_number import (
    equal,
    fmax,
    fmin,
    is_finite,
    maximum,
    minimum,
)
from importers.decompositions.numbers import with_tensor
from importers.decompositions.padding import constant_pad
from importers.decompositions.places import of_a_number, take
from importers.decompositions.pooling import avg_pool2d, max_pool2d
from importers.decompositions.power import integer_power, powers, powers_of_a_number
from importers.decompositions.reciprocal import reciprocal
from importers.decompositions.rolling import roll
from importers.decompositions.running import cummax, cummin
from importers.decompositions.sampling import (
    cauchy,
    geometric,
    integers,
    integers_below,
    integers_between,
    log_normal,
    multinomial,
    normal,
    normal_of_numbers,
    permutation,
)
from importers.decompositions.scatter import with_axis_from_the_front
from importers.decompositions.searching import kthvalue, masked_select, searchsorted
from importers.decompositions.signs import of_numbers, sign
from importers.decompositions.softmax import log_softmax, softmax
from importers.decompositions.sorting import sort_integers, sort_stably
from importers.decompositions.sums_of_exponentials import logaddexp, logaddexp2
from importers.decompositions.topk import topk_in_order
from importers.decompositions.truncation import trunc
from importers.decompositions.user import user_decompositions
from importers.detection.deform_conv2d import deform_conv2d
from importers.detection.roi_align import roi_align
from unmess.core.program import Note


@dataclass(frozen=True)
class Decomposition:
    """An operator that PyTorch leaves whole and torch-mlir, or an exit, does not take.

    Attributes:
        name: for notes.
        operator: as PyTorch spells it, `namespace::name.overload`. A library that is not imported
            has not defined it; it is in no program then.
        stage: where a program with it stops, or becomes wrong.
        reason: what is the matter.
        function: computes it with simpler operators; NotImplemented leaves a call as it is.
        upstream: address of the issue, where there is one.
    """

    name: str
    operator: str
    stage: str
    reason: str
    function: Callable[..., Any]
    upstream: str | None = None

    @property
    def overload(self) -> torch._ops.OpOverload | None:
        """The operator, where it is defined."""
        namespace, qualified = self.operator.split("::")
        name, overload = qualified.split(".")
        packet = getattr(getattr(torch.ops, namespace), name, None)
        return getattr(packet, overload, None)


DECOMPOSITIONS = (
    Decomposition(
        "histogram",
        "aten::histc.default",
        "torch",
        "the torch dialect has no histc; mixture-of-experts routing counts tokens with it",
        histc,
    ),
    Decomposition(
        "grouped matrix product",
        "aten::_grouped_mm.default",
        "torch",
        "the torch dialect has no product of ragged groups; mixture-of-experts layers use it",
        grouped_mm,
    ),
    Decomposition(
        "transformers' grouped matrix product",
        "transformers::grouped_mm_fallback.default",
        "torch",
        "a custom operator of transformers, for mixture-of-experts layers that are not bf16",
        grouped_mm,
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
        "empty tensor with strides",
        "aten::empty_strided.default",
        "linalg",
        "there is no lowering, and values have no strides",
        empty_in_order,
    ),
    Decomposition(
        "copy with strides",
        "prims::copy_strided.default",
        "torch",
        "the torch dialect has no strides; PyTorch's decompositions end with it where a result of "
        "theirs lies in memory in another way than the operator's",
        copy_in_order,
    ),
    Decomposition(
        "number as a tensor",
        "prims::scalar_tensor.default",
        "torch",
        "the torch dialect has no operators of prims; PyTorch's xlogy has it",
        scalar_tensor,
    ),
    Decomposition(
        "assertion about a type",
        "aten::_assert_tensor_metadata.default",
        "linalg",
        "the capture has checked it; the lowering does again, on types as they are after repairs",
        checked_at_capture,
    ),
    Decomposition(
        "region of interest align",
        "torchvision::roi_align.default",
        "torch",
        "an operator of torchvision's own",
        roi_align,
    ),
    Decomposition(
        "deformable convolution",
        "torchvision::deform_conv2d.default",
        "torch",
        "an operator of torchvision's own",
        deform_conv2d,
    ),
    *(
        Decomposition(
            "product of 8-bit integers",
            f"aten::{function.__name__}.default",
            "linalg",
            "torch-mlir's lowering looks for the zero points of quantised operands, and crashes",
            function,
        )
        for function in (mm, bmm)
    ),
    Decomposition(
        "product of 8-bit integers in i32",
        "aten::_int_mm.default",
        "torch",
        "the torch dialect has no _int_mm",
        int_mm,
    ),
    Decomposition(
        "grouped 3-d convolution",
        "aten::convolution.default",
        "linalg",
        "linalg has no 3-d convolution with groups (MViT)",
        grouped_3d_convolution,
    ),
    Decomposition(
        "transposed convolution that is cut",
        "aten::convolution.default",
        "compile",
        "torch-mlir's lowering cuts the input, of which nothing may be left",
        cut_transposed_convolution,
    ),
    Decomposition(
        "transposed convolution of each channel",
        "aten::convolution.default",
        "linalg",
        "torch-mlir's lowering makes shapes that do not fit (Mimi's upsampling)",
        depthwise_transposed_convolution,
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
            "signs",
            f"aten::{name}.default",
            "run",
            "torch-mlir compares with the integer 0, which it folds wrongly for constants",
            sign,
        )
        for name in ("sign", "sgn")
    ),
    *(
        Decomposition(
            "booleans compared with numbers",
            f"aten::{function.__name__}.Scalar",
            "run",
            "torch-mlir makes a boolean of the number",
            of_numbers(function),
        )
        for function in (torch.lt, torch.le, torch.gt, torch.ge, torch.eq, torch.ne)
    ),
    *(
        Decomposition(
            "sum of narrow floats",
            f"aten::{name}.{overload}",
            "run",
            "torch-mlir's lowering adds in the operand's own type, in which a long sum comes to a "
            "halt (in bf16 at 256 times the summand); eager adds in f32, and a product of many "
            "leaves the range of f16 in some orders",
            in_f32(getattr(getattr(torch.ops.aten, name), overload)),
        )
        for name, overload in (
            ("sum", "default"),
            ("sum", "dim_IntList"),
            ("mean", "default"),
            ("mean", "dim"),
            ("cumsum", "default"),
            ("prod", "default"),
            ("prod", "dim_int"),
            ("cumprod", "default"),
            ("linalg_vector_norm", "default"),
            ("norm", "ScalarOpt_dim"),
            ("avg_pool1d", "default"),
            ("avg_pool2d", "default"),
            ("avg_pool3d", "default"),
            ("adaptive_avg_pool1d", "default"),
            ("_adaptive_avg_pool2d", "default"),
            ("_adaptive_avg_pool3d", "default"),
        )
    ),
    Decomposition(
        "sum of narrow floats",
        "aten::rms_norm.default",
        "run",
        "torch-mlir's lowering adds the squares in the operand's own type; eager does in f32",
        rms_norm,
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
            "integers in comparisons",
            f"aten::{compare.__name__}.Scalar",
            "run",
            "torch-mlir reads the bits of the integer as a float where it compares a constant: 2.0 "
            "is less than 1 then; and uint8 is never -1, which eager takes for 255",
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
            "division in whole numbers",
            f"aten::{operator}",
            "run",
            "torch-mlir divides floating-point numbers, rounds, and then rounds down (1 // 0.1 is "
            "9, not 10; inf // 2 is NaN)",
            function,
        )
        for operator, function in (
            ("div.Tensor_mode", divide),
            ("div.Scalar_mode", divide),
        )
    ),
    *(
        Decomposition(
            "remainder with the sign of what is divided",
            f"aten::fmod.{overload}",
            "run",
            "torch-mlir subtracts a multiple of the rounded quotient, which is far from exact; and "
            "has no lowering for a number",
            fmod,
        )
        for overload in ("Tensor", "Scalar")
    ),
    Decomposition(
        "negation of integers",
        "aten::neg.default",
        "run",
        "torch-mlir's lowering goes by way of f32, which has 24 bits",
        neg,
    ),
    Decomposition(
        "negation as a view",
        "aten::_neg_view.default",
        "torch",
        "the torch dialect has none; it is the imaginary part of a conjugate",
        neg_view,
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
    *(
        Decomposition(
            "resizing with antialiasing",
            f"aten::_upsample_{kernel}2d_aa.default",
            "torch",
            "the torch dialect has no antialiasing; SigLIP 2 resizes its position embeddings so",
            resize(kernel),
        )
        for kernel in ("bilinear", "bicubic")
    ),
    Decomposition(
        "fused attention",
        "aten::_scaled_dot_product_flash_attention_for_cpu.default",
        "capture",
        "PyTorch's decomposition has other strides than the operator: a view of the result, such "
        "as GPT-2 joins its heads with, fails where a batch of several has a dynamic length",
        attention,
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
        "window beyond the input",
        "aten::avg_pool2d.default",
        "run",
        "torch-mlir's lowering pads the input to the size of the window, which takes 134 GB for "
        "EfficientNet's of 2560 x 2560 over 7 x 7",
        avg_pool2d,
    ),
    *(
        Decomposition(
            "embedding bag",
            f"aten::{name}.default",
            "run",
            "torch-mlir's lowering takes nothing but sums, in f32, at i64 places, and forgets the "
            "weights (Kimi K2.5 resizes its position embeddings with weights)",
            embedding_bag,
        )
        for name in ("_embedding_bag", "_embedding_bag_forward_only")
    ),
    Decomposition(
        "complementary error function",
        "aten::erfc.default",
        "torch",
        "the torch dialect has no erfc",
        erfc,
    ),
    *(
        Decomposition(
            "magnitudes and signs",
            f"aten::{operator}",
            "torch",
            "the torch dialect has none of them, and no view of a number as its bits, which "
            "PyTorch's decompositions read the sign from",
            function,
        )
        for operator, function in (
            ("hypot.default", hypot),
            ("signbit.default", signbit),
            ("copysign.Tensor", copysign),
            ("copysign.Scalar", copysign_of_number),
        )
    ),
    *(
        Decomposition(
            "samples from uniform ones",
            f"aten::{operator}",
            "linalg",
            "torch-mlir has no lowering (ViLT draws the patches that it looks at)",
            function,
        )
        for operator, function in (
            ("multinomial.default", multinomial),
            ("randperm.default", permutation),
            ("cauchy.default", cauchy),
            ("geometric.default", geometric),
            ("log_normal.default", log_normal),
            ("randint_like.default", integers_below),
            ("randint_like.low_dtype", integers_between),
            ("normal.Tensor_Tensor", normal),
            ("normal.Tensor_float", normal),
            ("normal.float_Tensor", normal),
            ("normal.float_float", normal_of_numbers),
        )
    ),
    Decomposition(
        "integers from a lower end",
        "aten::randint.low",
        "run",
        "torch-mlir rounds towards zero, which comes up twice as often where the end is negative",
        integers,
    ),
    Decomposition(
        "LSTM layer of oneDNN",
        "aten::mkldnn_rnn_layer.default",
        "torch",
        "the torch dialect has no LSTM; PyTorch leaves one whole where no input needs a gradient",
        mkldnn_lstm_layer,
    ),
    Decomposition(
        "power of integers",
        "aten::pow.Tensor_Scalar",
        "linalg",
        "torch-mlir lowers powers of floating-point numbers only",
        integer_power,
    ),
    *(
        Decomposition(
            "powers",
            f"aten::pow.{overload}",
            "run",
            "torch-mlir takes no integers; IREE gives NaN for negative numbers, and for 0 to the 0",
            function,
        )
        for overload, function in (
            ("Tensor_Tensor", powers),
            ("Scalar", powers_of_a_number),
        )
    ),
    Decomposition(
        "softmax without dimensions",
        "aten::_softmax.default",
        "torch",
        "torch-mlir's decomposition of it never ends",
        softmax,
    ),
    Decomposition(
        "softmax without dimensions",
        "aten::_log_softmax.default",
        "linalg",
        "torch-mlir takes a maximum over an axis that is not there",
        log_softmax,
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
    Decomposition(
        "pooling without a batch",
        "aten::max_pool2d.default",
        "linalg",
        "torch-mlir lowers tensors of four dimensions only",
        max_pool2d,
    ),
    *(
        Decomposition(
            "logarithms in f64",
            f"aten::{function.__name__}.default",
            "run",
            "IREE has no log10; its asinh of a negative number cancels, and its acosh overflows",
            function,
        )
        for function in (log10, asinh, acosh)
    ),
    Decomposition(
        "numbers that are close",
        "aten::isclose.default",
        "run",
        "torch-mlir takes NaN for close to NaN, and no integers",
        isclose,
    ),
    *(
        Decomposition(
            "sum of two exponentials",
            f"aten::{function.__name__}.default",
            "run",
            "PyTorch's decomposition gives infinity for infinity and NaN, and loses digits",
            function,
        )
        for function in (logaddexp, logaddexp2)
    ),
    Decomposition(
        "angle of zeros and infinities",
        "aten::atan2.default",
        "run",
        "IREE gives NaN for (0, 0), and leaves the sign of zeros out",
        atan2,
    ),
    Decomposition(
        "ELU by e^x - 1",
        "aten::elu.default",
        "run",
        "torch-mlir takes 1 from e^x, which leaves no digits next to zero",
        elu,
    ),
    Decomposition(
        "rounding towards zero",
        "aten::trunc.default",
        "run",
        "torch-mlir multiplies with the sign, which makes 0 of -0",
        trunc,
    ),
    Decomposition(
        "distance",
        "aten::dist.default",
        "torch",
        "the torch dialect has no lowering of dist",
        distance,
    ),
    *(
        Decomposition(
            "bits of a number",
            f"aten::{name}",
            "torch",
            "torch-mlir takes two tensors only",
            with_tensor(function),
        )
        for name, function in (
            ("bitwise_or.Scalar", torch.bitwise_or),
            ("bitwise_xor.Scalar", torch.bitwise_xor),
            ("bitwise_left_shift.Tensor_Scalar", torch.bitwise_left_shift),
            ("bitwise_right_shift.Tensor_Scalar", torch.bitwise_right_shift),
        )
    ),
    Decomposition(
        "logarithm of the gamma function",
        "aten::lgamma.default",
        "torch",
        "the torch dialect has no lowering of lgamma",
        lgamma,
    ),
    Decomposition(
        "GELU by tanh or in f32",
        "aten::gelu.default",
        "run",
        "torch-mlir's lowering has 0.797724 for √(2/π), which is 0.797885: results are off by up "
        "to 5e-5; and narrow types are rounded at each step, by eager once",
        gelu,
    ),
    Decomposition(
        "reciprocal as a quotient",
        "aten::reciprocal.default",
        "run",
        "the linalg form asserts that no element is zero, for each element of every batch norm",
        reciprocal,
    ),
)

# torch-mlir leaves these whole, since it takes some forms of some of them. In the form that
# PyTorch takes them apart into, `importers.repairs.complex_pairs` computes all of them.
_FOURIER = ("aten::fft_", "aten::stft", "aten::istft")


def decomposition_table(used: dict[str, Note] | None = None, whole: Collection[str] = ()) -> dict:
    """Operator to decomposition: what the importer and the lowerings expect to be gone.

    Args:
        used: receives a note for each decomposition of unmess or of the user that takes a call
            apart while the table is used.
        whole: operators that have none in it, as `aten.softmax.int` or `aten.gelu`.
    """
    table = dict(_table_for_torch_mlir())
    own = [
        (entry.overload, f"{entry.name} ({entry.operator})", entry)
        for entry in DECOMPOSITIONS
        if entry.overload is not None
    ]
    users = [
        (overload, f"{entry.operator}, by {entry.where}", entry)
        for overload, entry in user_decompositions().items()
    ]
    # A later one of the same operator comes first, and leaves calls to the ones before.
    for overload, text, entry in (*own, *users):
        table[overload] = _recorded(entry.function, text, used, otherwise=table.get(overload))
    for overload in list(table):
        if str(overload).removesuffix(".default") in whole:
            del table[overload]
    return table


@functools.cache
def _table_for_torch_mlir() -> Mapping:
    fourier = {
        overload: function
        for overload, function in core_aten_decompositions().items()
        if overload.name().startswith(_FOURIER)
    }
    return {**get_decomposition_table(), **fourier}


def _recorded(
    function: Callable[..., Any],
    text: str,
    used: dict[str, Note] | None,
    otherwise: Callable[..., Any] | None,
) -> Callable[..., Any]:
    """`function`, or what the table had before where it leaves a call as it is."""

    @functools.wraps(function)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if result is NotImplemented:
            return NotImplemented if otherwise is None else otherwise(*args, **kwargs)
        if used is not None:
            used.setdefault(text, Note("decomposition", text))
        return result

    return recorded
