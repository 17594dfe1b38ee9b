// RUN: unmess-opt --pipeline reference-join-rows %s | filecheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>
#turned = affine_map<(d0, d1) -> (d1, d0)>

// A sum and a division by it become one loop over rows.
// CHECK-LABEL: func.func @normalize(
// CHECK:         scf.for %[[ROW:.*]] = %{{.*}} to %c1024
// CHECK:           memref.subview %[[IN:.*]][%[[ROW]], 0] [1, 1024]
// CHECK:           linalg.generic {{.*}}"reduction"
// CHECK:           memref.subview %[[IN]][%[[ROW]], 0] [1, 1024]
// CHECK:           linalg.generic {{.*}}["parallel", "parallel"]
// CHECK:         {unmess.rows}
func.func @normalize(%x: memref<1024x1024xf32>, %out: memref<1024x1024xf32>) {
  %sum = memref.alloc() : memref<1024xf32>
  linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<1024x1024xf32>) outs(%sum : memref<1024xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %0 = arith.addf %in, %acc : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : memref<1024x1024xf32>, memref<1024xf32>) outs(%out : memref<1024x1024xf32>) {
  ^bb0(%in: f32, %total: f32, %o: f32):
    %0 = arith.divf %in, %total : f32
    linalg.yield %0 : f32
  }
  memref.dealloc %sum : memref<1024xf32>
  return
}

// Not joined: a row of the second operation reads several rows of the first.
// CHECK-LABEL: func.func @turned(
// CHECK-NOT:     scf.for
func.func @turned(%x: memref<1024x1024xf32>, %out: memref<1024x1024xf32>) {
  %t = memref.alloc() : memref<1024x1024xf32>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<1024x1024xf32>) outs(%t : memref<1024x1024xf32>) {
  ^bb0(%in: f32, %o: f32):
    %0 = arith.negf %in : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel"]} ins(%t : memref<1024x1024xf32>) outs(%out : memref<1024x1024xf32>) {
  ^bb0(%in: f32, %o: f32):
    %0 = arith.addf %in, %in : f32
    linalg.yield %0 : f32
  }
  memref.dealloc %t : memref<1024x1024xf32>
  return
}

// Not joined: the sum is over the rows, so each iteration would update all sums.
// CHECK-LABEL: func.func @over_rows(
// CHECK-NOT:     scf.for
func.func @over_rows(%x: memref<1024x1024xf32>, %sum: memref<1024xf32>) {
  linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]} ins(%x : memref<1024x1024xf32>) outs(%sum : memref<1024xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %0 = arith.addf %in, %acc : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : memref<1024x1024xf32>, memref<1024xf32>) outs(%x : memref<1024x1024xf32>) {
  ^bb0(%in: f32, %total: f32, %o: f32):
    %0 = arith.divf %in, %total : f32
    linalg.yield %0 : f32
  }
  return
}

// Not joined: a body that uses its row index, and a body that loads from memory.
// CHECK-LABEL: func.func @not_alone(
// CHECK-NOT:     scf.for
func.func @not_alone(%x: memref<1024x1024xf32>, %out: memref<1024x1024xf32>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<1024x1024xf32>) outs(%out : memref<1024x1024xf32>) {
  ^bb0(%in: f32, %o: f32):
    %0 = linalg.index 0 : index
    %1 = arith.index_cast %0 : index to i32
    %2 = arith.sitofp %1 : i32 to f32
    linalg.yield %2 : f32
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<1024x1024xf32>) outs(%out : memref<1024x1024xf32>) {
  ^bb0(%in: f32, %o: f32):
    %0 = linalg.index 1 : index
    %1 = memref.load %out[%0, %0] : memref<1024x1024xf32>
    linalg.yield %1 : f32
  }
  return
}

// Not joined: the buffers are small and stay in the cache anyway.
// CHECK-LABEL: func.func @small(
// CHECK-NOT:     scf.for
func.func @small(%x: memref<64x64xf32>, %out: memref<64x64xf32>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<64x64xf32>) outs(%out : memref<64x64xf32>) {
  ^bb0(%in: f32, %o: f32):
    %0 = arith.negf %in : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%out : memref<64x64xf32>) outs(%x : memref<64x64xf32>) {
  ^bb0(%in: f32, %o: f32):
    %0 = arith.addf %in, %in : f32
    linalg.yield %0 : f32
  }
  return
}
