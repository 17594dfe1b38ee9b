"""The kinds of operators that integer programs treat alike."""

import operator

import torch

aten = torch.ops.aten

# Operators that only move elements. Their first operand is the tensor, or the list of tensors.
MOVES = frozenset(
    {
        aten.view.default,
        aten._unsafe_view.default,
        aten.reshape.default,
        aten.flatten.using_ints,
        aten.unflatten.int,
        aten.permute.default,
        aten.transpose.int,
        aten.t.default,
        aten.contiguous.default,
        aten.clone.default,
        aten.alias.default,
        aten.detach.default,
        aten.dropout.default,
        aten.squeeze.default,
        aten.squeeze.dim,
        aten.squeeze.dims,
        aten.unsqueeze.default,
        aten.expand.default,
        aten.slice.Tensor,
        aten.select.int,
        aten.chunk.default,
        aten.split.Tensor,
        aten.split_with_sizes.default,
        aten.repeat.default,
        aten.flip.default,
        aten.roll.default,
        aten.channel_shuffle.default,
        aten.pixel_shuffle.default,
        operator.getitem,
    }
)
PADS = (aten.pad.default, aten.constant_pad_nd.default)
MAX_POOLS = (aten.max_pool1d.default, aten.max_pool2d.default)
CONCATENATIONS = (aten.cat.default, aten.concat.default)
# Operators that clamp their result. The clamp becomes a part of the rescaling of sums.
CLAMPS = frozenset(
    {
        aten.relu.default,
        aten.relu_.default,
        aten.relu6.default,
        aten.hardtanh.default,
        aten.hardtanh_.default,
        aten.clamp.default,
        aten.clamp_.default,
        aten.clamp_min.default,
        aten.clamp_max.default,
    }
)
