// RUN: unmess-opt --pipeline iree-attention-blocks %s | filecheck %s

#all = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#row = affine_map<(d0, d1, d2) -> (d0, d1)>
#mask = affine_map<(d0, d1, d2) -> (d1, d2)>

// The scores of 8 heads have 32 MB. A block has all rows of two heads, so 8 MB. Every block reads the
// whole mask. The largest score of each row is found with its index along the row, which a block
// does not change.
// CHECK-LABEL: func.func @attention
// CHECK-SAME:    %[[Q:.*]]: tensor<8x1024x16xf32>, %[[K:.*]]: tensor<8x16x1024xf32>, %[[V:.*]]: tensor<8x1024x16xf32>, %[[MASK:.*]]: tensor<1024x1024xf32>
// CHECK:         %[[RESULT:.*]] = tensor.empty() : tensor<8x1024x16xf32>
// CHECK:         %[[END:.*]] = arith.constant 4 : index
// CHECK:         scf.for %[[BLOCK:.*]] = %{{.*}} to %[[END]] {{.*}} iter_args(%[[CARRIED:.*]] = %[[RESULT]])
// CHECK:           %[[PLACE:.*]] = arith.muli %[[BLOCK]], %{{.*}} : index
// CHECK:           tensor.extract_slice %[[Q]][%[[PLACE]], 0, 0] [2, 1024, 16] [1, 1, 1]
// CHECK:           tensor.extract_slice %[[K]]
// CHECK:           linalg.batch_matmul {{.*}} -> tensor<2x1024x1024xf32>
// CHECK:           linalg.generic {{.*}} ins(%{{.*}}, %[[MASK]] : tensor<2x1024x1024xf32>, tensor<1024x1024xf32>)
// CHECK:           linalg.index 2
// CHECK-NOT:       arith.addi
// CHECK:           tensor.extract_slice %[[V]]
// CHECK:           %[[PART:.*]] = linalg.batch_matmul {{.*}} -> tensor<2x1024x16xf32>
// CHECK:           tensor.insert_slice %[[PART]] into %[[CARRIED]]
func.func @attention(%q: tensor<8x1024x16xf32>, %k: tensor<8x16x1024xf32>, %v: tensor<8x1024x16xf32>, %mask: tensor<1024x1024xf32>) -> tensor<8x1024x16xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<8x1024x1024xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x1024x1024xf32>) -> tensor<8x1024x1024xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<8x1024x16xf32>, tensor<8x16x1024xf32>) outs(%z : tensor<8x1024x1024xf32>) -> tensor<8x1024x1024xf32>
  %masked = linalg.generic {indexing_maps = [#all, #mask, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s, %mask : tensor<8x1024x1024xf32>, tensor<1024x1024xf32>) outs(%e : tensor<8x1024x1024xf32>) {
  ^bb0(%in: f32, %bias: f32, %out: f32):
    %0 = arith.addf %in, %bias : f32
    linalg.yield %0 : f32
  } -> tensor<8x1024x1024xf32>
  %er = tensor.empty() : tensor<8x1024xf32>
  %ei = tensor.empty() : tensor<8x1024xindex>
  %start = linalg.fill ins(%low : f32) outs(%er : tensor<8x1024xf32>) -> tensor<8x1024xf32>
  %most:2 = linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%masked : tensor<8x1024x1024xf32>) outs(%start, %ei : tensor<8x1024xf32>, tensor<8x1024xindex>) {
  ^bb0(%in: f32, %out: f32, %at: index):
    %0 = linalg.index 2 : index
    %1 = arith.maximumf %in, %out : f32
    linalg.yield %1, %0 : f32, index
  } -> (tensor<8x1024xf32>, tensor<8x1024xindex>)
  %p = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%masked, %most#0 : tensor<8x1024x1024xf32>, tensor<8x1024xf32>) outs(%e : tensor<8x1024x1024xf32>) {
  ^bb0(%in: f32, %by: f32, %out: f32):
    %0 = arith.divf %in, %by : f32
    linalg.yield %0 : f32
  } -> tensor<8x1024x1024xf32>
  %eo = tensor.empty() : tensor<8x1024x16xf32>
  %zo = linalg.fill ins(%zero : f32) outs(%eo : tensor<8x1024x16xf32>) -> tensor<8x1024x16xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<8x1024x1024xf32>, tensor<8x1024x16xf32>) outs(%zo : tensor<8x1024x16xf32>) -> tensor<8x1024x16xf32>
  return %o : tensor<8x1024x16xf32>
}

