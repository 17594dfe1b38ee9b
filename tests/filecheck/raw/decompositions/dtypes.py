# RUN: unmess-each %s raw | filecheck %s

# These decompositions compute in the same dtype as eager.

import torch

# In their own type, long sums of 16-bit floats stop growing.
# CHECK-LABEL: narrow_sum:
# CHECK:       note: decomposition: reductions in f16 and bf16 (aten::sum.default)
# CHECK:         torch.aten.sum{{.*}} -> !torch.vtensor<[],f32>
# CHECK:         torch.prims.convert_element_type {{.*}} -> !torch.vtensor<[],bf16>

# CHECK-LABEL: narrow_sum_in_f64:
# CHECK-NOT:   reductions in f16 and bf16
# CHECK-LABEL: wide_sum:
# CHECK-NOT:   note:

# Integers become floating point only if a limit is floating point.
# CHECK-LABEL: float_limit:
# CHECK:       note: decomposition: clamp (aten::clamp.default)
# CHECK:         -> !torch.vtensor<[3],f32>
# CHECK:         torch.aten.lt.Scalar {{.*}}!torch.vtensor<[3],f32>
# CHECK-LABEL: integer_limit:
# CHECK:         -> !torch.vtensor<[3],si64>
# CHECK-NOT:     f32

# Integers are divided as integers, because f32 cannot represent all of them.
# CHECK-LABEL: floor_of_integers:
# CHECK:       note: decomposition: rounded division (aten::div.Tensor_mode)
# CHECK:         torch.constant.str "trunc"
# CHECK-NOT:     f32
# CHECK-LABEL: trunc_of_integers:
# CHECK-NOT:   note:


def narrow_sum():
    return (lambda x: x.sum()), (torch.ones(300, dtype=torch.bfloat16),)


def narrow_sum_in_f64():
    return (lambda x: x.sum(dtype=torch.float64)), (torch.ones(300, dtype=torch.bfloat16),)


def wide_sum():
    return (lambda x: x.sum()), (torch.ones(300),)


def float_limit():
    return (lambda x: x.clamp(0.5, 1.5)), (torch.arange(3),)


def integer_limit():
    return (lambda x: x.clamp(1, 2)), (torch.arange(3),)


def floor_of_integers():
    return (lambda x, y: x // y), (torch.arange(3), torch.ones(3, dtype=torch.int64))


def trunc_of_integers():
    def function(x, y):
        return torch.div(x, y, rounding_mode="trunc")

    return function, (torch.arange(3), torch.ones(3, dtype=torch.int64))
