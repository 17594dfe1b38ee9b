"""Decompositions of convolutions, pooling, attention, activations, experts and detection."""

from __future__ import annotations

import torch

from importers.decompositions.activations import elu, gelu, log_softmax, softmax
from importers.decompositions.antialias import resize
from importers.decompositions.attention import attention
from importers.decompositions.batch_norm import batch_norm_no_update, batch_norm_with_update
from importers.decompositions.byte_resizing import resize_bytes, resize_bytes_by_factors
from importers.decompositions.convolutions import (
    conv_tbc,
    cropped_transposed_convolution,
    depthwise_transposed_convolution,
    grouped_3d_convolution,
)
from importers.decompositions.ctc_loss import ctc_loss
from importers.decompositions.decomposition import Decomposition
from importers.decompositions.embedding_bag import embedding_bag
from importers.decompositions.embedding_norm import embedding_renorm
from importers.decompositions.fractional_pooling import fractional_max_pool
from importers.decompositions.grid_sample import grid_sampler_2d, grid_sampler_3d
from importers.decompositions.grouped_mm import grouped_mm
from importers.decompositions.linear_cross_entropy import (
    linear_cross_entropy,
    linear_cross_entropy_no_reduction,
)
from importers.decompositions.lstm import mkldnn_lstm_layer
from importers.decompositions.max_pooling import adaptive_max_pool, max_pool_of_integers
from importers.decompositions.pooling import avg_pool2d, with_stride, without_batch
from importers.decompositions.segments import segment_reduce
from importers.detection.deform_conv2d import deform_conv2d
from importers.detection.roi_align import roi_align
from importers.packed.operator import unpack_parts

