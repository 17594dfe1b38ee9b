// RUN: unmess-opt --pipeline reference-winograd --pipeline reference-split %s | filecheck %s

#pixels = affine_map<(n, f, y, x, c, i, j) -> (n, c, y + i, x + j)>
#steps = affine_map<(n, f, y, x, c, i, j) -> (n, c, y * 2 + i, x * 2 + j)>
#filters = affine_map<(n, f, y, x, c, i, j) -> (f, c, i, j)>
#turned = affine_map<(n, f, y, x, c, i, j) -> (f, c, j, i)>
#result = affine_map<(n, f, y, x, c, i, j) -> (n, f, y, x)>
#group_pixels = affine_map<(n, g, f, y, x, c, i, j) -> (n, g, c, y + i, x + j)>
#group_filters = affine_map<(n, g, f, y, x, c, i, j) -> (g, f, c, i, j)>
#group_result = affine_map<(n, g, f, y, x, c, i, j) -> (n, g, f, y, x)>
#diagonal = affine_map<(n, f, y, x, c, i, j) -> (n, y, c, y + i, x + j)>
#layers = affine_map<(f, z, y, x, c, k, i, j) -> (c, z + k, y + i, x + j)>
#cubes = affine_map<(f, z, y, x, c, k, i, j) -> (f, c, k, i, j)>
#volume = affine_map<(f, z, y, x, c, k, i, j) -> (f, z, y, x)>

