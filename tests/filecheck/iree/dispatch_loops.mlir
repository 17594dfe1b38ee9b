// RUN: unmess-opt --pipeline iree-dispatch-loops %s | filecheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>

// A step reads one half of the state and writes the other one. Two rows are multiplied at a time.
// After five steps, the state is in the second half.
// CHECK-LABEL: func.func @static(
// CHECK:         %[[R:.*]]:2 = "flow.dispatch.region"() ({
// CHECK:           %[[TWO:.*]] = tensor.empty() : tensor<2x2x8xf32>
// CHECK:           %[[STATE:.*]] = tensor.insert_slice %arg2 into %[[TWO]][0, 0, 0] [1, 2, 8]
// CHECK:           %[[ROWS:.*]] = tensor.empty() : tensor<5x2x8xf32>
// CHECK:           scf.for %[[I:.*]] = {{.*}} iter_args(%[[H:.*]] = %[[STATE]], %[[O:.*]] = %[[ROWS]])
// CHECK:             %[[NOW:.*]] = arith.remui %[[I]],
// CHECK:             %[[NEXT:.*]] = arith.subi {{.*}}, %[[NOW]]
// CHECK:             %[[HIDDEN:.*]] = tensor.extract_slice %[[H]][%[[NOW]], 0, 0] [1, 2, 8]
// CHECK:             %[[P:.*]] = linalg.generic {{.*}} ins(%[[HIDDEN]], %arg1 : {{.*}}vector_common_parallel = [2, 8, 0], vector_reduction = [0, 0, 1]
// CHECK:             %[[OWN:.*]] = tensor.extract_slice {{.*}}[0, 0, 0] [1, 2, 8] [1, 1, 1] : tensor<1x2x8xf32> to tensor<2x8xf32>
// CHECK:             %[[NEW:.*]] = linalg.generic {{.*}} ins(%[[P]], %[[OWN]] : {{.*}}lowering_config<vector_inner_parallel = [1, 8]
// CHECK:               arith.addf
// CHECK-NEXT:          math.tanh
// CHECK:             tensor.insert_slice %[[NEW]] into %[[H]][%[[NEXT]], 0, 0] [1, 2, 8]
// CHECK:             tensor.insert_slice %[[NEW]] into %[[O]][%[[I]], 0, 0] [1, 2, 8]
// CHECK:         tensor.extract_slice %[[R]]#0[1, 0, 0] [1, 2, 8]
func.func @static(%own: tensor<5x2x8xf32>, %matrix: tensor<8x8xf32>, %start: tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<5x2x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %zero = arith.constant 0.0 : f32
  %zeros = arith.constant dense<0.0> : tensor<5x2x8xf32>
  %0:2 = scf.for %i = %c0 to %c5 step %c1 iter_args(%h = %start, %o = %zeros) -> (tensor<2x8xf32>, tensor<5x2x8xf32>) {
    %row = tensor.extract_slice %own[%i, 0, 0] [1, 2, 8] [1, 1, 1] : tensor<5x2x8xf32> to tensor<1x2x8xf32>
    %now = tensor.collapse_shape %row [[0, 1], [2]] : tensor<1x2x8xf32> into tensor<2x8xf32>
    %e = tensor.empty() : tensor<2x8xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x8xf32>) -> tensor<2x8xf32>
    %p = linalg.matmul ins(%h, %matrix : tensor<2x8xf32>, tensor<8x8xf32>) outs(%f : tensor<2x8xf32>) -> tensor<2x8xf32>
    %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%p, %now : tensor<2x8xf32>, tensor<2x8xf32>) outs(%e : tensor<2x8xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %x = arith.addf %a, %b : f32
      linalg.yield %x : f32
    } -> tensor<2x8xf32>
    %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<2x8xf32>) outs(%e : tensor<2x8xf32>) {
    ^bb0(%a: f32, %c: f32):
      %x = math.tanh %a : f32
      linalg.yield %x : f32
    } -> tensor<2x8xf32>
    %wide = tensor.expand_shape %n [[0, 1], [2]] output_shape [1, 2, 8] : tensor<2x8xf32> into tensor<1x2x8xf32>
    %next = tensor.insert_slice %wide into %o[%i, 0, 0] [1, 2, 8] [1, 1, 1] : tensor<1x2x8xf32> into tensor<5x2x8xf32>
    scf.yield %n, %next : tensor<2x8xf32>, tensor<5x2x8xf32>
  }
  return %0#0, %0#1 : tensor<2x8xf32>, tensor<5x2x8xf32>
}

