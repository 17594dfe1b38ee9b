# RUN: unmess-each %s raw | filecheck %s

# Tests which sorts are decomposed, and which are left to torch-mlir.

import torch

# The position of an element is the number of elements before it.
# CHECK-LABEL: stably:
# CHECK:       note: decomposition: stable sort (aten::sort.stable)
# CHECK-NOT:     torch.aten.sort
# CHECK:         torch.aten.gather

# CHECK-LABEL: integers:
# CHECK:       note: decomposition: sort of integers (aten::sort.default)
# CHECK-NOT:     torch.aten.sort

# CHECK-LABEL: too_long:
# CHECK:         torch.aten.sort %x

# CHECK-LABEL: top_in_no_order:
# CHECK:       note: decomposition: unsorted top-k (aten::topk.default)
# CHECK:         %[[YES:.*]] = torch.constant.bool true
# CHECK-NOT:     torch.constant.bool false
# CHECK:         torch.aten.topk %x

# CHECK-LABEL: softmax_of_a_number:
# CHECK:       note: decomposition: softmax without dimensions (aten::_softmax.default)
# CHECK-NOT:     torch.aten._softmax


def stably():
    return (lambda x: x.sort(stable=True)), (torch.ones(4),)


def integers():
    return (lambda x: torch.ops.aten.sort.default(x)), (torch.arange(4),)


def too_long():
    return (lambda x: torch.ops.aten.sort.default(x)), (torch.arange(5000),)


def top_in_no_order():
    return (lambda x: x.topk(2, sorted=False)), (torch.ones(4),)


def softmax_of_a_number():
    return (lambda x: x.softmax(0)), (torch.tensor(1.0),)
