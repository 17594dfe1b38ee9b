# RUN: unmess import %s:variance --to tosa | filecheck %s --check-prefix ADDED
# RUN: unmess import %s:doubles --to tosa | filecheck %s --check-prefix OWN

# torch-mlir takes variances in f64; TOSA has none, and the program neither. Its own f64 stays.

import torch

# ADDED-NOT: f64
# ADDED:     tosa.reduce_sum

# OWN: %x: tensor<2x4xf64> {unmess.input = "x"}
# OWN: tosa.add {{.*}} -> tensor<2x4xf64>


def variance():
    return (lambda x: x.var(1, correction=0)), (torch.randn(2, 4),)


def doubles():
    return (lambda x: x + x), (torch.randn(2, 4, dtype=torch.float64),)
