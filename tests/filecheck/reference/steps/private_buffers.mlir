// RUN: unmess-opt --pipeline reference-split --pipeline reference-merge-parts --pipeline reference-private-buffers %s | filecheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#image = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#row = affine_map<(d0) -> (d0)>

// Four images pass through a convolution and an activation, one after the other. The temporary holds
// one padded image; the operations use it through views.
// CHECK-LABEL: func.func @images(
// CHECK-NOT:     memref.alloc
// CHECK:         scf.for %[[IMAGE:.*]] = %c0{{.*}} to %c4
// CHECK:           memref.subview %arg0
// CHECK:           %[[START:.*]] = arith.muli %[[IMAGE]], %c1
// CHECK-NEXT:      %[[OFFSET:.*]] = arith.subi %{{.*}}, %[[START]]
// CHECK-NEXT:      %[[SHARE:.*]] = memref.alloc() : memref<1x64x34x34xf32>
// CHECK-NEXT:      %[[INSIDE:.*]] = memref.subview %[[SHARE]][0, 0, 1, 1] [1, 64, 32, 32]
// CHECK:           memref.subview %[[INSIDE]][%[[OFFSET]], 0, 0, 0] [1, 64, 32, 32]
// CHECK:           arith.mulf
// CHECK:           memref.collapse_shape %[[SHARE]] {{\[\[}}0], [1], [2, 3]] : memref<1x64x34x34xf32> into memref<1x64x1156xf32>
// CHECK:           math.absf
// CHECK:           memref.dealloc %[[SHARE]]
// CHECK:         {unmess.parts}
// CHECK-NOT:     memref.dealloc
// CHECK:         return
func.func @images(%x: memref<4x64x32x32xf32>, %w: memref<64x64xf32>, %y: memref<4x64x1156xf32>) {
  %t = memref.alloc() : memref<4x64x34x34xf32>
  %inside = memref.subview %t[0, 0, 1, 1] [4, 64, 32, 32] [1, 1, 1, 1] : memref<4x64x34x34xf32> to memref<4x64x32x32xf32, strided<[73984, 1156, 34, 1], offset: 35>>
  linalg.generic {indexing_maps = [affine_map<(n, f, h, w, c) -> (n, c, h, w)>, affine_map<(n, f, h, w, c) -> (f, c)>, affine_map<(n, f, h, w, c) -> (n, f, h, w)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%x, %w : memref<4x64x32x32xf32>, memref<64x64xf32>) outs(%inside : memref<4x64x32x32xf32, strided<[73984, 1156, 34, 1], offset: 35>>) {
  ^bb0(%in: f32, %filter: f32, %o: f32):
    %0 = arith.mulf %in, %filter : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  }
  %flat = memref.collapse_shape %t [[0], [1], [2, 3]] : memref<4x64x34x34xf32> into memref<4x64x1156xf32>
  linalg.generic {indexing_maps = [#image, #image], iterator_types = ["parallel", "parallel", "parallel"]} ins(%flat : memref<4x64x1156xf32>) outs(%y : memref<4x64x1156xf32>) {
  ^bb0(%in: f32, %o: f32):
    %0 = math.absf %in : f32
    linalg.yield %0 : f32
  }
  memref.dealloc %t : memref<4x64x34x34xf32>
  return
}

// The rows of a part are the first rows of its temporary, also for the loop inside it, and for one
// axis that stands for two.
// CHECK-LABEL: func.func @rows(
// CHECK-NOT:     memref.alloc
// CHECK:         scf.for %{{.*}} = %c0{{.*}} to %c2
// CHECK:           memref.alloc() : memref<128x256xf32>
// CHECK:           arith.addf
// CHECK:           memref.collapse_shape %{{.*}} {{\[\[}}0, 1]] : memref<128x256xf32> into memref<32768xf32>
// CHECK:           arith.mulf
// CHECK:         {unmess.parts}
func.func @rows(%x: memref<256x256xf32>, %y: memref<65536xf32>) {
  %t = memref.alloc() : memref<256x256xf32>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<256x256xf32>) outs(%t : memref<256x256xf32>) {
  ^bb0(%in: f32, %o: f32):
    %0 = arith.addf %in, %in : f32
    linalg.yield %0 : f32
  }
  %line = memref.collapse_shape %t [[0, 1]] : memref<256x256xf32> into memref<65536xf32>
  linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]} ins(%line : memref<65536xf32>) outs(%y : memref<65536xf32>) {
  ^bb0(%in: f32, %o: f32):
    %0 = arith.mulf %in, %in : f32
    linalg.yield %0 : f32
  }
  memref.dealloc %t : memref<256x256xf32>
  return
}

// The buffer stays in front of the loop if another operation uses it, too.
// CHECK-LABEL: func.func @used_later(
// CHECK:         memref.alloc() : memref<256x256xf32>
// CHECK:         scf.for
// CHECK-NOT:       memref.alloc
// CHECK:         {unmess.parts}
// CHECK:         memref.load
func.func @used_later(%x: memref<256x256xf32>, %y: memref<256x256xf32>) -> f32 {
  %t = memref.alloc() : memref<256x256xf32>
  %zero = arith.constant 0 : index
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<256x256xf32>) outs(%t : memref<256x256xf32>) {
  ^bb0(%in: f32, %o: f32):
    %0 = arith.addf %in, %in : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%t : memref<256x256xf32>) outs(%y : memref<256x256xf32>) {
  ^bb0(%in: f32, %o: f32):
    %0 = arith.mulf %in, %in : f32
    linalg.yield %0 : f32
  }
  %first = memref.load %t[%zero, %zero] : memref<256x256xf32>
  memref.dealloc %t : memref<256x256xf32>
  return %first : f32
}

// Buffers keep their size if the parts divide another axis than the first, or need all of the buffer.
// CHECK-LABEL: func.func @columns(
// CHECK:         memref.alloc() : memref<1x256x256xf32>
// CHECK:         scf.for
// CHECK-NOT:       memref.alloc
// CHECK:         {unmess.parts}
func.func @columns(%x: memref<1x256x256xf32>, %y: memref<1x256x256xf32>) {
  %t = memref.alloc() : memref<1x256x256xf32>
  linalg.generic {indexing_maps = [#image, #image], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : memref<1x256x256xf32>) outs(%t : memref<1x256x256xf32>) {
  ^bb0(%in: f32, %o: f32):
    %0 = arith.addf %in, %in : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#image, #image], iterator_types = ["parallel", "parallel", "parallel"]} ins(%t : memref<1x256x256xf32>) outs(%y : memref<1x256x256xf32>) {
  ^bb0(%in: f32, %o: f32):
    %0 = arith.mulf %in, %in : f32
    linalg.yield %0 : f32
  }
  memref.dealloc %t : memref<1x256x256xf32>
  return
}

// CHECK-LABEL: func.func @all(
// CHECK:         %[[ALL:.*]] = memref.alloc() : memref<256x256xf32>
// CHECK:         scf.for
// CHECK:           linalg.generic {{.*}} ins(%[[ALL]],
// CHECK:         {unmess.parts}
func.func @all(%x: memref<256x256xf32>, %y: memref<256x256xf32>) {
  %t = memref.alloc() : memref<256x256xf32>
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%t, %x : memref<256x256xf32>, memref<256x256xf32>) outs(%y : memref<256x256xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  }
  memref.dealloc %t : memref<256x256xf32>
  return
}
