# RUN: unmess import %s:model --to linalg | filecheck %s

# Argument names and weight bindings are kept in linalg.

import torch

# CHECK-LABEL: func.func @main(
# CHECK-SAME:    %input: tensor<2x4xf32> {unmess.input = "input"}
# CHECK-SAME:    %weight: tensor<3x4xf32> {unmess.weight = "weight"}
# CHECK-SAME:    %bias: tensor<3xf32> {unmess.weight = "bias"}
# CHECK:         linalg.transpose ins(%weight
# CHECK:         linalg.matmul ins(%input,
# CHECK:         linalg.generic {{.*}} ins(%{{.*}}, %bias


def model():
    return torch.nn.Linear(4, 3), (torch.randn(2, 4),)
