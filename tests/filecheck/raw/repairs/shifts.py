# RUN: unmess-each %s raw | filecheck %s

# A left shift by all bits or more, or by a negative count, results in 0. Such a right shift results
# in the sign, 0 or -1.

import torch

# CHECK-LABEL: left:
# CHECK-NEXT:  note: repair: shifts by any count (1 times)
# CHECK-DAG:     %[[BITS:.*]] = torch.constant.int 64
# CHECK-DAG:     %[[BELOW:.*]] = torch.aten.lt.Scalar %args_1, %[[BITS]]
# CHECK:         %[[VALID:.*]] = torch.aten.logical_and %{{.*}}, %[[BELOW]]
# CHECK:         %[[COUNT:.*]] = torch.aten.where.self %[[VALID]], %args_1
# CHECK:         %[[SHIFTED:.*]] = torch.aten.bitwise_left_shift.Tensor %args_0, %[[COUNT]]
# CHECK:         torch.aten.where.self %[[VALID]], %[[SHIFTED]]

# CHECK-LABEL: right:
# CHECK-NEXT:  note: repair: shifts by any count (1 times)
# CHECK:         torch.aten.lt.Scalar %args_1,
# CHECK:         %[[LAST:.*]] = torch.constant.int 31
# CHECK:         %[[MOST:.*]] = torch.aten.scalar_tensor %[[LAST]]
# CHECK:         %[[COUNT:.*]] = torch.aten.where.self %{{.*}}, %args_1, %[[MOST]]
# CHECK:         %[[SHIFTED:.*]] = torch.aten.bitwise_right_shift.Tensor %args_0, %[[COUNT]]
# CHECK-NEXT:    return %[[SHIFTED]]

# CHECK-LABEL: by_a_valid_number:
# CHECK-NOT:   note: repair
# CHECK-NOT:     torch.aten.where
# CHECK:         torch.aten.__lshift__.Scalar %x
# CHECK:         torch.aten.bitwise_right_shift.Tensor %x

# CHECK-LABEL: by_all_bits:
# CHECK-NEXT:  note: repair: shifts by any count (1 times)
# CHECK-NOT:     torch.aten.__lshift__
# CHECK:         torch.aten.where


def left():
    return torch.bitwise_left_shift, (torch.tensor([1, 2]), torch.tensor([1, 64]))


def right():
    bits = torch.tensor([1, -2], dtype=torch.int32)
    return torch.bitwise_right_shift, (bits, torch.tensor([1, 32], dtype=torch.int32))


def by_a_valid_number():
    return (lambda x: (x << 3, torch.bitwise_right_shift(x, 3))), (torch.tensor([1, 2]),)


def by_all_bits():
    return (lambda x: x << 64), (torch.tensor([1, 2]),)
