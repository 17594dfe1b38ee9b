// RUN: unmess-opt --pipeline reference-outline --pipeline reference-vectorize-elementwise-avx512 %s | filecheck %s
// RUN: unmess-opt --pipeline reference-outline --pipeline reference-vectorize-elementwise-avx2 %s | filecheck %s --check-prefix=NARROW

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#turned = affine_map<(d0, d1) -> (d1, d0)>
#number = affine_map<(d0, d1) -> ()>

// Rows of 44 elements. With AVX-512: a loop over two vectors of 16, and a mask for the last 12. With
// AVX2: a loop over five vectors of 8, and one of 4. The square root of a row's number is computed
// before the loop over the columns.
// CHECK-LABEL: func.func private @linalg_generic_0(
// CHECK:         scf.for %[[ROW:.*]] = %{{.*}} to %c8
// CHECK:           memref.load %arg0[%[[ROW]]]
// CHECK:           %[[ROOT:.*]] = math.sqrt
// CHECK:           scf.for %[[COLUMN:.*]] = %{{.*}} to %c32{{.*}} step %c16
// CHECK:             %[[IN:.*]] = vector.load %arg1[%[[ROW]], %[[COLUMN]]] : memref<8x44xf32>, vector<16xf32>
// CHECK:             %[[ALL:.*]] = vector.broadcast %[[ROOT]] : f32 to vector<16xf32>
// CHECK:             %[[OUT:.*]] = arith.divf %[[IN]], %[[ALL]] : vector<16xf32>
// CHECK:             vector.store %[[OUT]], %arg1[%[[ROW]], %[[COLUMN]]]
// CHECK:           } {loop_annotation
// CHECK:           %[[MASK:.*]] = vector.create_mask %c12{{.*}} : vector<16xi1>
// CHECK:           vector.maskedload %arg1[%[[ROW]], %c32{{.*}}], %[[MASK]]
// CHECK:           vector.maskedstore %arg1[%[[ROW]], %c32{{.*}}], %[[MASK]]
// NARROW-LABEL: func.func private @linalg_generic_0(
// NARROW:         vector.store {{.*}} vector<8xf32>
// NARROW:         vector.store {{.*}}%c40{{.*}} vector<4xf32>
// NARROW-NOT:     vector
// NARROW:         return
func.func @over_root(%x: memref<8x44xf32>, %y: memref<8xf32>) {
  linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]} ins(%y : memref<8xf32>) outs(%x : memref<8x44xf32>) {
  ^bb0(%in: f32, %o: f32):
    %0 = math.sqrt %in : f32
    %1 = arith.divf %o, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// Vectors have as many elements as a register has of the widest type. A comparison becomes a vector
// of booleans.
// CHECK-LABEL: func.func private @linalg_generic_1(
// CHECK:         vector.load %arg0{{.*}} vector<8xi64>
// CHECK:         arith.cmpi slt, %{{.*}}, %{{.*}} : vector<8xi64>
// CHECK:         arith.select %{{.*}} : vector<8xi1>, vector<8xf32>
// CHECK:         vector.store %{{.*}} vector<8xf32>
func.func @mixed(%x: memref<8x16xi64>, %y: memref<8x16xf32>) {
  %five = arith.constant 5 : i64
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<8x16xi64>) outs(%y : memref<8x16xf32>) {
  ^bb0(%in: i64, %o: f32):
    %0 = arith.cmpi slt, %in, %five : i64
    %1 = arith.sitofp %in : i64 to f32
    %2 = arith.select %0, %1, %o : f32
    linalg.yield %2 : f32
  }
  return
}

// Unchanged: a transposed operand, a fill, booleans in memory, a division of integers, which would
// trap for the zeros behind the last element, and numbers of 16 bits, even if they are not in memory.
// CHECK-LABEL: func.func private @linalg_generic_2(
// CHECK:         linalg.generic
// CHECK-LABEL: func.func private @linalg_generic_3(
// CHECK:         linalg.generic
// CHECK-LABEL: func.func private @linalg_generic_4(
// CHECK:         linalg.generic
// CHECK-LABEL: func.func private @linalg_generic_5(
// CHECK:         linalg.generic
// CHECK-LABEL: func.func private @linalg_generic_6(
// CHECK:         linalg.generic
func.func @others(%x: memref<16x16xf32>, %y: memref<16x16xf32>, %b: memref<16x16xi1>, %i: memref<16x16xi32>) {
  linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<16x16xf32>) outs(%y : memref<16x16xf32>) {
  ^bb0(%in: f32, %o: f32):
    %0 = arith.negf %in : f32
    linalg.yield %0 : f32
  }
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#number, #id], iterator_types = ["parallel", "parallel"]} ins(%zero : f32) outs(%x : memref<16x16xf32>) {
  ^bb0(%in: f32, %o: f32):
    linalg.yield %in : f32
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%b : memref<16x16xi1>) outs(%y : memref<16x16xf32>) {
  ^bb0(%in: i1, %o: f32):
    %0 = arith.uitofp %in : i1 to f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%i : memref<16x16xi32>) {
  ^bb0(%o: i32):
    %0 = arith.divsi %o, %o : i32
    linalg.yield %0 : i32
  }
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%y : memref<16x16xf32>) {
  ^bb0(%o: f32):
    %0 = arith.truncf %o : f32 to bf16
    %1 = arith.extf %0 : bf16 to f32
    linalg.yield %1 : f32
  }
  return
}

// A branch is taken if one of the elements needs it. The others keep their values.
// CHECK-LABEL: func.func private @linalg_generic_{{[0-9]+}}(%{{.*}}: memref<128xf32>
// CHECK:         %[[LARGE:.*]] = arith.cmpf ogt, {{.*}} : vector<16xf32>
// CHECK:         %[[ANY:.*]] = vector.reduction <or>, %[[LARGE]] : vector<16xi1> into i1
// CHECK:         scf.if %[[ANY]] -> (vector<16xf32>) {
// CHECK:           %[[ROOT:.*]] = math.sqrt %[[IN:.*]] : vector<16xf32>
// CHECK:           arith.select %[[LARGE]], %[[ROOT]], %[[IN]]
// CHECK:         } else {
// CHECK-NEXT:      scf.yield %[[IN]]
func.func @with_branch(%x: memref<128xf32>) {
  %one = arith.constant 1.0 : f32
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : memref<128xf32>) outs(%x : memref<128xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.cmpf ogt, %in, %one : f32
    %1 = scf.if %0 -> (f32) {
      %2 = math.sqrt %in : f32
      scf.yield %2 : f32
    } else {
      scf.yield %in : f32
    }
    linalg.yield %1 : f32
  }
  return
}
