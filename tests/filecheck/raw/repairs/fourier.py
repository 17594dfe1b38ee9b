# RUN: unmess-each %s raw | filecheck %s

# A Fourier transform is a product with two constant matrices. Each has one column per result.

import torch

# CHECK-LABEL: of_reals:
# CHECK-NEXT:  note: repair: complex numbers as pairs
# CHECK:         %[[COS:dft_cos_4x3_f32]] = torch.vtensor.literal
# CHECK:         torch.aten.mm %{{.*}}, %[[COS]]
# CHECK:         %[[SIN:dft_sin_4x3_f32]] = torch.vtensor.literal
# CHECK:         torch.aten.mm %{{.*}}, %[[SIN]]
# CHECK-NOT:     fft

# Constants are f64 if the operand is. A second transform of that length uses the same constants.
# CHECK-LABEL: twice:
# CHECK-COUNT-2: torch.vtensor.literal{{.*}}tensor<4x4xf64>
# CHECK-NOT:     torch.vtensor.literal{{.*}}tensor<4x4xf64>


def of_reals():
    return (lambda x: torch.fft.rfft(x).real * torch.fft.rfft(x).imag), (torch.ones(4),)


def twice():
    def function(z):
        return torch.view_as_real(torch.fft.fft(torch.fft.fft(torch.view_as_complex(z)) + 1))

    return function, (torch.ones(4, 2, dtype=torch.float64),)
