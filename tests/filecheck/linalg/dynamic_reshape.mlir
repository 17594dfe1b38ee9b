// RUN: unmess-opt %s --pipeline torch --pipeline linalg | filecheck %s

// Dimensions that flatten and unflatten group stay grouped, also if several of them are dynamic. No
// dynamic size is assumed to be 1 (llvm/torch-mlir issue 4743), and no `tensor.reshape` is used.

// CHECK-LABEL: func.func @merge_heads
// CHECK-NOT:     tensor.cast
// CHECK-NOT:     tensor.reshape
// CHECK:         tensor.collapse_shape %{{.*}} {{\[}}[0, 1], [2, 3]] : tensor<?x?x4x4xf32> into tensor<?x16xf32>
func.func @merge_heads(%arg0: !torch.vtensor<[?,?,4,4],f32>) -> !torch.vtensor<[?,16],f32> {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %int2 = torch.constant.int 2
  %int3 = torch.constant.int 3
  %0 = torch.aten.flatten.using_ints %arg0, %int2, %int3 : !torch.vtensor<[?,?,4,4],f32>, !torch.int, !torch.int -> !torch.vtensor<[?,?,16],f32>
  %1 = torch.aten.flatten.using_ints %0, %int0, %int1 : !torch.vtensor<[?,?,16],f32>, !torch.int, !torch.int -> !torch.vtensor<[?,16],f32>
  return %1 : !torch.vtensor<[?,16],f32>
}

// CHECK-LABEL: func.func @split_heads
// CHECK-NOT:     tensor.cast
// CHECK-NOT:     tensor.reshape
// CHECK:         tensor.expand_shape %{{.*}} {{\[}}[0], [1], [2, 3]] output_shape {{.*}} : tensor<?x?x16xf32> into tensor<?x?x4x4xf32>
func.func @split_heads(%arg0: !torch.vtensor<[?,?,16],f32>) -> !torch.vtensor<[?,?,4,4],f32> {
  %int2 = torch.constant.int 2
  %int4 = torch.constant.int 4
  %0 = torch.prim.ListConstruct %int4, %int4 : (!torch.int, !torch.int) -> !torch.list<int>
  %1 = torch.aten.unflatten.int %arg0, %int2, %0 : !torch.vtensor<[?,?,16],f32>, !torch.int, !torch.list<int> -> !torch.vtensor<[?,?,4,4],f32>
  return %1 : !torch.vtensor<[?,?,4,4],f32>
}
