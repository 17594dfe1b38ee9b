// RUN: unmess-opt --pipeline reference-split %s | filecheck %s

#lhs = affine_map<(d0, d1, d2) -> (d0, d2)>
#rhs = affine_map<(d0, d1, d2) -> (d1, d2)>
#out = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#line = affine_map<(d0) -> (d0)>

// A product is split into two halves of the columns. Each half reads half of one operand.
// CHECK-LABEL: func.func @product(
// CHECK:         scf.for %[[PART:.*]] = %c0{{.*}} to %c2
// CHECK:           %[[START:.*]] = arith.muli %[[PART]], %c256
// CHECK:           memref.subview %arg1[%{{.*}}, 0] [256, 256]
// CHECK:           memref.subview %arg2[0, %{{.*}}] [256, 256]
// CHECK:           linalg.generic {{.*}} ins(%arg0,
// CHECK:         {unmess.parts}
func.func @product(%a: memref<256x256xf32>, %b: memref<512x256xf32>, %c: memref<256x512xf32>) {
  linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<256x256xf32>, memref<512x256xf32>) outs(%c : memref<256x512xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// Columns that do not divide evenly: both parts have a multiple of 32, and one thread computes the
// last 17.
// CHECK-LABEL: func.func @uneven(
// CHECK:         scf.for %{{.*}} = %c0{{.*}} to %c2
// CHECK:           memref.subview %arg1[%{{.*}}, 0] [2496, 64]
// CHECK:           linalg.generic
// CHECK:         {unmess.parts}
// CHECK:         memref.subview %arg1[%{{.*}}, 0] [17, 64]
// CHECK:         linalg.generic
func.func @uneven(%a: memref<16x64xf32>, %b: memref<5009x64xf32>, %c: memref<16x5009xf32>) {
  linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<16x64xf32>, memref<5009x64xf32>) outs(%c : memref<16x5009xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// Sums are split by rows, never along the reduction. 501 is not divisible by 2, but by 3.
// CHECK-LABEL: func.func @sums(
// CHECK:         scf.for {{.*}} to %c3
// CHECK:           memref.subview %arg0[%{{.*}}, 0] [167, 1024]
// CHECK:           memref.subview %arg1[%{{.*}}] [167]
func.func @sums(%x: memref<501x1024xf32>, %out: memref<501xf32>) {
  linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<501x1024xf32>) outs(%out : memref<501xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %0 = arith.addf %in, %acc : f32
    linalg.yield %0 : f32
  }
  return
}

// A body with `linalg.index` gets the index in the whole operation.
// CHECK-LABEL: func.func @place(
// CHECK:           %[[START:.*]] = arith.muli
// CHECK:             %[[INDEX:.*]] = linalg.index 0
// CHECK:             %[[PLACE:.*]] = arith.addi %[[INDEX]], %[[START]]
// CHECK:             arith.index_cast %[[PLACE]]
func.func @place(%out: memref<512x512xi64>) {
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%out : memref<512x512xi64>) {
  ^bb0(%o: i64):
    %0 = linalg.index 0 : index
    %1 = arith.index_cast %0 : index to i64
    linalg.yield %1 : i64
  }
  return
}

