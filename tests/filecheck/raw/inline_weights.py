# RUN: unmess import %s:model --to raw --weights inline | filecheck %s --check-prefix=INLINE
# RUN: unmess import %s:model --to raw --weights elide | filecheck %s --check-prefix=ELIDE

# INLINE-LABEL: func.func @main(%input: !torch.vtensor<[2,16],f32> {unmess.input = "input"}) ->
# INLINE:         %weight = torch.vtensor.literal(dense_resource<weight> : tensor<8x16xf32>)
# INLINE:       dialect_resources
# INLINE:         weight: "0x04000000

# ELIDE-LABEL:  func.func @main(%input: !torch.vtensor<[2,16],f32> {unmess.input = "input"}) ->
# ELIDE:          %weight = torch.vtensor.literal(dense_resource<{{.*}}> : tensor<8x16xf32>)
# ELIDE-NOT:    "0x04000000

import torch


def model():
    return torch.nn.Linear(16, 8, bias=False), (torch.randn(2, 16),)
