// RUN: unmess-opt --pipeline reference-repeat-fills --pipeline reference-start-at-zero %s | filecheck %s --check-prefix=MARKED
// RUN: unmess-opt --pipeline reference-repeat-fills --pipeline reference-start-at-zero --pipeline reference-protect --pipeline reference-bufferize --pipeline reference-restore-zeros %s | filecheck %s --check-prefix=RESTORED

#id = affine_map<(d0, d1) -> (d0, d1)>
#lhs = affine_map<(d0, d1, d2) -> (d0, d2)>
#rhs = affine_map<(d0, d1, d2) -> (d2, d1)>
#out = affine_map<(d0, d1, d2) -> (d0, d1)>

// Two products add to the same zeros. Both start at zero instead, and each has its own result.
// MARKED-LABEL: func.func @products(
// MARKED-NOT:     linalg.yield %cst
// MARKED:         %[[A:.*]] = linalg.generic {{.*}} ins(%arg0, %arg1 : {{.*}}) outs(%[[FIRST:.*]] : tensor<4x4xf32>) attrs =  {unmess.starts_at_zero}
// MARKED:         %[[SECOND:.*]] = tensor.empty() : tensor<4x4xf32>
// MARKED-NEXT:    linalg.generic {{.*}} ins(%[[A]], %[[A]] : {{.*}}) outs(%[[SECOND]] : tensor<4x4xf32>) attrs =  {unmess.starts_at_zero}
// Without vector code, the zeros come back. Nothing is copied.
// RESTORED-LABEL: func.func @products(
// RESTORED-NOT:     memref.copy
// RESTORED:         linalg.fill ins(%{{.*}} : f32) outs(%[[FIRST:.*]] : memref<4x4xf32>)
// RESTORED-NEXT:    linalg.generic {{.*}} outs(%[[FIRST]] : memref<4x4xf32>)
// RESTORED-NOT:     starts_at_zero
// RESTORED:         linalg.fill ins(%{{.*}} : f32) outs(%[[SECOND:.*]] : memref<4x4xf32>)
// RESTORED-NEXT:    linalg.generic {{.*}} outs(%[[SECOND]] : memref<4x4xf32>)
func.func @products(%a: tensor<4x8xf32>, %b: tensor<8x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %cst = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x4xf32>
  %zeros = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%empty : tensor<4x4xf32>) {
  ^bb0(%o: f32):
    linalg.yield %cst : f32
  } -> tensor<4x4xf32>
  %0 = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x8xf32>, tensor<8x4xf32>) outs(%zeros : tensor<4x4xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %1 = arith.mulf %x, %y : f32
    %2 = arith.addf %z, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<4x4xf32>
  %3 = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%0, %0 : tensor<4x4xf32>, tensor<4x4xf32>) outs(%zeros : tensor<4x4xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %1 = arith.mulf %x, %y : f32
    %2 = arith.addf %z, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<4x4xf32>
  return %0, %3 : tensor<4x4xf32>, tensor<4x4xf32>
}

// Not marked: a product that adds to ones, and sums whose number of terms may be 0, because such a
// product writes nothing.
// MARKED-LABEL: func.func @others(
// MARKED-NOT:     unmess.starts_at_zero
// MARKED:         return
func.func @others(%a: tensor<4x8xf32>, %b: tensor<8x4xf32>, %c: tensor<4x?xf32>, %d: tensor<?x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %one = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x4xf32>
  %ones = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%empty : tensor<4x4xf32>) {
  ^bb0(%o: f32):
    linalg.yield %one : f32
  } -> tensor<4x4xf32>
  %zeros = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%empty : tensor<4x4xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  } -> tensor<4x4xf32>
  %0 = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x8xf32>, tensor<8x4xf32>) outs(%ones : tensor<4x4xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %1 = arith.mulf %x, %y : f32
    %2 = arith.addf %z, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<4x4xf32>
  %3 = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%c, %d : tensor<4x?xf32>, tensor<?x4xf32>) outs(%zeros : tensor<4x4xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %1 = arith.mulf %x, %y : f32
    %2 = arith.addf %z, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<4x4xf32>
  return %0, %3 : tensor<4x4xf32>, tensor<4x4xf32>
}
