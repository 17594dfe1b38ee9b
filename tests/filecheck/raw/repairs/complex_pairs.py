# RUN: unmess-each %s raw | filecheck %s

# Inside a program, complex numbers are pairs of real ones. Inputs and results stay complex.

import torch

# CHECK-LABEL: inside:
# CHECK-NEXT:  note: repair: complex numbers as pairs
# CHECK-NOT:   complex<
# CHECK-COUNT-2: torch.aten.mul.Tensor
# CHECK:         torch.aten.sub.Tensor
# CHECK-COUNT-2: torch.aten.mul.Tensor
# CHECK:         torch.aten.add.Tensor

# CHECK-LABEL: at_the_border:
# CHECK:         %z: !torch.vtensor<[3],complex<f32>> {unmess.input = "z"}) -> !torch.vtensor<[3],complex<f32>>
# CHECK:         torch.aten.real %z
# CHECK-NEXT:    torch.aten.imag %z
# CHECK-NOT:     torch.aten.mul{{.*}}complex<f32>
# CHECK:         %[[Z:.*]] = torch.aten.complex %{{.*}}, %{{.*}} : !torch.vtensor<[3],f32>
# CHECK-NEXT:    return %[[Z]]

# A real factor takes two products, not four.
# CHECK-LABEL: by_a_real:
# CHECK:         torch.aten.mul.Tensor %{{[0-9]+}}, %y
# CHECK-NEXT:    torch.aten.mul.Tensor %{{[0-9]+}}, %y
# CHECK-NOT:     torch.aten.mul.Tensor


def inside():
    def product(x, y):
        return torch.view_as_real(torch.view_as_complex(x) * torch.view_as_complex(y))

    return product, (torch.ones(3, 2), torch.ones(3, 2))


def at_the_border():
    return (lambda z: z * z), (torch.ones(3, dtype=torch.complex64),)


def by_a_real():
    def product(z, y):
        return torch.view_as_real(z * y)

    return product, (torch.ones(3, dtype=torch.complex64), torch.ones(3))