// Parts of an image have an even number of rows: there are five parts of 6 rows, not two of 15.
// CHECK-LABEL: func.func @image(
// CHECK:         scf.for {{.*}} to %c5
// CHECK:           memref.subview %arg2[0, 0, %{{.*}}, 0] [1, 16, 6, 64]
// CHECK:           linalg.generic {{.*}}unmess.winograd
func.func @image(%p: memref<1x16x32x66xf32>, %f: memref<16x16x3x3xf32>, %r: memref<1x16x30x64xf32>) {
  linalg.generic {indexing_maps = [#pixels, #filters, #result], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%p, %f : memref<1x16x32x66xf32>, memref<16x16x3x3xf32>) outs(%r : memref<1x16x30x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// The filters are split if the image is small, or has an odd number of rows.
// CHECK-LABEL: func.func @small_image(
// CHECK:         scf.for {{.*}} to %c2
// CHECK:           memref.subview %arg2[0, %{{.*}}, 0, 0] [1, 16, 20, 10]
// CHECK:           linalg.generic {{.*}}unmess.winograd
func.func @small_image(%p: memref<1x32x22x12xf32>, %f: memref<32x32x3x3xf32>, %r: memref<1x32x20x10xf32>) {
  linalg.generic {indexing_maps = [#pixels, #filters, #result], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%p, %f : memref<1x32x22x12xf32>, memref<32x32x3x3xf32>) outs(%r : memref<1x32x20x10xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// CHECK-LABEL: func.func @odd_image(
// CHECK:         scf.for {{.*}} to %c2
// CHECK:           memref.subview %arg2[0, %{{.*}}, 0, 0] [1, 16, 15, 15]
// CHECK:           linalg.generic {{.*}}unmess.winograd
func.func @odd_image(%p: memref<1x32x17x17xf32>, %f: memref<32x32x3x3xf32>, %r: memref<1x32x15x15xf32>) {
  linalg.generic {indexing_maps = [#pixels, #filters, #result], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%p, %f : memref<1x32x17x17xf32>, memref<32x32x3x3xf32>) outs(%r : memref<1x32x15x15xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// The layers of a filter are channels: 8 channels of 3 layers are 24.
// CHECK-LABEL: func.func @layers(
// CHECK:         linalg.generic {{.*}}unmess.winograd
func.func @layers(%p: memref<8x10x34x34xf32>, %f: memref<16x8x3x3x3xf32>, %r: memref<16x8x32x32xf32>) {
  linalg.generic {indexing_maps = [#layers, #cubes, #volume], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "reduction"]} ins(%p, %f : memref<8x10x34x34xf32>, memref<16x8x3x3x3xf32>) outs(%r : memref<16x8x32x32xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// The number of images may be dynamic, other sizes may not.
// CHECK-LABEL: func.func @dynamic_batch(
// CHECK:         linalg.generic {{.*}}unmess.winograd
func.func @dynamic_batch(%p: memref<?x16x34x34xf32>, %f: memref<16x16x3x3xf32>, %r: memref<?x16x32x32xf32>) {
  linalg.generic {indexing_maps = [#pixels, #filters, #result], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%p, %f : memref<?x16x34x34xf32>, memref<16x16x3x3xf32>) outs(%r : memref<?x16x32x32xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  }
  return
}
// CHECK-LABEL: func.func @dynamic_rows(
// CHECK-NOT:     unmess.winograd
func.func @dynamic_rows(%p: memref<1x16x?x34xf32>, %f: memref<16x16x3x3xf32>, %r: memref<1x16x?x32xf32>) {
  linalg.generic {indexing_maps = [#pixels, #filters, #result], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%p, %f : memref<1x16x?x34xf32>, memref<16x16x3x3xf32>) outs(%r : memref<1x16x?x32xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// Each group has channels of its own.
// CHECK-LABEL: func.func @groups(
// CHECK:         linalg.generic {{.*}}unmess.winograd
func.func @groups(%p: memref<1x4x24x34x34xf32>, %f: memref<4x24x24x3x3xf32>, %r: memref<1x4x24x32x32xf32>) {
  linalg.generic {indexing_maps = [#group_pixels, #group_filters, #group_result], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%p, %f : memref<1x4x24x34x34xf32>, memref<4x24x24x3x3xf32>) outs(%r : memref<1x4x24x32x32xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// The next functions need all products: they have steps of 2, a larger window, an odd number of
// channels, few channels, few filters, a small image, and too many channels for one sum.
// CHECK-LABEL: func.func @strides(
// CHECK-NOT:     unmess.winograd
func.func @strides(%p: memref<1x16x65x65xf32>, %f: memref<16x16x3x3xf32>, %r: memref<1x16x32x32xf32>) {
  linalg.generic {indexing_maps = [#steps, #filters, #result], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%p, %f : memref<1x16x65x65xf32>, memref<16x16x3x3xf32>) outs(%r : memref<1x16x32x32xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// CHECK-LABEL: func.func @window(
// CHECK-NOT:     unmess.winograd
func.func @window(%p: memref<1x16x36x36xf32>, %f: memref<16x16x5x5xf32>, %r: memref<1x16x32x32xf32>) {
  linalg.generic {indexing_maps = [#pixels, #filters, #result], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%p, %f : memref<1x16x36x36xf32>, memref<16x16x5x5xf32>) outs(%r : memref<1x16x32x32xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// CHECK-LABEL: func.func @odd_channels(
// CHECK-NOT:     unmess.winograd
func.func @odd_channels(%p: memref<1x17x34x34xf32>, %f: memref<16x17x3x3xf32>, %r: memref<1x16x32x32xf32>) {
  linalg.generic {indexing_maps = [#pixels, #filters, #result], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%p, %f : memref<1x17x34x34xf32>, memref<16x17x3x3xf32>) outs(%r : memref<1x16x32x32xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  }
  return
}
// CHECK-LABEL: func.func @channels(
// CHECK-NOT:     unmess.winograd
func.func @channels(%p: memref<1x8x34x34xf32>, %f: memref<16x8x3x3xf32>, %r: memref<1x16x32x32xf32>) {
  linalg.generic {indexing_maps = [#pixels, #filters, #result], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%p, %f : memref<1x8x34x34xf32>, memref<16x8x3x3xf32>) outs(%r : memref<1x16x32x32xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// CHECK-LABEL: func.func @filters(
// CHECK-NOT:     unmess.winograd
func.func @filters(%p: memref<1x16x34x34xf32>, %f: memref<8x16x3x3xf32>, %r: memref<1x8x32x32xf32>) {
  linalg.generic {indexing_maps = [#pixels, #filters, #result], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%p, %f : memref<1x16x34x34xf32>, memref<8x16x3x3xf32>) outs(%r : memref<1x8x32x32xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// CHECK-LABEL: func.func @small(
// CHECK-NOT:     unmess.winograd
func.func @small(%p: memref<1x16x8x8xf32>, %f: memref<16x16x3x3xf32>, %r: memref<1x16x6x6xf32>) {
  linalg.generic {indexing_maps = [#pixels, #filters, #result], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%p, %f : memref<1x16x8x8xf32>, memref<16x16x3x3xf32>) outs(%r : memref<1x16x6x6xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// CHECK-LABEL: func.func @deep(
// CHECK-NOT:     unmess.winograd
func.func @deep(%p: memref<1x528x18x18xf32>, %f: memref<16x528x3x3xf32>, %r: memref<1x16x16x16xf32>) {
  linalg.generic {indexing_maps = [#pixels, #filters, #result], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%p, %f : memref<1x528x18x18xf32>, memref<16x528x3x3xf32>) outs(%r : memref<1x16x16x16xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// The next functions have another type, filters whose elements are in another order, and pixels of a
// diagonal.
// CHECK-LABEL: func.func @doubles(
// CHECK-NOT:     unmess.winograd
func.func @doubles(%p: memref<1x16x34x34xf64>, %f: memref<16x16x3x3xf64>, %r: memref<1x16x32x32xf64>) {
  linalg.generic {indexing_maps = [#pixels, #filters, #result], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%p, %f : memref<1x16x34x34xf64>, memref<16x16x3x3xf64>) outs(%r : memref<1x16x32x32xf64>) {
  ^bb0(%a: f64, %b: f64, %c: f64):
    %0 = arith.mulf %a, %b : f64
    %1 = arith.addf %c, %0 : f64
    linalg.yield %1 : f64
  }
  return
}

// CHECK-LABEL: func.func @turned(
// CHECK-NOT:     unmess.winograd
func.func @turned(%p: memref<1x16x34x34xf32>, %f: memref<16x16x3x3xf32>, %r: memref<1x16x32x32xf32>) {
  linalg.generic {indexing_maps = [#pixels, #turned, #result], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%p, %f : memref<1x16x34x34xf32>, memref<16x16x3x3xf32>) outs(%r : memref<1x16x32x32xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  }
  return
}
// CHECK-LABEL: func.func @diagonal(
// CHECK-NOT:     unmess.winograd
func.func @diagonal(%p: memref<1x32x16x34x34xf32>, %f: memref<16x16x3x3xf32>, %r: memref<1x16x32x32xf32>) {
  linalg.generic {indexing_maps = [#diagonal, #filters, #result], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%p, %f : memref<1x32x16x34x34xf32>, memref<16x16x3x3xf32>) outs(%r : memref<1x16x32x32xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  }
  return
}