// A convolution with stride 2 is split by rows of the image. The two parts overlap by one row.
#image = affine_map<(d0, d1, d2, d3) -> (d0 * 2 + d2, d1 + d3)>
#window = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#pixels = affine_map<(d0, d1, d2, d3) -> (d0, d1)>
// CHECK-LABEL: func.func @window(
// CHECK:           memref.subview %arg0[%{{.*}}, 0] [257, 258]
// CHECK:           memref.subview %arg2[%{{.*}}, 0] [128, 256]
func.func @window(%x: memref<513x258xf32>, %w: memref<3x3xf32>, %out: memref<256x256xf32>) {
  linalg.generic {indexing_maps = [#image, #window, #pixels], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%x, %w : memref<513x258xf32>, memref<3x3xf32>) outs(%out : memref<256x256xf32>) {
  ^bb0(%in: f32, %by: f32, %o: f32):
    %0 = arith.maximumf %in, %o : f32
    linalg.yield %0 : f32
  }
  return
}

// A convolution with small filters is split by rows of the image: each part has a multiple of 14 rows
// of 56 columns, at least 784 columns. A part carries the number of all filters.
#x = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d4, d2 + d5, d3 + d6)>
#w = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, d4, d5, d6)>
#y = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
// CHECK-LABEL: func.func @rows_of_an_image(
// CHECK:           memref.subview %arg0[0, 0, %{{.*}}, 0] [1, 64, 30, 58]
// CHECK:           memref.subview %arg2[0, 0, %{{.*}}, 0] [1, 64, 28, 56]
// CHECK:           linalg.generic {{.*}} ins(%{{.*}}, %arg1 :
// CHECK-SAME:      unmess.all_rows = 64 : index
func.func @rows_of_an_image(%x: memref<1x64x58x58xf32>, %w: memref<64x64x3x3xf32>, %out: memref<1x64x56x56xf32>) {
  linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %w : memref<1x64x58x58xf32>, memref<64x64x3x3xf32>) outs(%out : memref<1x64x56x56xf32>) {
  ^bb0(%in: f32, %by: f32, %o: f32):
    %0 = arith.mulf %in, %by : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// With several images, each one is a part of its own, also of the other operations, so that a thread
// takes an image through several layers. Small operations are not split.
// CHECK-LABEL: func.func @images(
// CHECK:         scf.for %{{.*}} = %c0{{.*}} to %c4
// CHECK:           memref.subview %arg2[%{{.*}}, 0, 0, 0] [1, 64, 56, 56]
// CHECK:           arith.mulf
// CHECK:         {unmess.parts}
// CHECK:         scf.for %{{.*}} = %c0{{.*}} to %c4
// CHECK:           memref.subview %arg2[%{{.*}}, 0, 0, 0] [1, 64, 56, 56]
// CHECK:           math.absf
// CHECK:         {unmess.parts}
// CHECK-NOT:     scf.for
// CHECK:         arith.addf
func.func @images(%x: memref<4x64x58x58xf32>, %w: memref<64x64x3x3xf32>, %out: memref<4x64x56x56xf32>, %few: memref<4x64xf32>) {
  linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %w : memref<4x64x58x58xf32>, memref<64x64x3x3xf32>) outs(%out : memref<4x64x56x56xf32>) {
  ^bb0(%in: f32, %by: f32, %o: f32):
    %0 = arith.mulf %in, %by : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  }
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%out : memref<4x64x56x56xf32>) {
  ^bb0(%o: f32):
    %0 = math.absf %o : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%few : memref<4x64xf32>) {
  ^bb0(%o: f32):
    %0 = arith.addf %o, %o : f32
    linalg.yield %0 : f32
  }
  return
}