// The program returns the largest scores, so they are computed for all rows.
// CHECK-LABEL: func.func @largest_scores
// CHECK-NOT:     scf.for
// CHECK:         return
func.func @largest_scores(%q: tensor<8x1024x16xf32>, %k: tensor<8x16x1024xf32>, %v: tensor<8x1024x16xf32>) -> (tensor<8x1024x16xf32>, tensor<8x1024xf32>) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<8x1024x1024xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x1024x1024xf32>) -> tensor<8x1024x1024xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<8x1024x16xf32>, tensor<8x16x1024xf32>) outs(%z : tensor<8x1024x1024xf32>) -> tensor<8x1024x1024xf32>
  %er = tensor.empty() : tensor<8x1024xf32>
  %start = linalg.fill ins(%low : f32) outs(%er : tensor<8x1024xf32>) -> tensor<8x1024xf32>
  %most = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%s : tensor<8x1024x1024xf32>) outs(%start : tensor<8x1024xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.maximumf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<8x1024xf32>
  %p = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s, %most : tensor<8x1024x1024xf32>, tensor<8x1024xf32>) outs(%e : tensor<8x1024x1024xf32>) {
  ^bb0(%in: f32, %by: f32, %out: f32):
    %0 = arith.divf %in, %by : f32
    linalg.yield %0 : f32
  } -> tensor<8x1024x1024xf32>
  %eo = tensor.empty() : tensor<8x1024x16xf32>
  %zo = linalg.fill ins(%zero : f32) outs(%eo : tensor<8x1024x16xf32>) -> tensor<8x1024x16xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<8x1024x1024xf32>, tensor<8x1024x16xf32>) outs(%zo : tensor<8x1024x16xf32>) -> tensor<8x1024x16xf32>
  return %o, %most : tensor<8x1024x16xf32>, tensor<8x1024xf32>
}

// Rows without a largest element: a normalization between two layers of a network. Each block would
// read all weights of the layers.
// CHECK-LABEL: func.func @normalization
// CHECK-NOT:     scf.for
// CHECK:         return
func.func @normalization(%q: tensor<8x1024x16xf32>, %k: tensor<8x16x1024xf32>, %v: tensor<8x1024x16xf32>) -> tensor<8x1024x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x1024x1024xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x1024x1024xf32>) -> tensor<8x1024x1024xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<8x1024x16xf32>, tensor<8x16x1024xf32>) outs(%z : tensor<8x1024x1024xf32>) -> tensor<8x1024x1024xf32>
  %er = tensor.empty() : tensor<8x1024xf32>
  %start = linalg.fill ins(%zero : f32) outs(%er : tensor<8x1024xf32>) -> tensor<8x1024xf32>
  %sum = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%s : tensor<8x1024x1024xf32>) outs(%start : tensor<8x1024xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<8x1024xf32>
  %p = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s, %sum : tensor<8x1024x1024xf32>, tensor<8x1024xf32>) outs(%e : tensor<8x1024x1024xf32>) {
  ^bb0(%in: f32, %by: f32, %out: f32):
    %0 = arith.divf %in, %by : f32
    linalg.yield %0 : f32
  } -> tensor<8x1024x1024xf32>
  %eo = tensor.empty() : tensor<8x1024x16xf32>
  %zo = linalg.fill ins(%zero : f32) outs(%eo : tensor<8x1024x16xf32>) -> tensor<8x1024x16xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<8x1024x1024xf32>, tensor<8x1024x16xf32>) outs(%zo : tensor<8x1024x16xf32>) -> tensor<8x1024x16xf32>
  return %o : tensor<8x1024x16xf32>
}