// The checks of all steps become one before the loop. IREE must see no axis of size 1, not even
// the batch. The matrix has more columns than the sums of a tile, so its tiles become adjacent.
// CHECK-LABEL: func.func @dynamic(
// CHECK:         %[[ROWS:.*]] = tensor.dim %arg0, %{{.*}} : tensor<?x1x200xf32>
// CHECK:         %[[HOLDS:.*]] = arith.cmpi sle, %arg3, %[[ROWS]] : index
// CHECK:         cf.assert %[[HOLDS]], "slice out of range"
// CHECK:         %[[PACKED:.*]] = linalg.pack %arg1 padding_value(%{{.*}} : f32) outer_dims_perm = [1, 0] inner_dims_pos = [1] inner_tiles = [128] into %{{.*}} : tensor<200x200xf32> -> tensor<2x200x128xf32>
// CHECK:         "flow.dispatch.region"(%arg3) ({
// CHECK:           tensor.empty(%arg3) : tensor<?x1x200xf32>
// CHECK:           scf.for
// CHECK-NOT:         cf.assert
// CHECK:             %[[P:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %[[PACKED]] : tensor<200xf32>, tensor<2x200x128xf32>) {{.*}}vector_common_parallel = [1, 128, 0]
// CHECK:             tensor.collapse_shape %[[P]] {{\[\[}}0, 1]] : tensor<2x128xf32> into tensor<256xf32>
// CHECK:             tensor.extract_slice %{{.*}}[0] [200] [1] : tensor<256xf32> to tensor<200xf32>
// CHECK:             linalg.generic {{.*}} outs(%{{.*}} : tensor<200xf32>) {{.*}}vector_inner_parallel = [25]
// CHECK:         %[[LAST:.*]] = arith.remui %arg3,
// CHECK:         tensor.extract_slice %{{.*}}[%[[LAST]], 0, 0] [1, 1, 200]
func.func @dynamic(%own: tensor<?x1x200xf32>, %matrix: tensor<200x200xf32>, %start: tensor<1x200xf32>, %end: index) -> (tensor<1x200xf32>, tensor<?x1x200xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %rows = tensor.dim %own, %c0 : tensor<?x1x200xf32>
  %empty = tensor.empty(%end) : tensor<?x1x200xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x1x200xf32>) -> tensor<?x1x200xf32>
  %0:2 = scf.for %i = %c0 to %end step %c1 iter_args(%h = %start, %o = %zeros) -> (tensor<1x200xf32>, tensor<?x1x200xf32>) {
    %least = arith.cmpi sge, %i, %c0 : index
    %any = arith.cmpi uge, %rows, %c1 : index
    %most = arith.cmpi ult, %i, %rows : index
    %both = arith.andi %least, %any : i1
    %holds = arith.andi %both, %most : i1
    cf.assert %holds, "slice out of range"
    %at = arith.select %holds, %i, %c0 : index
    %now = tensor.extract_slice %own[%at, 0, 0] [1, 1, 200] [1, 1, 1] : tensor<?x1x200xf32> to tensor<1x200xf32>
    %e = tensor.empty() : tensor<1x200xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x200xf32>) -> tensor<1x200xf32>
    %p = linalg.matmul ins(%h, %matrix : tensor<1x200xf32>, tensor<200x200xf32>) outs(%f : tensor<1x200xf32>) -> tensor<1x200xf32>
    %n = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%p, %now : tensor<1x200xf32>, tensor<1x200xf32>) outs(%e : tensor<1x200xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %x = arith.addf %a, %b : f32
      linalg.yield %x : f32
    } -> tensor<1x200xf32>
    %dim = tensor.dim %o, %c0 : tensor<?x1x200xf32>
    %inside = arith.cmpi ult, %i, %dim : index
    cf.assert %inside, "slice out of range"
    %place = arith.select %inside, %i, %c0 : index
    %next = tensor.insert_slice %n into %o[%place, 0, 0] [1, 1, 200] [1, 1, 1] : tensor<1x200xf32> into tensor<?x1x200xf32>
    scf.yield %n, %next : tensor<1x200xf32>, tensor<?x1x200xf32>
  }
  return %0#0, %0#1 : tensor<1x200xf32>, tensor<?x1x200xf32>
}