// A small image is split by filters: all columns share a panel.
// CHECK-LABEL: func.func @small_image(
// CHECK:           memref.subview %arg1[%{{.*}}, 0, 0, 0] [64, 64, 3, 3]
// CHECK:           memref.subview %arg2[0, %{{.*}}, 0, 0] [1, 64, 28, 28]
func.func @small_image(%x: memref<1x64x30x30xf32>, %w: memref<128x64x3x3xf32>, %out: memref<1x128x28x28xf32>) {
  linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %w : memref<1x64x30x30xf32>, memref<128x64x3x3xf32>) outs(%out : memref<1x128x28x28xf32>) {
  ^bb0(%in: f32, %by: f32, %o: f32):
    %0 = arith.mulf %in, %by : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// Large filters are split, too, so that each thread reads only some of them.
// CHECK-LABEL: func.func @large_filters(
// CHECK:           memref.subview %arg1[%{{.*}}, 0, 0, 0] [128, 128, 3, 3]
func.func @large_filters(%x: memref<1x128x58x58xf32>, %w: memref<256x128x3x3xf32>, %out: memref<1x256x56x56xf32>) {
  linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %w : memref<1x128x58x58xf32>, memref<256x128x3x3xf32>) outs(%out : memref<1x256x56x56xf32>) {
  ^bb0(%in: f32, %by: f32, %o: f32):
    %0 = arith.mulf %in, %by : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// The operation is too small to be worth a second thread.
// CHECK-LABEL: func.func @little(
// CHECK-NOT:     unmess.parts
func.func @little(%x: memref<64x64xf32>) {
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%x : memref<64x64xf32>) {
  ^bb0(%o: f32):
    %0 = arith.addf %o, %o : f32
    linalg.yield %0 : f32
  }
  return
}

// A nest of loops over rows is split at the first loop that is long enough: not at the batch of 1.
// CHECK-LABEL: func.func @nest(
// CHECK:         scf.for %{{.*}} = %c0{{.*}} to %c1
// CHECK:           scf.for %{{.*}} = %c0{{.*}} to %c2
// CHECK:             scf.for
// CHECK:               linalg.generic
// CHECK:             {unmess.rows}
// CHECK:           {unmess.parts}
// CHECK-NOT:     unmess.rows
// CHECK:         return
func.func @nest(%x: memref<1x8x65536xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %image = %c0 to %c1 step %c1 {
    scf.for %channel = %c0 to %c8 step %c1 {
      %row = memref.subview %x[%image, %channel, 0] [1, 1, 65536] [1, 1, 1] : memref<1x8x65536xf32> to memref<65536xf32, strided<[1], offset: ?>>
      linalg.generic {indexing_maps = [#line], iterator_types = ["parallel"]} outs(%row : memref<65536xf32, strided<[1], offset: ?>>) {
      ^bb0(%o: f32):
        %0 = arith.addf %o, %o : f32
        linalg.yield %0 : f32
      }
    } {unmess.rows}
  } {unmess.rows}
  return
}

// The product with one row reads each weight once, so fewer steps are worth another thread. Half of
// 1000 columns is no multiple of a tile's width, but of a few columns.
// CHECK-LABEL: func.func @vector(
// CHECK:         scf.for {{.*}} to %c2
// CHECK:           memref.subview %arg1[%{{.*}}, 0] [500, 128]
// CHECK:         {unmess.parts}
func.func @vector(%a: memref<1x128xf32>, %b: memref<1000x128xf32>, %c: memref<1x1000xf32>) {
  linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<1x128xf32>, memref<1000x128xf32>) outs(%c : memref<1x1000xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// A fill reads a number, which all parts share.
// CHECK-LABEL: func.func @fill(
// CHECK:         scf.for {{.*}} to %c2
// CHECK:           memref.subview %arg0[%{{.*}}, 0] [128, 256]
// CHECK:           linalg.generic {{.*}} ins(%{{.*}} : f32)
// CHECK:         {unmess.parts}
func.func @fill(%x: memref<256x256xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> ()>, #id], iterator_types = ["parallel", "parallel"]} ins(%zero : f32) outs(%x : memref<256x256xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  return
}

// The number of rows is dynamic, but the columns are split as in a static program.
// CHECK-LABEL: func.func @dynamic_rows(
// CHECK:         scf.for %[[PART:.*]] = %c0{{.*}} to %c2
// CHECK:           memref.subview %arg1[%{{.*}}, 0] [256, 256]
// CHECK:           %[[ROWS:.*]] = memref.dim %arg2, %c0
// CHECK:           memref.subview %arg2[0, %{{.*}}] [%[[ROWS]], 256]
// CHECK:         {unmess.parts}
func.func @dynamic_rows(%a: memref<?x256xf32>, %b: memref<512x256xf32>, %c: memref<?x512xf32>) {
  linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<?x256xf32>, memref<512x256xf32>) outs(%c : memref<?x512xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// The program decides whether there is enough work for two threads, and computes the length of the
// parts. The last part may be shorter.
// CHECK-LABEL: func.func @dynamic_lines(
// CHECK:         %[[LINES:.*]] = memref.dim %arg0, %c0
// CHECK:         %[[ENOUGH:.*]] = arith.cmpi uge, %{{.*}}, %c328
// CHECK:         %[[LENGTH:.*]] = arith.select %[[ENOUGH]], %{{.*}}, %[[LINES]]
// CHECK:         %[[PARTS:.*]] = arith.select %[[ENOUGH]], %{{.*}}, %c1
// CHECK:         scf.for %[[PART:.*]] = %c0{{.*}} to %[[PARTS]]
// CHECK:           %[[START:.*]] = arith.muli %[[PART]], %[[LENGTH]]
// CHECK:           %[[LEFT:.*]] = arith.subi %[[LINES]], %[[START]]
// CHECK:           arith.minui %[[LENGTH]], %[[LEFT]]
// CHECK:         {unmess.parts}
func.func @dynamic_lines(%a: memref<?x100xf32>, %b: memref<?x100xf32>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : memref<?x100xf32>) outs(%b : memref<?x100xf32>) {
  ^bb0(%x: f32, %z: f32):
    %0 = arith.addf %x, %x : f32
    linalg.yield %0 : f32
  }
  return
}
