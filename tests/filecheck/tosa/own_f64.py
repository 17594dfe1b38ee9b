# RUN: unmess import %s:variance --to tosa | filecheck %s --check-prefix ADDED
# RUN: unmess import %s:doubles --to tosa | filecheck %s --check-prefix OWN

# torch-mlir computes variances in f64, which neither TOSA nor the program has: this f64 is removed.
# The program's own f64 is kept.

import torch

# ADDED-NOT: f64
# ADDED:     tosa.reduce_sum

# OWN: %x: tensor<2x4xf64> {unmess.input = "x"}
# OWN: tosa.add {{.*}} -> tensor<2x4xf64>


def variance():
    return (lambda x: x.var(1, correction=0)), (torch.randn(2, 4),)


def doubles():
    return (lambda x: x + x), (torch.randn(2, 4, dtype=torch.float64),)