// A check of other data must stay in the loop.
// CHECK-LABEL: func.func @other_check(
// CHECK-NOT:     flow.dispatch.region
// CHECK:         scf.for
// CHECK:           cf.assert
func.func @other_check(%matrix: tensor<8x8xf32>, %start: tensor<2x8xf32>, %limit: index) -> tensor<2x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %zero = arith.constant 0.0 : f32
  %0 = scf.for %i = %c0 to %c5 step %c1 iter_args(%h = %start) -> (tensor<2x8xf32>) {
    %holds = arith.cmpi ne, %i, %limit : index
    cf.assert %holds, "unwanted step"
    %e = tensor.empty() : tensor<2x8xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x8xf32>) -> tensor<2x8xf32>
    %p = linalg.matmul ins(%h, %matrix : tensor<2x8xf32>, tensor<8x8xf32>) outs(%f : tensor<2x8xf32>) -> tensor<2x8xf32>
    %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<2x8xf32>) outs(%e : tensor<2x8xf32>) {
    ^bb0(%a: f32, %c: f32):
      %x = math.tanh %a : f32
      linalg.yield %x : f32
    } -> tensor<2x8xf32>
    scf.yield %n : tensor<2x8xf32>
  }
  return %0 : tensor<2x8xf32>
}

// The same loop without the check is a dispatch. One with a large step stays on the host.
// CHECK-LABEL: func.func @small(
// CHECK:         flow.dispatch.region
// CHECK-LABEL: func.func @large(
// CHECK-NOT:     flow.dispatch.region
// CHECK:         scf.for
func.func @small(%matrix: tensor<8x8xf32>, %start: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %zero = arith.constant 0.0 : f32
  %0 = scf.for %i = %c0 to %c5 step %c1 iter_args(%h = %start) -> (tensor<2x8xf32>) {
    %e = tensor.empty() : tensor<2x8xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x8xf32>) -> tensor<2x8xf32>
    %p = linalg.matmul ins(%h, %matrix : tensor<2x8xf32>, tensor<8x8xf32>) outs(%f : tensor<2x8xf32>) -> tensor<2x8xf32>
    %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<2x8xf32>) outs(%e : tensor<2x8xf32>) {
    ^bb0(%a: f32, %c: f32):
      %x = math.tanh %a : f32
      linalg.yield %x : f32
    } -> tensor<2x8xf32>
    scf.yield %n : tensor<2x8xf32>
  }
  return %0 : tensor<2x8xf32>
}

func.func @large(%matrix: tensor<1024x1024xf32>, %start: tensor<2x1024xf32>) -> tensor<2x1024xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %zero = arith.constant 0.0 : f32
  %0 = scf.for %i = %c0 to %c5 step %c1 iter_args(%h = %start) -> (tensor<2x1024xf32>) {
    %e = tensor.empty() : tensor<2x1024xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x1024xf32>) -> tensor<2x1024xf32>
    %p = linalg.matmul ins(%h, %matrix : tensor<2x1024xf32>, tensor<1024x1024xf32>) outs(%f : tensor<2x1024xf32>) -> tensor<2x1024xf32>
    %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<2x1024xf32>) outs(%e : tensor<2x1024xf32>) {
    ^bb0(%a: f32, %c: f32):
      %x = math.tanh %a : f32
      linalg.yield %x : f32
    } -> tensor<2x1024xf32>
    scf.yield %n : tensor<2x1024xf32>
  }
  return %0 : tensor<2x1024xf32>
}
