# RUN: %python %s | filecheck %s

# Arguments that an operation may change in place are copied; those that are only read are not, and
# state only where it is returned as it was.

from torch_mlir import ir

from pipelines.ir_modules import entry_function
from pipelines.iree.updates import copy_updated_arguments

TEXT = """
// CHECK-LABEL: func.func @read
// CHECK-NOT: flow.tensor.clone
func.func @read(%x: tensor<?x4xf32>, %size: index) -> (tensor<4x?xf32>, tensor<1x4xf32>) {
  %empty = tensor.empty(%size) : tensor<4x?xf32>
  %y = linalg.transpose ins(%x : tensor<?x4xf32>) outs(%empty : tensor<4x?xf32>) permutation = [1, 0]
  %z = tensor.extract_slice %x[1, 0] [1, 4] [1, 1] : tensor<?x4xf32> to tensor<1x4xf32>
  return %y, %z : tensor<4x?xf32>, tensor<1x4xf32>
}

// CHECK-LABEL: func.func @inserted
// CHECK-SAME: %[[ROW:[a-z0-9]+]]: tensor<1x4xf32>, %[[X:[a-z0-9]+]]: tensor<?x4xf32>
// CHECK: %[[SIZE:.+]] = tensor.dim %[[X]]
// CHECK: %[[COPY:.+]] = "flow.tensor.clone"(%[[X]], %[[SIZE]])
// CHECK: tensor.insert_slice %[[ROW]] into %[[COPY]]
func.func @inserted(%row: tensor<1x4xf32>, %x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %y = tensor.insert_slice %row into %x[1, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// CHECK-LABEL: func.func @through_a_view
// CHECK: "flow.tensor.clone"
func.func @through_a_view(%x: tensor<2x4xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %0 = tensor.collapse_shape %x [[0, 1]] : tensor<2x4xf32> into tensor<8xf32>
  %1 = linalg.exp ins(%y : tensor<8xf32>) outs(%0 : tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// CHECK-LABEL: func.func @state
// CHECK-NOT: flow.tensor.clone
func.func @state(%row: tensor<1x4xf32>, %x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %y = tensor.insert_slice %row into %x[1, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @state_before
// CHECK: "flow.tensor.clone"
func.func @state_before(%row: tensor<1x4xf32>, %x: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %y = tensor.insert_slice %row into %x[1, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<2x4xf32>
  return %x, %y : tensor<2x4xf32>, tensor<2x4xf32>
}
"""

with ir.Context() as context:
    context.allow_unregistered_dialects = True
    module = ir.Module.parse(TEXT)
    for name, state in {
        "read": [],
        "inserted": [],
        "through_a_view": [],
        "state": [1],
        "state_before": [1],
    }.items():
        copy_updated_arguments(entry_function(module, name), state)
    print(module)
