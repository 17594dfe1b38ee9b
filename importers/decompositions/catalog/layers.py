"""Decompositions of convolutions, pooling, attention, activations, experts and detection."""

import torch

from importers.decompositions.activations import attention, elu, gelu, log_softmax, softmax
from importers.decompositions.batch_norm import batch_norm_no_update, batch_norm_with_update
from importers.decompositions.convolutions import (
    conv_tbc,
    cropped_transposed_convolution,
    depthwise_transposed_convolution,
    grouped_3d_convolution,
)
from importers.decompositions.ctc_loss import ctc_loss
from importers.decompositions.decomposition import entries, of_overloads
from importers.decompositions.embeddings import embedding_bag, embedding_renorm
from importers.decompositions.grid_sample import grid_sampler_2d, grid_sampler_3d
from importers.decompositions.losses import (
    linear_cross_entropy,
    linear_cross_entropy_no_reduction,
)
from importers.decompositions.matrix_products import grouped_mm
from importers.decompositions.pooling import (
    adaptive_max_pool,
    avg_pool2d,
    fractional_max_pool,
    max_pool_of_integers,
    with_stride,
    without_batch,
)
from importers.decompositions.recurrent.layers import mkldnn_lstm_layer
from importers.decompositions.resizing import resize, resize_bytes, resize_bytes_by_factors
from importers.decompositions.segments import segment_reduce
from importers.detection.deform_conv2d import deform_conv2d
from importers.detection.roi_align import roi_align
from importers.packed.operator import unpack_parts

