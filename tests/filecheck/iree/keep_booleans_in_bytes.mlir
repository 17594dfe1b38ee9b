// RUN: unmess-opt --pipeline iree-keep-booleans-in-bytes %s | filecheck %s

#all = affine_map<(a, b) -> (a, b)>
#row = affine_map<(a, b) -> (b)>

// An argument is read as bytes, once for all of its users. Moves stay moves.
// CHECK-LABEL: func.func @argument(
// CHECK-SAME:    %[[MASK:[^:]*]]: tensor<6xi1>, %[[Y:[^:]*]]: tensor<2x3xf32>
// CHECK-NEXT:    %[[BYTES:.*]] = "flow.tensor.bitcast"(%[[MASK]]) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<6xi1>) -> tensor<6xi8>
// CHECK-NOT:     flow.tensor.bitcast
// CHECK:         %[[SHAPED:.*]] = tensor.expand_shape %[[BYTES]] {{.*}} : tensor<6xi8> into tensor<2x3xi8>
// CHECK:         %[[SLICE:.*]] = tensor.extract_slice %[[BYTES]][0] [3] [1] : tensor<6xi8> to tensor<3xi8>
// CHECK:         linalg.generic {{.*}} ins(%[[SHAPED]], %[[SLICE]], %[[Y]] : tensor<2x3xi8>, tensor<3xi8>, tensor<2x3xf32>)
// CHECK-NEXT:    ^bb0(%[[A:.*]]: i8, %[[B:.*]]: i8, %[[C:.*]]: f32, %{{.*}}: f32):
// CHECK-DAG:       %[[ABIT:.*]] = arith.cmpi ne, %[[A]], %{{.*}} : i8
// CHECK-DAG:       %[[BBIT:.*]] = arith.cmpi ne, %[[B]], %{{.*}} : i8
// CHECK:           %[[BOTH:.*]] = arith.andi %[[ABIT]], %[[BBIT]] : i1
// CHECK-NEXT:      arith.select %[[BOTH]], %[[C]]
func.func @argument(%mask: tensor<6xi1>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.expand_shape %mask [[0, 1]] output_shape [2, 3] : tensor<6xi1> into tensor<2x3xi1>
  %1 = tensor.extract_slice %mask[0] [3] [1] : tensor<6xi1> to tensor<3xi1>
  %e = tensor.empty() : tensor<2x3xf32>
  %2 = linalg.generic {indexing_maps = [#all, #row, #all, #all], iterator_types = ["parallel", "parallel"]} ins(%0, %1, %y : tensor<2x3xi1>, tensor<3xi1>, tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%a: i1, %b: i1, %c: f32, %o: f32):
    %both = arith.andi %a, %b : i1
    %s = arith.select %both, %c, %zero : f32
    linalg.yield %s : f32
  } -> tensor<2x3xf32>
  return %2 : tensor<2x3xf32>
}

// A mask that is computed and returned: its other users read bytes, and the caller booleans.
// Constants become bytes themselves.
// CHECK-LABEL: func.func @computed(
// CHECK:         %[[CONSTANT:.*]] = arith.constant dense<[1, 0, 1]> : tensor<3xi8>
// CHECK:         %[[Q:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %[[CONSTANT]] : tensor<2x3xf32>, tensor<3xi8>) outs(%{{.*}} : tensor<2x3xi8>)
// CHECK:           arith.extui %{{.*}} : i1 to i8
// CHECK:         %[[BITS:.*]] = "flow.tensor.bitcast"(%[[Q]]) {{.*}} : (tensor<2x3xi8>) -> tensor<2x3xi1>
// CHECK:         linalg.transpose ins(%[[Q]] : tensor<2x3xi8>) outs(%{{.*}} : tensor<3x2xi8>)
// CHECK:         tensor.extract %{{.*}} : tensor<3x2xi8>
// CHECK-NEXT:    %{{.*}} = arith.constant 0 : i8
// CHECK-NEXT:    %[[BIT:.*]] = arith.cmpi ne
// CHECK-NEXT:    return %[[BITS]], %[[BIT]] : tensor<2x3xi1>, i1
func.func @computed(%x: tensor<2x3xf32>, %i: index) -> (tensor<2x3xi1>, i1) {
  %zero = arith.constant 0.0 : f32
  %c = arith.constant dense<[true, false, true]> : tensor<3xi1>
  %e = tensor.empty() : tensor<2x3xi1>
  %0 = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %c : tensor<2x3xf32>, tensor<3xi1>) outs(%e : tensor<2x3xi1>) {
  ^bb0(%a: f32, %b: i1, %o: i1):
    %p = arith.cmpf ogt, %a, %zero : f32
    %q = arith.andi %p, %b : i1
    linalg.yield %q : i1
  } -> tensor<2x3xi1>
  %e1 = tensor.empty() : tensor<3x2xi1>
  %1 = linalg.transpose ins(%0 : tensor<2x3xi1>) outs(%e1 : tensor<3x2xi1>) permutation = [1, 0]
  %2 = tensor.extract %1[%i, %i] : tensor<3x2xi1>
  return %0, %2 : tensor<2x3xi1>, i1
}

