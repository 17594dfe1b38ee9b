// RUN: unmess-opt --pipeline reference-destinations %s | filecheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#number = affine_map<(d0, d1) -> ()>
#row = affine_map<(d0, d1) -> (d1)>

// A result that is padded next is written into the padded tensor, which is filled before.
// CHECK-LABEL: func.func @padding
// CHECK:         %[[WHOLE:.*]] = tensor.empty() : tensor<10x34xf32>
// CHECK:         %[[FILLED:.*]] = linalg.generic {{.*}} outs(%[[WHOLE]] : tensor<10x34xf32>)
// CHECK:         %[[PLACE:.*]] = tensor.extract_slice %[[FILLED]][1, 1] [8, 32] [1, 1]
// CHECK:         %[[RESULT:.*]] = linalg.generic {{.*}} outs(%[[PLACE]] : tensor<8x32xf32>)
// CHECK:         %[[PADDED:.*]] = tensor.insert_slice %[[RESULT]] into %[[FILLED]][1, 1] [8, 32] [1, 1]
// CHECK:         return %[[PADDED]]
func.func @padding(%x: tensor<8x32xf32>) -> tensor<10x34xf32> {
  %zero = arith.constant 0.0 : f32
  %new = tensor.empty() : tensor<8x32xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x32xf32>) outs(%new : tensor<8x32xf32>) {
  ^bb0(%in: f32, %out: f32):
    %y = arith.negf %in : f32
    linalg.yield %y : f32
  } -> tensor<8x32xf32>
  %whole = tensor.empty() : tensor<10x34xf32>
  %filled = linalg.generic {indexing_maps = [#number, #id], iterator_types = ["parallel", "parallel"]} ins(%zero : f32) outs(%whole : tensor<10x34xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<10x34xf32>
  %padded = tensor.insert_slice %0 into %filled[1, 1] [8, 32] [1, 1] : tensor<8x32xf32> into tensor<10x34xf32>
  return %padded : tensor<10x34xf32>
}

// Short rows are copied: one loop of 56 is faster than eight of 7.
// CHECK-LABEL: func.func @short
// CHECK-NOT:     tensor.extract_slice
// CHECK:         return
func.func @short(%x: tensor<8x7xf32>) -> tensor<10x9xf32> {
  %zero = arith.constant 0.0 : f32
  %new = tensor.empty() : tensor<8x7xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x7xf32>) outs(%new : tensor<8x7xf32>) {
  ^bb0(%in: f32, %out: f32):
    %y = arith.negf %in : f32
    linalg.yield %y : f32
  } -> tensor<8x7xf32>
  %whole = tensor.empty() : tensor<10x9xf32>
  %filled = linalg.generic {indexing_maps = [#number, #id], iterator_types = ["parallel", "parallel"]} ins(%zero : f32) outs(%whole : tensor<10x9xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<10x9xf32>
  %padded = tensor.insert_slice %0 into %filled[1, 1] [8, 7] [1, 1] : tensor<8x7xf32> into tensor<10x9xf32>
  return %padded : tensor<10x9xf32>
}

// The second operation replaces the result of the first. It may not replace the argument, the row
// that it reads for each row, or a value with a later reader, as the first and the third show.
// CHECK-LABEL: func.func @over_operands
// CHECK-SAME:    %[[X:.*]]: tensor<8x8xf32>, %[[Y:.*]]: tensor<8xf32>
// CHECK:         %[[NEW:.*]] = tensor.empty
// CHECK:         %[[FIRST:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[Y]] : {{.*}}) outs(%[[NEW]] : tensor<8x8xf32>)
// CHECK:         %[[SECOND:.*]] = linalg.generic {{.*}} ins(%[[FIRST]], %[[Y]] : {{.*}}) outs(%[[FIRST]] : tensor<8x8xf32>)
// CHECK:         %[[THIRD:.*]] = linalg.generic {{.*}} ins(%[[SECOND]], %[[Y]] : {{.*}}) outs(%[[NEW]] : tensor<8x8xf32>)
// CHECK:         return %[[SECOND]], %[[THIRD]]
func.func @over_operands(%x: tensor<8x8xf32>, %y: tensor<8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %new = tensor.empty() : tensor<8x8xf32>
  %first = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %y : tensor<8x8xf32>, tensor<8xf32>) outs(%new : tensor<8x8xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<8x8xf32>
  %second = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%first, %y : tensor<8x8xf32>, tensor<8xf32>) outs(%new : tensor<8x8xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<8x8xf32>
  %third = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%second, %y : tensor<8x8xf32>, tensor<8xf32>) outs(%new : tensor<8x8xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.subf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<8x8xf32>
  return %second, %third : tensor<8x8xf32>, tensor<8x8xf32>
}
