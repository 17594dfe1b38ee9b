# RUN: unmess-each %s raw | filecheck %s

# Unsigned and 8-bit integers are computed in wider signed types and wrapped to their own type.

import torch

# CHECK-LABEL: unsigned:
# CHECK-NEXT:  note: repair: narrow integers in wider ones (1 times)
# CHECK:         %[[SUM:.*]] = torch.aten.add.Tensor {{.*}} -> !torch.vtensor<[3],si32>
# CHECK:         %[[ALL:.*]] = torch.constant.int 255
# CHECK:         torch.aten.bitwise_and.Scalar %[[SUM]], %[[ALL]]
# CHECK:         torch.prims.convert_element_type {{.*}} -> !torch.vtensor<[3],ui8>

# The conversion to a signed type wraps by itself.
# CHECK-LABEL: signed:
# CHECK-NEXT:  note: repair: narrow integers in wider ones (1 times)
# CHECK:         torch.aten.mul.Tensor {{.*}} -> !torch.vtensor<[3],si32>
# CHECK-NOT:     bitwise_and
# CHECK:         torch.prims.convert_element_type {{.*}} -> !torch.vtensor<[3],si8>

# Unsigned 32-bit integers need 64 bits. The result of a comparison needs no wrapping.
# CHECK-LABEL: compared:
# CHECK:         torch.aten.lt.Tensor {{.*}} : !torch.vtensor<[3],si64>, !torch.vtensor<[3],si64> -> !torch.vtensor<[3],i1>
# CHECK-NEXT:    return

# Operators that only move elements are not changed.
# CHECK-LABEL: moved:
# CHECK-NOT:   note:
# CHECK-NOT:     si32


def _pair(dtype):
    return torch.ones(3, dtype=dtype), torch.ones(3, dtype=dtype)


def unsigned():
    return (lambda x, y: x + y), _pair(torch.uint8)


def signed():
    return (lambda x, y: x * y), _pair(torch.int8)


def compared():
    return (lambda x, y: x < y), _pair(torch.uint32)


def moved():
    return (lambda x, y: torch.cat([x, y]).view(2, 3).T), _pair(torch.uint8)