// Operations of other dialects keep booleans, and so do the values that branches yield.
// CHECK-LABEL: func.func @others(
// CHECK:         %[[BITS:.*]] = "flow.tensor.bitcast"(%{{.*}}) {{.*}} : (tensor<3xi8>) -> tensor<3xi1>
// CHECK:         arith.xori %[[BITS]], %arg1 : tensor<3xi1>
// CHECK-NEXT:    %[[BYTES:.*]] = "flow.tensor.bitcast"(%{{.*}}) {{.*}} : (tensor<3xi1>) -> tensor<3xi8>
// CHECK:         scf.if %{{.*}} -> (tensor<3xi1>)
// CHECK:         tensor.concat dim(0) %[[BYTES]], %{{.*}} : (tensor<3xi8>, tensor<3xi8>) -> tensor<6xi8>
func.func @others(%b: i1, %x: tensor<3xi1>) -> tensor<6xi1> {
  %e = tensor.empty() : tensor<3xi1>
  %0 = linalg.fill ins(%b : i1) outs(%e : tensor<3xi1>) -> tensor<3xi1>
  %1 = arith.xori %0, %x : tensor<3xi1>
  %2 = scf.if %b -> tensor<3xi1> {
    scf.yield %0 : tensor<3xi1>
  } else {
    scf.yield %x : tensor<3xi1>
  }
  %3 = tensor.concat dim(0) %1, %2 : (tensor<3xi1>, tensor<3xi1>) -> tensor<6xi1>
  return %3 : tensor<6xi1>
}

// IREE packs no tensors of dynamic size.
// CHECK-LABEL: func.func @dynamic(
// CHECK-NOT:     i8
func.func @dynamic(%mask: tensor<?x3xi1>, %y: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%mask : tensor<?x3xi1>) outs(%y : tensor<?x3xf32>) {
  ^bb0(%a: i1, %o: f32):
    %s = arith.select %a, %o, %zero : f32
    linalg.yield %s : f32
  } -> tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}

// A result with one elementwise user stays boolean: IREE does not fuse producers of bytes.
// CHECK-LABEL: func.func @fused(
// CHECK:         %[[BYTES:.*]] = "flow.tensor.bitcast"(%arg0) {{.*}} : (tensor<2x3xi1>) -> tensor<2x3xi8>
// CHECK:         %[[NOT:.*]] = linalg.generic {{.*}} ins(%[[BYTES]] : tensor<2x3xi8>) outs(%{{.*}} : tensor<2x3xi1>)
// CHECK-NEXT:    ^bb0(%[[A:.*]]: i8, %{{.*}}: i1):
// CHECK:           %[[BIT:.*]] = arith.cmpi ne, %[[A]], %{{.*}} : i8
// CHECK:           %[[X:.*]] = arith.xori %[[BIT]], %{{.*}} : i1
// CHECK-NEXT:      linalg.yield %[[X]] : i1
// CHECK:         linalg.generic {{.*}} ins(%[[NOT]], %arg1 : tensor<2x3xi1>, tensor<2x3xf32>)
// CHECK-NEXT:    ^bb0(%[[M:.*]]: i1, %[[Y:.*]]: f32, %{{.*}}: f32):
// CHECK:           arith.select %[[M]], %[[Y]]
func.func @fused(%mask: tensor<2x3xi1>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %zero = arith.constant 0.0 : f32
  %true = arith.constant true
  %e = tensor.empty() : tensor<2x3xi1>
  %0 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%mask : tensor<2x3xi1>) outs(%e : tensor<2x3xi1>) {
  ^bb0(%a: i1, %o: i1):
    %x = arith.xori %a, %true : i1
    linalg.yield %x : i1
  } -> tensor<2x3xi1>
  %e1 = tensor.empty() : tensor<2x3xf32>
  %1 = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel"]} ins(%0, %y : tensor<2x3xi1>, tensor<2x3xf32>) outs(%e1 : tensor<2x3xf32>) {
  ^bb0(%m: i1, %b: f32, %o: f32):
    %s = arith.select %m, %b, %zero : f32
    linalg.yield %s : f32
  } -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}
