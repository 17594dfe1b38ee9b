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

# A merge sort finds the median of a long row. Elements of a short row are counted.
# CHECK-LABEL: median:
# CHECK:         torch.aten.sort %x
# CHECK-LABEL: median_of_few:
# CHECK-NOT:     torch.aten.sort
# CHECK:         torch.aten.gather

# Each value is compared with all elements of a short sequence, and with eleven of a long one.
# CHECK-LABEL: search_in_few:
# CHECK-NOT:     torch.aten.index_select
# CHECK:         torch.aten.sum
# CHECK-LABEL: search:
# CHECK-COUNT-11: torch.aten.index_select
# CHECK-NOT:     torch.aten.index_select

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


def median():
    return (lambda x: x.median(0)), (torch.ones(65),)


def median_of_few():
    return (lambda x: x.median(0)), (torch.ones(64),)


def search_in_few():
    return torch.searchsorted, (torch.ones(1024), torch.ones(3))


def search():
    return torch.searchsorted, (torch.ones(1025), torch.ones(3))


def top_in_no_order():
    return (lambda x: x.topk(2, sorted=False)), (torch.ones(4),)


def softmax_of_a_number():
    return (lambda x: x.softmax(0)), (torch.tensor(1.0),)
