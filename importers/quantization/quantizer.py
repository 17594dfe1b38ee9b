"""A quantizer for torchao's PT2E flow: annotates the tensors that become 8-bit integers."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e.observer import HistogramObserver, PerChannelMinMaxObserver
from torchao.quantization.pt2e.quantizer import (
    QuantizationAnnotation,
    QuantizationSpec,
    Quantizer,
    SharedQuantizationSpec,
)

from importers.integer.kinds import CLAMPS, CONCATENATIONS, MAX_POOLS, MOVES

aten = torch.ops.aten
_ANNOTATION = "quantization_annotation"
# The minimum scale, which constant tensors get.
_EPSILON = 2.0**-12
# Integers of any zero point, for tensors that the model computes.
_ACTIVATION = QuantizationSpec(
    dtype=torch.int8,
    quant_min=-128,
    quant_max=127,
    qscheme=torch.per_tensor_affine,
    observer_or_fake_quant_ctr=HistogramObserver.with_args(eps=_EPSILON),
)
# Integers without a zero point and with a scale per output channel, for weights.
_WEIGHT = QuantizationSpec(
    dtype=torch.int8,
    quant_min=-127,
    quant_max=127,
    qscheme=torch.per_channel_symmetric,
    ch_axis=0,
    observer_or_fake_quant_ctr=PerChannelMinMaxObserver.with_args(eps=_EPSILON),
)
_WEIGHTED = (aten.conv1d.default, aten.conv2d.default, aten.linear.default)
_PRODUCTS = (aten.matmul.default, aten.mm.default, aten.bmm.default)
_ARITHMETIC = (
    aten.add.Tensor, aten.add_.Tensor, aten.sub.Tensor, aten.sub_.Tensor,
    aten.mul.Tensor, aten.mul_.Tensor,
)  # fmt: skip
_MEANS = (
    aten.mean.default,
    aten.mean.dim,
    aten.adaptive_avg_pool1d.default,
    aten.adaptive_avg_pool2d.default,
    aten.avg_pool2d.default,
)
_SOFTMAX = (aten.softmax.int, aten._safe_softmax.default)
# Functions of one element, which become tables.
_FUNCTIONS = frozenset(
    {
        aten.relu.default, aten.relu_.default, aten.relu6.default,
        aten.hardtanh.default, aten.hardtanh_.default, aten.clamp.default,
        aten.hardswish.default, aten.hardswish_.default,
        aten.hardsigmoid.default, aten.hardsigmoid_.default,
        aten.sigmoid.default, aten.sigmoid_.default, aten.tanh.default, aten.tanh_.default,
        aten.silu.default, aten.silu_.default, aten.gelu.default, aten.elu.default,
        aten.leaky_relu.default, aten.leaky_relu_.default, aten.mish.default,
        aten.softplus.default,
    }
)  # fmt: skip


class EightBits(Quantizer):
    """Quantizes layers, sums, means and functions of one element to 8 bits, and keeps the rest.

    Attributes:
        annotated: the number of operators whose operands and results are integers.
    """

    def __init__(self) -> None:
        super().__init__()
        self.annotated = 0

    def annotate(self, model: GraphModule) -> GraphModule:
        """See `Quantizer`."""
        for node in model.graph.nodes:
            if node.op == "call_function" and _ANNOTATION not in node.meta and _is_f32(node):
                self._annotate(node)
        return model

    def validate(self, model: GraphModule) -> None:
        """See `Quantizer`."""

    def _annotate(self, node: Node) -> None:
        if node.target in _WEIGHTED:
            specs = {node.args[0]: _ACTIVATION, node.args[1]: _WEIGHT}
            # A weight that the model computes has no fixed scale per channel.
            if node.args[1].op != "get_attr" or node.args[0] is node.args[1]:
                return
            self._mark(node, specs)
        elif node.target in _PRODUCTS + _ARITHMETIC:
            # With a number as an operand, it is a function of one element.
            operands = [each for each in node.args[:2] if isinstance(each, Node)]
            # An attention mask may have infinities, and softmax reads the sum in f32.
            masks = node.target in _ARITHMETIC and all(
                each.target in _SOFTMAX for each in node.users
            )
            if all(map(_is_f32, operands)) and not masks:
                self._mark(node, dict.fromkeys(operands, _ACTIVATION))
        elif node.target in _MEANS or node.target in _FUNCTIONS:
            if _is_f32(node.args[0]):
                self._mark(node, {node.args[0]: _ACTIVATION})
        elif node.target in CONCATENATIONS:
            self._mark_concatenation(node)
        elif node.target in MOVES | {*MAX_POOLS}:
            self._mark_move(node)

    def _mark(self, node: Node, specs: dict[Any, Any]) -> None:
        users = list(node.users)
        # The rescaling of sums absorbs a following clamp or product with a positive number.
        fused = users[0] if len(users) == 1 and _is_fused(users[0], node) else None
        node.meta[_ANNOTATION] = QuantizationAnnotation(
            input_qspec_map=specs,
            output_qspec=_ACTIVATION if fused is None else None,
            _annotated=True,
        )
        if fused is not None:
            fused.meta[_ANNOTATION] = QuantizationAnnotation(
                output_qspec=_ACTIVATION, _annotated=True
            )
        self.annotated += 1

    def _mark_concatenation(self, node: Node) -> None:
        parts = list(node.args[0])
        if not all(map(_is_f32, parts)):
            return
        first = SharedQuantizationSpec((parts[0], node))
        node.meta[_ANNOTATION] = QuantizationAnnotation(
            input_qspec_map=dict.fromkeys(parts, first) | {parts[0]: _ACTIVATION},
            output_qspec=first,
            _annotated=True,
        )
        self.annotated += 1

    def _mark_move(self, node: Node) -> None:
        """Shares the scale of the operand with the result, if the operand has one."""
        operand = node.args[0]
        known = operand.meta.get(_ANNOTATION)
        if not _is_f32(node) or known is None or known.output_qspec is None:
            return
        shared = SharedQuantizationSpec(operand)
        node.meta[_ANNOTATION] = QuantizationAnnotation(
            input_qspec_map={operand: shared}, output_qspec=shared, _annotated=True
        )


def _is_fused(user: Node, node: Node) -> bool:
    if user.target in (aten.mul.Tensor, aten.mul_.Tensor) and node.target in _PRODUCTS:
        factor = user.args[1]
        return isinstance(factor, (int, float)) and factor > 0
    return user.target in CLAMPS


def _is_f32(node: Any) -> bool:
    value = node.meta.get("val") if isinstance(node, Node) else None
    return isinstance(value, torch.Tensor) and value.dtype == torch.float32
