// RUN: unmess-opt --pipeline iree-hide-constants %s | filecheck %s

#row = affine_map<(d0) -> (d0)>
#scalar = affine_map<(d0) -> ()>

// An operation that updates a constant gets a copy that also depends on a value behind a barrier.
// CHECK-LABEL: func.func @updated(
// CHECK:         %[[NUMBERS:.*]] = linalg.generic
// CHECK:         %[[ZERO:.*]] = "util.optimization_barrier"({{.*}}) : (tensor<i64>) -> tensor<i64>
// CHECK:         %[[COPY:.*]] = linalg.generic {{.*}} ins(%[[NUMBERS]], %[[ZERO]] :
// CHECK:           arith.addi
// CHECK:         tensor.insert_slice %arg0 into %[[COPY]]
// CHECK:         return {{.*}}, %[[NUMBERS]] :
func.func @updated(%x: tensor<1xi64>, %n: index) -> (tensor<?xi64>, tensor<?xi64>) {
  %e = tensor.empty(%n) : tensor<?xi64>
  %0 = linalg.generic {indexing_maps = [#row], iterator_types = ["parallel"]} outs(%e : tensor<?xi64>) {
  ^bb0(%o: i64):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i64
    linalg.yield %j : i64
  } -> tensor<?xi64>
  %1 = tensor.insert_slice %x into %0[0] [1] [1] : tensor<1xi64> into tensor<?xi64>
  return %1, %0 : tensor<?xi64>, tensor<?xi64>
}

// A loop may update the tensors that it carries.
// CHECK-LABEL: func.func @carried(
// CHECK:         %[[NUMBERS:.*]] = linalg.generic
// CHECK:         "util.optimization_barrier"
// CHECK:         %[[COPY:.*]] = linalg.generic {{.*}} ins(%[[NUMBERS]],
// CHECK:         scf.for {{.*}} iter_args(%{{.*}} = %[[COPY]])
// CHECK:         return {{.*}}, %[[NUMBERS]] :
func.func @carried(%x: tensor<1xi64>, %n: index) -> (tensor<?xi64>, tensor<?xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty(%n) : tensor<?xi64>
  %0 = linalg.generic {indexing_maps = [#row], iterator_types = ["parallel"]} outs(%e : tensor<?xi64>) {
  ^bb0(%o: i64):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i64
    linalg.yield %j : i64
  } -> tensor<?xi64>
  %1 = scf.for %k = %c0 to %n step %c1 iter_args(%y = %0) -> (tensor<?xi64>) {
    %2 = tensor.insert_slice %x into %y[%k] [1] [1] : tensor<1xi64> into tensor<?xi64>
    scf.yield %2 : tensor<?xi64>
  }
  return %1, %0 : tensor<?xi64>, tensor<?xi64>
}

// IREE copies fills correctly, and a tensor that depends on an argument is no constant.
// CHECK-LABEL: func.func @updated_correctly(
// CHECK-NOT:     barrier
// CHECK:         return
func.func @updated_correctly(%x: tensor<1xf32>, %y: tensor<?xf32>, %n: index) -> (tensor<?xf32>, tensor<?xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%n) : tensor<?xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %1 = tensor.insert_slice %x into %0[0] [1] [1] : tensor<1xf32> into tensor<?xf32>
  %2 = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]} ins(%y : tensor<?xf32>) outs(%e : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  %3 = tensor.insert_slice %x into %2[0] [1] [1] : tensor<1xf32> into tensor<?xf32>
  return %1, %3 : tensor<?xf32>, tensor<?xf32>
}

// A reduction reads a constant from memory; the fill that it starts with stays.
// CHECK-LABEL: func.func @reduced(
// CHECK:         %[[SEVENS:.*]] = linalg.fill
// CHECK:         %[[START:.*]] = linalg.fill
// CHECK:         %[[STORED:.*]] = "iree_tensor_ext.compute_barrier.start"(%[[SEVENS]], {{.*}}) : (tensor<?xf32>, index)
// CHECK:         linalg.generic {{.*}} ins(%[[STORED]] : {{.*}}) outs(%[[START]] :
// CHECK-NOT:     barrier
// CHECK:         return
func.func @reduced(%n: index, %x: tensor<?xf32>) -> (tensor<f32>, tensor<f32>) {
  %zero = arith.constant 0.0 : f32
  %seven = arith.constant 7.0 : f32
  %e = tensor.empty(%n) : tensor<?xf32>
  %0 = linalg.fill ins(%seven : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %s = tensor.empty() : tensor<f32>
  %1 = linalg.fill ins(%zero : f32) outs(%s : tensor<f32>) -> tensor<f32>
  %2 = linalg.generic {indexing_maps = [#row, #scalar], iterator_types = ["reduction"]} ins(%0 : tensor<?xf32>) outs(%1 : tensor<f32>) {
  ^bb0(%a: f32, %o: f32):
    %t = arith.addf %a, %o : f32
    linalg.yield %t : f32
  } -> tensor<f32>
  %3 = linalg.generic {indexing_maps = [#row, #row, #scalar], iterator_types = ["reduction"]} ins(%0, %x : tensor<?xf32>, tensor<?xf32>) outs(%1 : tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %p, %o : f32
    linalg.yield %t : f32
  } -> tensor<f32>
  return %2, %3 : tensor<f32>, tensor<f32>
}

// The second result is a constant, so it becomes a fill.
// CHECK-LABEL: func.func @two_results(
// CHECK:         %[[TWOS:.*]] = linalg.fill ins(%[[TWO:.*]] : f32) outs({{.*}} : tensor<?xf32>)
// CHECK:         %[[BOTH:.*]]:2 = linalg.generic
// CHECK:         return %[[BOTH]]#0, %[[TWOS]] :
func.func @two_results(%x: tensor<?xf32>, %n: index) -> (tensor<?xf32>, tensor<?xf32>) {
  %two = arith.constant 2.0 : f32
  %e = tensor.empty(%n) : tensor<?xf32>
  %0:2 = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]} ins(%x : tensor<?xf32>) outs(%e, %e : tensor<?xf32>, tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32, %p: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s, %two : f32, f32
  } -> (tensor<?xf32>, tensor<?xf32>)
  return %0#0, %0#1 : tensor<?xf32>, tensor<?xf32>
}