LAYERS = (
    *entries(
        "packed weight",
        "torch",
        "the torch dialect has no operator for weights of a GGUF file; shifts, masks, conversions "
        "and products compute them",
        {"unmess::unpack.default": unpack_parts},
    ),
    *entries(
        "grouped matrix product",
        "torch",
        "the torch dialect has no matrix product of groups of different sizes, which "
        "mixture-of-experts layers use",
        {"_grouped_mm.default": grouped_mm},
    ),
    *entries(
        "transformers' grouped matrix product",
        "torch",
        "torch-mlir does not lower this custom operator of transformers, which mixture-of-experts "
        "layers use unless they are bf16",
        {"transformers::grouped_mm_fallback.default": grouped_mm},
    ),
    *entries(
        "grid sample at NaN",
        "run",
        "PyTorch's decomposition gives 0 at coordinates that are NaN; eager gives NaN or the "
        "border",
        {"grid_sampler_2d.default": grid_sampler_2d},
    ),
    *entries(
        "grid sample of volumes",
        "torch",
        "the torch dialect does not have the operator",
        {"grid_sampler_3d.default": grid_sampler_3d},
    ),
    *entries(
        "fractional max pooling",
        "torch",
        "the torch dialect does not have the operator",
        {
            "fractional_max_pool2d.default": fractional_max_pool,
            "fractional_max_pool3d.default": fractional_max_pool,
        },
    ),
    *entries(
        "batch norm that returns its statistics",
        "torch",
        "the torch dialect does not have the operator; PyTorch's decomposition depends on the "
        "device",
        {
            "_batch_norm_with_update_functional.default": batch_norm_with_update,
            "_batch_norm_no_update.default": batch_norm_no_update,
        },
    ),
    *entries(
        "reduction of segments",
        "torch",
        "the torch dialect does not have the operator",
        {"segment_reduce.default": segment_reduce},
    ),
    *entries(
        "connectionist temporal classification",
        "torch",
        "the torch dialect does not have the operator",
        {"_ctc_loss.default": ctc_loss, "_ctc_loss.Tensor": ctc_loss},
    ),
    *entries(
        "linear cross entropy in chunks",
        "linalg",
        "torch-mlir does not lower this custom operator of PyTorch, which is written in Python",
        {
            f"torch_nn::_linear_cross_entropy_batch_{name}.default": function
            for name, function in (
                ("chunked", linear_cross_entropy),
                ("chunked_no_reduction", linear_cross_entropy_no_reduction),
            )
        },
    ),
    *entries(
        "RoI align",
        "torch",
        "torch-mlir does not lower operators of torchvision",
        {"torchvision::roi_align.default": roi_align},
    ),
    *entries(
        "deformable convolution",
        "torch",
        "torch-mlir does not lower operators of torchvision",
        {"torchvision::deform_conv2d.default": deform_conv2d},
    ),
    *entries(
        "convolution of sequences, time first",
        "torch",
        "torch-mlir's shapes have the dimensions of conv1d",
        {"conv_tbc.default": conv_tbc},
    ),
    *entries(
        "grouped 3-d convolution",
        "linalg",
        "linalg has no 3-d convolution with groups (MViT)",
        {"convolution.default": grouped_3d_convolution},
    ),
    *entries(
        "transposed convolution with large padding",
        "compile",
        "torch-mlir's lowering crops the input, which may leave no elements of it",
        {"convolution.default": cropped_transposed_convolution},
    ),
    *entries(
        "depthwise transposed convolution",
        "linalg",
        "torch-mlir's lowering creates shapes that do not fit together (Mimi's upsampling)",
        {"convolution.default": depthwise_transposed_convolution},
    ),
    *entries(
        "resizing with antialiasing",
        "torch",
        "the torch dialect has no antialiasing; SigLIP 2 resizes its position embeddings with it",
        {f"_upsample_{kernel}2d_aa.default": resize(kernel) for kernel in ("bilinear", "bicubic")},
    ),
    *entries(
        "resizing of uint8 images",
        "run",
        "eager rounds weights and rows to integers; torch-mlir has no antialiasing, and "
        "PyTorch's other decompositions compute in floating point",
        {
            f"{operator}": function
            for kernel in ("bilinear", "bicubic")
            for operator, function in (
                (f"_upsample_{kernel}2d_aa.default", resize_bytes(kernel, antialias=True)),
                (f"upsample_{kernel}2d.default", resize_bytes(kernel, antialias=False)),
                (f"upsample_{kernel}2d.vec", resize_bytes_by_factors(kernel)),
            )
        },
    ),
    *entries(
        "fused attention",
        "capture",
        "PyTorch's decomposition gives other strides than the operator; a view of the result, as "
        "GPT-2 joins its heads, fails if the batch has a dynamic size above 1",
        {"_scaled_dot_product_flash_attention_for_cpu.default": attention},
    ),
    *entries(
        "pooling window larger than the input",
        "run",
        "torch-mlir's lowering pads the input to the size of the window, which takes 134 GB for "
        "EfficientNet's window of 2560 x 2560 on 7 x 7 elements",
        {"avg_pool2d.default": avg_pool2d},
    ),
    *entries(
        "pooling without a batch",
        "linalg",
        "torch-mlir lowers tensors with a batch dimension only",
        {
            f"avg_pool{axes}d.default": without_batch(
                getattr(torch.ops.aten, f"avg_pool{axes}d").default, axes
            )
            for axes in (1, 2, 3)
        },
    ),
    *entries(
        "pooling with the default stride",
        "linalg",
        "torch-mlir lowers it to a wrong shape if the padding is a single number",
        of_overloads(
            with_stride,
            *("avg_pool2d.default", "max_pool2d.default", "max_pool2d_with_indices.default"),
            *("avg_pool3d.default", "max_pool3d.default", "max_pool3d_with_indices.default"),
        ),
    ),
    *entries(
        "embeddings of limited norm",
        "torch",
        "the torch dialect has no embedding_renorm, which embeddings with max_norm use",
        {"embedding_renorm.default": embedding_renorm},
    ),
    *entries(
        "embedding bag",
        "run",
        "torch-mlir lowers only sums of f32 with i64 indices, and ignores the weights (Kimi "
        "K2.5 resizes its position embeddings with weights)",
        {
            "_embedding_bag.default": embedding_bag,
            "_embedding_bag_forward_only.default": embedding_bag,
        },
    ),
    *entries(
        "LSTM layer of oneDNN",
        "torch",
        "the torch dialect has no LSTM; PyTorch keeps it as one operator if no input needs a "
        "gradient",
        {"mkldnn_rnn_layer.default": mkldnn_lstm_layer},
    ),
    *entries(
        "softmax without dimensions",
        "torch",
        "torch-mlir's decomposition does not terminate",
        {"_softmax.default": softmax},
    ),
    *entries(
        "softmax without dimensions",
        "linalg",
        "torch-mlir computes a maximum over an axis that does not exist",
        {"_log_softmax.default": log_softmax},
    ),
    *entries(
        "pooling without a batch",
        "linalg",
        "torch-mlir lowers tensors with a batch only",
        {
            f"{name}.default": without_batch(getattr(torch.ops.aten, name).default, axes)
            for axes in (1, 2, 3)
            for name in (f"max_pool{axes}d", f"max_pool{axes}d_with_indices")
        },
    ),
    *entries(
        "pooling without a batch",
        "linalg",
        "torch-mlir lowers tensors with a batch only",
        {
            f"adaptive_max_pool{axes}d.default": without_batch(
                getattr(torch.ops.aten, f"adaptive_max_pool{axes}d").default, axes
            )
            for axes in (2, 3)
        },
    ),
    *entries(
        "adaptive max pooling with windows of several sizes",
        "linalg",
        "torch-mlir's lowering pads the input to a wrong size, and there is none for volumes",
        {
            "adaptive_max_pool2d.default": adaptive_max_pool,
            "adaptive_max_pool3d.default": adaptive_max_pool,
        },
    ),
    *entries(
        "max pooling of integers",
        "linalg",
        "torch-mlir's lowering compares them as floats, and crashes on volumes",
        {f"max_pool{axes}d_with_indices.default": max_pool_of_integers(axes) for axes in (2, 3)},
    ),
    *entries(
        "ELU by expm1",
        "run",
        "torch-mlir subtracts 1 from e^x, which loses all digits near zero",
        {"elu.default": elu},
    ),
    *entries(
        "GELU by tanh or in f32",
        "run",
        "torch-mlir uses 0.797724 for √(2/π), which is 0.797885, with errors of up to 5e-5; it "
        "rounds f16 and bf16 after each step, eager only once",
        {"gelu.default": gelu},
    ),
)
