// RUN: unmess-opt --pipeline reference-collapse %s | filecheck %s

#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#channel = affine_map<(d0, d1, d2) -> (d0, 0, 0)>
#turned = affine_map<(d0, d1, d2) -> (d0, d2, d1)>

// The two loops over the image become one. The operand with one value per channel has its own map.
// CHECK-DAG:   #[[IMAGE:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG:   #[[CHANNEL:.*]] = affine_map<(d0, d1) -> (d0, 0, 0)>
// CHECK-LABEL: func.func @image(
// CHECK:         memref.collapse_shape %arg0 {{\[\[}}0], [1, 2]] : memref<8x7x7xf32> into memref<8x49xf32>
// CHECK:         linalg.generic {indexing_maps = [#[[IMAGE]], #[[CHANNEL]], #[[IMAGE]]], iterator_types = ["parallel", "parallel"]}
func.func @image(%x: memref<8x7x7xf32>, %scale: memref<8x1x1xf32>, %out: memref<8x7x7xf32>) {
  linalg.generic {indexing_maps = [#id, #channel, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %scale : memref<8x7x7xf32>, memref<8x1x1xf32>) outs(%out : memref<8x7x7xf32>) {
  ^bb0(%in: f32, %by: f32, %o: f32):
    %0 = arith.mulf %in, %by : f32
    linalg.yield %0 : f32
  }
  return
}

// The loops of a sum over the image become one, too.
// CHECK-LABEL: func.func @sum(
// CHECK:         iterator_types = ["parallel", "reduction"]
func.func @sum(%x: memref<8x7x7xf32>, %out: memref<8x1x1xf32>) {
  linalg.generic {indexing_maps = [#id, #channel], iterator_types = ["parallel", "reduction", "reduction"]} ins(%x : memref<8x7x7xf32>) outs(%out : memref<8x1x1xf32>) {
  ^bb0(%in: f32, %o: f32):
    %0 = arith.addf %in, %o : f32
    linalg.yield %0 : f32
  }
  return
}

// Not collapsed: an operand with gaps between rows, a transposed operand, and a body with an index.
// CHECK-LABEL: func.func @left(
// CHECK-NOT:     memref.collapse_shape
// CHECK:         return
func.func @left(%x: memref<8x7x7xf32, strided<[100, 10, 1]>>, %y: memref<8x7x7xf32>, %out: memref<8x7x7xf32>) {
  // This operand also has gaps between the images, so all three loops stay.
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : memref<8x7x7xf32, strided<[100, 10, 1]>>) outs(%out : memref<8x7x7xf32>) {
  ^bb0(%in: f32, %o: f32):
    linalg.yield %in : f32
  }
  linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%y : memref<8x7x7xf32>) outs(%out : memref<8x7x7xf32>) {
  ^bb0(%in: f32, %o: f32):
    linalg.yield %in : f32
  }
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel", "parallel"]} outs(%out : memref<8x7x7xf32>) {
  ^bb0(%o: f32):
    %0 = linalg.index 2 : index
    %1 = arith.index_cast %0 : index to i32
    %2 = arith.sitofp %1 : i32 to f32
    linalg.yield %2 : f32
  }
  return
}

// A branch on the elements does not prevent it.
// CHECK-LABEL: func.func @branch(
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel"]}
func.func @branch(%out: memref<8x7x7xf32>) {
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel", "parallel"]} outs(%out : memref<8x7x7xf32>) {
  ^bb0(%o: f32):
    %is_nan = arith.cmpf uno, %o, %o : f32
    %0 = scf.if %is_nan -> (f32) {
      %1 = math.sqrt %o : f32
      scf.yield %1 : f32
    } else {
      scf.yield %o : f32
    }
    linalg.yield %0 : f32
  }
  return
}
