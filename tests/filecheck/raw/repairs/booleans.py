# RUN: unmess-each %s raw | filecheck %s

# The sum of two booleans is true if at least one of them is.

import torch

# CHECK-LABEL: two_tensors:
# CHECK-NEXT:  note: repair: sums of booleans (1 times)
# CHECK:         torch.aten.logical_or %args_0, %args_1

# CHECK-LABEL: tensor_and_number:
# CHECK-NEXT:  note: repair: sums of booleans (1 times)
# CHECK:         %[[TRUE:.*]] = torch.aten.full_like
# CHECK:         torch.aten.logical_or %x, %[[TRUE]]

# The result of a boolean and an integer is an integer.
# CHECK-LABEL: boolean_and_integer:
# CHECK-NOT:   note:
# CHECK:         torch.aten.add.Tensor %args_0, %args_1


def two_tensors():
    return torch.add, (torch.tensor([True, False]), torch.tensor([True, True]))


def tensor_and_number():
    return (lambda x: x + True), (torch.tensor([True, False]),)


def boolean_and_integer():
    return torch.add, (torch.tensor([True, False]), torch.tensor([1, 2]))