LAYERS = (
    Decomposition(
        "packed weight",
        "unmess::unpack.default",
        "torch",
        "the torch dialect has no operator for weights of a GGUF file; shifts, masks, conversions "
        "and products compute them",
        unpack_parts,
    ),
    Decomposition(
        "grouped matrix product",
        "aten::_grouped_mm.default",
        "torch",
        "the torch dialect has no matrix product of groups of different sizes, which "
        "mixture-of-experts layers use",
        grouped_mm,
    ),
    Decomposition(
        "transformers' grouped matrix product",
        "transformers::grouped_mm_fallback.default",
        "torch",
        "torch-mlir does not lower this custom operator of transformers, which mixture-of-experts "
        "layers use unless they are bf16",
        grouped_mm,
    ),
    Decomposition(
        "grid sample at NaN",
        "aten::grid_sampler_2d.default",
        "run",
        "PyTorch's decomposition gives 0 at coordinates that are NaN; eager gives NaN or the "
        "border",
        grid_sampler_2d,
    ),
    Decomposition(
        "grid sample of volumes",
        "aten::grid_sampler_3d.default",
        "torch",
        "the torch dialect does not have the operator",
        grid_sampler_3d,
    ),
    *(
        Decomposition(
            "fractional max pooling",
            f"aten::fractional_max_pool{axes}d.default",
            "torch",
            "the torch dialect does not have the operator",
            fractional_max_pool,
        )
        for axes in (2, 3)
    ),
    *(
        Decomposition(
            "batch norm that returns its statistics",
            f"aten::{name}.default",
            "torch",
            "the torch dialect does not have the operator; PyTorch's decomposition depends on the "
            "device",
            function,
        )
        for name, function in (
            ("_batch_norm_with_update_functional", batch_norm_with_update),
            ("_batch_norm_no_update", batch_norm_no_update),
        )
    ),
    Decomposition(
        "reduction of segments",
        "aten::segment_reduce.default",
        "torch",
        "the torch dialect does not have the operator",
        segment_reduce,
    ),
    *(
        Decomposition(
            "connectionist temporal classification",
            f"aten::_ctc_loss.{overload}",
            "torch",
            "the torch dialect does not have the operator",
            ctc_loss,
        )
        for overload in ("default", "Tensor")
    ),
    *(
        Decomposition(
            "linear cross entropy in chunks",
            f"torch_nn::_linear_cross_entropy_batch_{name}.default",
            "linalg",
            "torch-mlir does not lower this custom operator of PyTorch, which is written in Python",
            function,
        )
        for name, function in (
            ("chunked", linear_cross_entropy),
            ("chunked_no_reduction", linear_cross_entropy_no_reduction),
        )
    ),
    Decomposition(
        "RoI align",
        "torchvision::roi_align.default",
        "torch",
        "torch-mlir does not lower operators of torchvision",
        roi_align,
    ),
    Decomposition(
        "deformable convolution",
        "torchvision::deform_conv2d.default",
        "torch",
        "torch-mlir does not lower operators of torchvision",
        deform_conv2d,
    ),
    Decomposition(
        "convolution of sequences, time first",
        "aten::conv_tbc.default",
        "torch",
        "torch-mlir's shapes have the dimensions of conv1d",
        conv_tbc,
    ),
    Decomposition(
        "grouped 3-d convolution",
        "aten::convolution.default",
        "linalg",
        "linalg has no 3-d convolution with groups (MViT)",
        grouped_3d_convolution,
    ),
    Decomposition(
        "transposed convolution with large padding",
        "aten::convolution.default",
        "compile",
        "torch-mlir's lowering crops the input, which may leave no elements of it",
        cropped_transposed_convolution,
    ),
    Decomposition(
        "depthwise transposed convolution",
        "aten::convolution.default",
        "linalg",
        "torch-mlir's lowering creates shapes that do not fit together (Mimi's upsampling)",
        depthwise_transposed_convolution,
    ),
    *(
        Decomposition(
            "resizing with antialiasing",
            f"aten::_upsample_{kernel}2d_aa.default",
            "torch",
            "the torch dialect has no antialiasing; SigLIP 2 resizes its position embeddings with "
            "it",
            resize(kernel),
        )
        for kernel in ("bilinear", "bicubic")
    ),
    *(
        Decomposition(
            "resizing of uint8 images",
            f"aten::{operator}",
            "run",
            "eager rounds weights and rows to integers; torch-mlir has no antialiasing, and "
            "PyTorch's other decompositions compute in floating point",
            function,
        )
        for kernel in ("bilinear", "bicubic")
        for operator, function in (
            (f"_upsample_{kernel}2d_aa.default", resize_bytes(kernel, antialias=True)),
            (f"upsample_{kernel}2d.default", resize_bytes(kernel, antialias=False)),
            (f"upsample_{kernel}2d.vec", resize_bytes_by_factors(kernel)),
        )
    ),
    Decomposition(
        "fused attention",
        "aten::_scaled_dot_product_flash_attention_for_cpu.default",
        "capture",
        "PyTorch's decomposition gives other strides than the operator; a view of the result, as "
        "GPT-2 joins its heads, fails if the batch has a dynamic size above 1",
        attention,
    ),
    Decomposition(
        "pooling window larger than the input",
        "aten::avg_pool2d.default",
        "run",
        "torch-mlir's lowering pads the input to the size of the window, which takes 134 GB for "
        "EfficientNet's window of 2560 x 2560 on 7 x 7 elements",
        avg_pool2d,
    ),
    *(
        Decomposition(
            "pooling without a batch",
            f"aten::avg_pool{axes}d.default",
            "linalg",
            "torch-mlir lowers tensors with a batch dimension only",
            without_batch(getattr(torch.ops.aten, f"avg_pool{axes}d").default, axes),
        )
        for axes in (1, 2, 3)
    ),
    *(
        Decomposition(
            "pooling with the default stride",
            f"aten::{name}.default",
            "linalg",
            "torch-mlir lowers it to a wrong shape if the padding is a single number",
            with_stride(getattr(torch.ops.aten, name).default),
        )
        for axes in (2, 3)
        for name in (f"avg_pool{axes}d", f"max_pool{axes}d", f"max_pool{axes}d_with_indices")
    ),
    Decomposition(
        "embeddings of limited norm",
        "aten::embedding_renorm.default",
        "torch",
        "the torch dialect has no embedding_renorm, which embeddings with max_norm use",
        embedding_renorm,
    ),
    *(
        Decomposition(
            "embedding bag",
            f"aten::{name}.default",
            "run",
            "torch-mlir lowers only sums of f32 with i64 indices, and ignores the weights (Kimi "
            "K2.5 resizes its position embeddings with weights)",
            embedding_bag,
        )
        for name in ("_embedding_bag", "_embedding_bag_forward_only")
    ),
    Decomposition(
        "LSTM layer of oneDNN",
        "aten::mkldnn_rnn_layer.default",
        "torch",
        "the torch dialect has no LSTM; PyTorch keeps it as one operator if no input needs a "
        "gradient",
        mkldnn_lstm_layer,
    ),
    Decomposition(
        "softmax without dimensions",
        "aten::_softmax.default",
        "torch",
        "torch-mlir's decomposition does not terminate",
        softmax,
    ),
    Decomposition(
        "softmax without dimensions",
        "aten::_log_softmax.default",
        "linalg",
        "torch-mlir computes a maximum over an axis that does not exist",
        log_softmax,
    ),
    *(
        Decomposition(
            "pooling without a batch",
            f"aten::{name}.default",
            "linalg",
            "torch-mlir lowers tensors with a batch only",
            without_batch(getattr(torch.ops.aten, name).default, axes),
        )
        for axes in (1, 2, 3)
        for name in (f"max_pool{axes}d", f"max_pool{axes}d_with_indices")
    ),
    *(
        Decomposition(
            "pooling without a batch",
            f"aten::adaptive_max_pool{axes}d.default",
            "linalg",
            "torch-mlir lowers tensors with a batch only",
            without_batch(getattr(torch.ops.aten, f"adaptive_max_pool{axes}d").default, axes),
        )
        for axes in (2, 3)
    ),
    *(
        Decomposition(
            "adaptive max pooling with windows of several sizes",
            f"aten::adaptive_max_pool{axes}d.default",
            "linalg",
            "torch-mlir's lowering pads the input to a wrong size, and there is none for volumes",
            adaptive_max_pool,
        )
        for axes in (2, 3)
    ),
    *(
        Decomposition(
            "max pooling of integers",
            f"aten::max_pool{axes}d_with_indices.default",
            "linalg",
            "torch-mlir's lowering compares them as floats, and crashes on volumes",
            max_pool_of_integers(axes),
        )
        for axes in (2, 3)
    ),
    Decomposition(
        "ELU by expm1",
        "aten::elu.default",
        "run",
        "torch-mlir subtracts 1 from e^x, which loses all digits near zero",
        elu,
    ),
    Decomposition(
        "GELU by tanh or in f32",
        "aten::gelu.default",
        "run",
        "torch-mlir uses 0.797724 for √(2/π), which is 0.797885, with errors of up to 5e-5; it "
        "rounds f16 and bf16 after each step, eager only once",
        gelu,
    ),
)
