// RUN: unmess-opt --pipeline reference-collapse %s | filecheck %s

#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#channel = affine_map<(d0, d1, d2) -> (d0, 0, 0)>
#turned = affine_map<(d0, d1, d2) -> (d0, d2, d1)>
#pixels = affine_map<(n, f, h, w, c, kh, kw) -> (n, c, h + kh, w + kw)>
#second = affine_map<(n, f, h, w, c, kh, kw) -> (n, c, 2 * h + kh, 2 * w + kw)>
#filters = affine_map<(n, f, h, w, c, kh, kw) -> (f, c, kh, kw)>
#sums = affine_map<(n, f, h, w, c, kh, kw) -> (n, f, h, w)>

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

// A convolution with 1 x 1 filters becomes a product of matrices, with a column for each pixel.
// CHECK-LABEL: func.func @pixels(
// CHECK-DAG:     memref.collapse_shape %arg0 {{\[\[}}0], [1], [2, 3]] : memref<1x8x14x14xf32> into memref<1x8x196xf32>
// CHECK-DAG:     memref.collapse_shape %arg1 {{\[\[}}0], [1], [2, 3]] : memref<16x8x1x1xf32> into memref<16x8x1xf32>
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
func.func @pixels(%x: memref<1x8x14x14xf32>, %w: memref<16x8x1x1xf32>, %y: memref<1x16x14x14xf32>) {
  linalg.generic {indexing_maps = [#pixels, #filters, #sums], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %w : memref<1x8x14x14xf32>, memref<16x8x1x1xf32>) outs(%y : memref<1x16x14x14xf32>) {
  ^bb0(%in: f32, %by: f32, %sum: f32):
    %0 = arith.mulf %in, %by : f32
    %1 = arith.addf %sum, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// Not collapsed: filters of 3 x 3, every second pixel, large filters of small images, an image with
// gaps between its rows, and one pixel.
// CHECK-LABEL: func.func @windows(
// CHECK-NOT:     memref.collapse_shape
// CHECK:         return
func.func @windows(%x: memref<1x8x16x16xf32>, %w: memref<16x8x3x3xf32>, %y: memref<1x16x14x14xf32>, %x2: memref<1x8x27x27xf32>, %w2: memref<16x8x1x1xf32>, %x3: memref<16x512x7x7xf32>, %w3: memref<512x512x1x1xf32>, %y3: memref<16x512x7x7xf32>, %gaps: memref<1x8x14x14xf32, strided<[2048, 256, 16, 1]>>, %x4: memref<1x8x1x1xf32>, %y4: memref<1x16x1x1xf32>) {
  linalg.generic {indexing_maps = [#pixels, #filters, #sums], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %w : memref<1x8x16x16xf32>, memref<16x8x3x3xf32>) outs(%y : memref<1x16x14x14xf32>) {
  ^bb0(%in: f32, %by: f32, %sum: f32):
    %0 = arith.mulf %in, %by : f32
    %1 = arith.addf %sum, %0 : f32
    linalg.yield %1 : f32
  }
  linalg.generic {indexing_maps = [#second, #filters, #sums], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x2, %w2 : memref<1x8x27x27xf32>, memref<16x8x1x1xf32>) outs(%y : memref<1x16x14x14xf32>) {
  ^bb0(%in: f32, %by: f32, %sum: f32):
    %0 = arith.mulf %in, %by : f32
    %1 = arith.addf %sum, %0 : f32
    linalg.yield %1 : f32
  }
  linalg.generic {indexing_maps = [#pixels, #filters, #sums], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x3, %w3 : memref<16x512x7x7xf32>, memref<512x512x1x1xf32>) outs(%y3 : memref<16x512x7x7xf32>) {
  ^bb0(%in: f32, %by: f32, %sum: f32):
    %0 = arith.mulf %in, %by : f32
    %1 = arith.addf %sum, %0 : f32
    linalg.yield %1 : f32
  }
  linalg.generic {indexing_maps = [#pixels, #filters, #sums], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%gaps, %w2 : memref<1x8x14x14xf32, strided<[2048, 256, 16, 1]>>, memref<16x8x1x1xf32>) outs(%y : memref<1x16x14x14xf32>) {
  ^bb0(%in: f32, %by: f32, %sum: f32):
    %0 = arith.mulf %in, %by : f32
    %1 = arith.addf %sum, %0 : f32
    linalg.yield %1 : f32
  }
  linalg.generic {indexing_maps = [#pixels, #filters, #sums], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x4, %w2 : memref<1x8x1x1xf32>, memref<16x8x1x1xf32>) outs(%y4 : memref<1x16x1x1xf32>) {
  ^bb0(%in: f32, %by: f32, %sum: f32):
    %0 = arith.mulf %in, %by : f32
    %1 = arith.addf %sum, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// Not collapsed: the bias has a value for each channel, and a loop over one row is in between.
// CHECK-LABEL: func.func @bias(
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]}
func.func @bias(%bias: memref<3xf32>, %out: memref<3x1x6xf32>) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%bias : memref<3xf32>) outs(%out : memref<3x1x6xf32>) {
  ^bb0(%in: f32, %o: f32):
    linalg.yield %in : f32
  }
  return
}
