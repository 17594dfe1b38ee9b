// RUN: unmess-opt --pipeline check-indices %s | filecheck %s

// The host asserts that no index is out of range. The access itself uses a safe index.
// CHECK-LABEL: func.func @data(
// CHECK:         %[[FLAG:.*]] = linalg.generic {{.*}}iterator_types = ["reduction"]} ins(%arg1 : tensor<3xi64>)
// CHECK:           %[[GOOD:.*]] = arith.cmpi ult, %in, %{{.*}} : i64
// CHECK-NEXT:      arith.select %[[GOOD]], %out, %{{.*}} : i32
// CHECK:         %[[NUMBER:.*]] = tensor.extract %[[FLAG]][] : tensor<i32>
// CHECK-NEXT:    %[[NONE:.*]] = arith.cmpi eq, %[[NUMBER]], %{{.*}} : i32
// CHECK-NEXT:    cf.assert %[[NONE]], "index out of range"
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]
// CHECK:           %[[INSIDE:.*]] = arith.cmpi ult, %in, %{{.*}} : i64
// CHECK-NEXT:      %[[SAFE:.*]] = arith.select %[[INSIDE]], %in, %{{.*}} : i64
// CHECK-NEXT:      %[[INDEX:.*]] = arith.index_cast %[[SAFE]] : i64 to index
// CHECK-NEXT:      tensor.extract %arg0[%[[INDEX]], %{{.*}}]
// CHECK-NOT:     cf.assert
func.func @data(%table: tensor<100x16xf32>, %ids: tensor<3xi64>) -> tensor<3x16xf32> {
  %0 = tensor.empty() : tensor<3x16xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%ids : tensor<3xi64>) outs(%0 : tensor<3x16xf32>) {
  ^bb0(%in: i64, %out: f32):
    %2 = arith.index_cast %in : i64 to index
    %3 = linalg.index 1 : index
    %4 = tensor.extract %table[%2, %3] : tensor<100x16xf32>
    linalg.yield %4 : f32
  } -> tensor<3x16xf32>
  return %1 : tensor<3x16xf32>
}

// An access inside a branch is checked only for elements that take the branch.
// CHECK-LABEL: func.func @branch(
// CHECK:         ^bb0(%in: i64, %in_0: i1, %out: i32):
// CHECK:           %[[GOOD:.*]] = arith.cmpi ult, %in, %{{.*}} : i64
// CHECK-NEXT:      %[[SKIPPED:.*]] = arith.xori %in_0, %true : i1
// CHECK-NEXT:      arith.ori %[[GOOD]], %[[SKIPPED]] : i1
// CHECK:         cf.assert
func.func @branch(%x: tensor<8xf32>, %ids: tensor<3xi64>, %taken: tensor<3xi1>) -> tensor<3xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<3xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%ids, %taken : tensor<3xi64>, tensor<3xi1>) outs(%0 : tensor<3xf32>) {
  ^bb0(%in: i64, %is_taken: i1, %out: f32):
    %2 = scf.if %is_taken -> f32 {
      %3 = arith.index_cast %in : i64 to index
      %4 = tensor.extract %x[%3] : tensor<8xf32>
      scf.yield %4 : f32
    } else {
      scf.yield %zero : f32
    }
    linalg.yield %2 : f32
  } -> tensor<3xf32>
  return %1 : tensor<3xf32>
}

// Assertions in bodies move to the host and keep their messages.
// CHECK-LABEL: func.func @assertion(
// CHECK:         cf.assert %{{.*}}, "negative"
// CHECK:         linalg.generic {{.*}}["parallel"]
// CHECK-NOT:     cf.assert
func.func @assertion(%x: tensor<3xi64>) -> tensor<3xi64> {
  %zero = arith.constant 0 : i64
  %0 = tensor.empty() : tensor<3xi64>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<3xi64>) outs(%0 : tensor<3xi64>) {
  ^bb0(%in: i64, %out: i64):
    %2 = arith.cmpi sge, %in, %zero : i64
    cf.assert %2, "negative"
    %3 = arith.addi %in, %in : i64
    linalg.yield %3 : i64
  } -> tensor<3xi64>
  return %1 : tensor<3xi64>
}

// The loop has no operand with its size, so the check gets one.
// CHECK-LABEL: func.func @loop(
// CHECK:         linalg.generic {{.*}}["reduction"]} ins(%{{.*}} : tensor<5xi8>)
// CHECK:         cf.assert
func.func @loop(%x: tensor<8xf32>) -> tensor<5xf32> {
  %four = arith.constant 4 : index
  %0 = tensor.empty() : tensor<5xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%0 : tensor<5xf32>) {
  ^bb0(%out: f32):
    %2 = linalg.index 0 : index
    %3 = arith.addi %2, %four : index
    %4 = tensor.extract %x[%3] : tensor<8xf32>
    linalg.yield %4 : f32
  } -> tensor<5xf32>
  return %1 : tensor<5xf32>
}

// CHECK-LABEL: func.func @host(
// CHECK:         %[[INSIDE:.*]] = arith.cmpi ult, %arg1, %c8
// CHECK-NEXT:    %[[SAFE:.*]] = arith.select %[[INSIDE]], %arg1, %c0
// CHECK-NEXT:    cf.assert %[[INSIDE]], "index out of range"
// CHECK-NEXT:    tensor.extract %arg0[%[[SAFE]]]
func.func @host(%x: tensor<8xf32>, %i: index) -> f32 {
  %0 = tensor.extract %x[%i] : tensor<8xf32>
  return %0 : f32
}

// No index is safe if the axis is empty. The host tests this before the access.
// CHECK-LABEL: func.func @dynamic(
// CHECK:         %[[SIZE:.*]] = tensor.dim %arg0
// CHECK:         %[[SOME:.*]] = arith.cmpi ne, %[[SIZE]], %{{.*}} : index
// CHECK:         %[[COUNT:.*]] = tensor.dim %arg2
// CHECK:         %[[NONE:.*]] = arith.cmpi eq, %[[COUNT]], %{{.*}} : index
// CHECK:         %[[HOLDS:.*]] = arith.ori %[[SOME]], %[[NONE]] : i1
// CHECK:         cf.assert %[[HOLDS]], "index out of range"
// CHECK:         linalg.generic
func.func @dynamic(%x: tensor<?xf32>, %ids: tensor<?xi64>, %to: tensor<?xf32>) -> tensor<?xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%ids : tensor<?xi64>) outs(%to : tensor<?xf32>) {
  ^bb0(%in: i64, %out: f32):
    %1 = arith.index_cast %in : i64 to index
    %2 = tensor.extract %x[%1] : tensor<?xf32>
    linalg.yield %2 : f32
  } -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// CHECK-LABEL: func.func @scatter(
// CHECK:         %[[SIZE:.*]] = tensor.dim %arg0
// CHECK:         %[[PLACES:.*]] = arith.index_cast %[[SIZE]] : index to i64
// CHECK:         %[[SOME:.*]] = arith.cmpi ne, %[[PLACES]], %{{.*}} : i64
// CHECK:         cf.assert %[[SOME]], "index out of range"
// CHECK:         tm_tensor.scatter
func.func @scatter(%x: tensor<?xf32>, %ids: tensor<3x1xi64>, %values: tensor<3xf32>) -> tensor<?xf32> {
  %0 = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(false) ins(%values, %ids : tensor<3xf32>, tensor<3x1xi64>) outs(%x : tensor<?xf32>) {
  ^bb0(%new: f32, %old: f32):
    tm_tensor.yield %new : f32
  } -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
