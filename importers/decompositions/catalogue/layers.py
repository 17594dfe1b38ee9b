"""Decompositions of convolutions, pooling, attention, activations, experts and detection."""

from __future__ import annotations

import torch

from importers.decompositions.antialias import resize
from importers.decompositions.attention import attention
from importers.decompositions.batch_norm import batch_norm_no_update, batch_norm_with_update
from importers.decompositions.ctc_loss import ctc_loss
from importers.decompositions.cut_transposed import cut_transposed_convolution
from importers.decompositions.decomposition import Decomposition
from importers.decompositions.depthwise_transposed import depthwise_transposed_convolution
from importers.decompositions.elu import elu
from importers.decompositions.embedding_bag import embedding_bag
from importers.decompositions.fractional_pooling import fractional_max_pool
from importers.decompositions.gelu import gelu
from importers.decompositions.grid_sample import grid_sampler_2d
from importers.decompositions.grid_sample_3d import grid_sampler_3d
from importers.decompositions.grouped_convolution import grouped_3d_convolution
from importers.decompositions.grouped_mm import grouped_mm
from importers.decompositions.integer_pooling import max_pool3d_of_integers
from importers.decompositions.linear_cross_entropy import (
    linear_cross_entropy,
    linear_cross_entropy_of_each,
)
from importers.decompositions.lstm import mkldnn_lstm_layer
from importers.decompositions.pooling import avg_pool2d, max_pool2d, without_batch
from importers.decompositions.segments import segment_reduce
from importers.decompositions.softmax import log_softmax, softmax
from importers.detection.deform_conv2d import deform_conv2d
from importers.detection.roi_align import roi_align

LAYERS = (
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
        "samples at places that are no numbers",
        "aten::grid_sampler_2d.default",
        "run",
        "PyTorch's decomposition gives 0 where eager gives NaN or the border",
        grid_sampler_2d,
    ),
    Decomposition(
        "samples of a volume",
        "aten::grid_sampler_3d.default",
        "torch",
        "the torch dialect has none",
        grid_sampler_3d,
    ),
    Decomposition(
        "max pooling of integer volumes",
        "aten::max_pool3d_with_indices.default",
        "linalg",
        "torch-mlir's lowering crashes",
        max_pool3d_of_integers,
    ),
    *(
        Decomposition(
            "windows at random places",
            f"aten::fractional_max_pool{axes}d.default",
            "torch",
            "the torch dialect has none",
            fractional_max_pool,
        )
        for axes in (2, 3)
    ),
    *(
        Decomposition(
            "batch norm with its statistics",
            f"aten::{name}.default",
            "torch",
            "the torch dialect has none; PyTorch's decomposition asks for the kind of the device",
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
        "the torch dialect has none",
        segment_reduce,
    ),
    *(
        Decomposition(
            "connectionist temporal classification",
            f"aten::_ctc_loss.{overload}",
            "torch",
            "the torch dialect has none",
            ctc_loss,
        )
        for overload in ("default", "Tensor")
    ),
    *(
        Decomposition(
            "cross entropy in chunks",
            f"torch_nn::_linear_cross_entropy_batch_{name}.default",
            "linalg",
            "a custom operator of PyTorch, in Python",
            function,
        )
        for name, function in (
            ("chunked", linear_cross_entropy),
            ("chunked_no_reduction", linear_cross_entropy_of_each),
        )
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
        "window beyond the input",
        "aten::avg_pool2d.default",
        "run",
        "torch-mlir's lowering pads the input to the size of the window, which takes 134 GB for "
        "EfficientNet's of 2560 x 2560 over 7 x 7",
        avg_pool2d,
    ),
    *(
        Decomposition(
            "pooling without a batch",
            f"aten::avg_pool{axes}d.default",
            "linalg",
            "torch-mlir lowers tensors with a batch only",
            without_batch(getattr(torch.ops.aten, f"avg_pool{axes}d").default, axes),
        )
        for axes in (1, 2, 3)
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
        "LSTM layer of oneDNN",
        "aten::mkldnn_rnn_layer.default",
        "torch",
        "the torch dialect has no LSTM; PyTorch leaves one whole where no input needs a gradient",
        mkldnn_lstm_layer,
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
        "pooling without a batch",
        "aten::max_pool2d.default",
        "linalg",
        "torch-mlir lowers tensors of four dimensions only",
        max_pool2d,
    ),
    Decomposition(
        "ELU by e^x - 1",
        "aten::elu.default",
        "run",
        "torch-mlir takes 1 from e^x, which leaves no digits next to zero",
        elu,
    ),
    Decomposition(
        "GELU by tanh or in f32",
        "aten::gelu.default",
        "run",
        "torch-mlir's lowering has 0.797724 for √(2/π), which is 0.797885: results are off by up "
        "to 5e-5; and narrow types are rounded at each step, by eager once",
        gelu,
    ),
)
