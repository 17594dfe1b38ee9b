// RUN: unmess-opt --pipeline reference-split --pipeline reference-merge-parts %s | filecheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#turned = affine_map<(d0, d1) -> (d1, d0)>
#number = affine_map<(d0, d1) -> ()>

// Each part of the second operation reads what the same part of the first one has written. An
// operation between them that does not depend on the first one is moved before it. A small operation
// on the rows of a part joins the loop.
// CHECK-LABEL: func.func @chain(
// CHECK:         math.absf
// CHECK:         scf.for
// CHECK:           arith.addf
// CHECK:           arith.mulf
// CHECK:           arith.negf
// CHECK:         {unmess.parts}
// CHECK-NOT:     scf.for
// CHECK:         return
func.func @chain(%x: memref<256x256xf32>, %y: memref<256x256xf32>, %few: memref<256x8xf32>, %apart: memref<17x3xf32>) {
  %t = memref.alloc() : memref<256x256xf32>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<256x256xf32>) outs(%t : memref<256x256xf32>) {
  ^bb0(%in0: f32, %o: f32):
    %0 = arith.addf %in0, %in0 : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%apart : memref<17x3xf32>) {
  ^bb0(%o: f32):
    %0 = math.absf %o : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%t : memref<256x256xf32>) outs(%y : memref<256x256xf32>) {
  ^bb0(%in0: f32, %o: f32):
    %0 = arith.mulf %in0, %in0 : f32
    linalg.yield %0 : f32
  }
  %part = memref.subview %y[0, 0] [256, 8] [1, 1] : memref<256x256xf32> to memref<256x8xf32, strided<[256, 1]>>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%part : memref<256x8xf32, strided<[256, 1]>>) outs(%few : memref<256x8xf32>) {
  ^bb0(%in0: f32, %o: f32):
    %0 = arith.negf %in0 : f32
    linalg.yield %0 : f32
  }
  memref.dealloc %t : memref<256x256xf32>
  return
}

// All parts read the same temporary, which has no axes.
// CHECK-LABEL: func.func @same_number(
// CHECK:         math.absf
// CHECK:         scf.for
// CHECK:           arith.addf
// CHECK:           arith.mulf
// CHECK:         {unmess.parts}
// CHECK-NOT:     scf.for
// CHECK:         return
func.func @same_number(%x: memref<256x256xf32>, %y: memref<256x256xf32>, %number: memref<f32>) {
  %n = memref.alloc() : memref<f32>
  linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%number : memref<f32>) outs(%n : memref<f32>) {
  ^bb0(%in0: f32, %o: f32):
    %0 = math.absf %in0 : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id, #number, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %n : memref<256x256xf32>, memref<f32>) outs(%y : memref<256x256xf32>) {
  ^bb0(%in0: f32, %in1: f32, %o: f32):
    %0 = arith.addf %in0, %in1 : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id, #number, #id], iterator_types = ["parallel", "parallel"]} ins(%y, %n : memref<256x256xf32>, memref<f32>) outs(%y : memref<256x256xf32>) {
  ^bb0(%in0: f32, %in1: f32, %o: f32):
    %0 = arith.mulf %in0, %in1 : f32
    linalg.yield %0 : f32
  }
  memref.dealloc %n : memref<f32>
  return
}

// Not merged: a part of the second operation reads elements of all parts of the first one.
// CHECK-LABEL: func.func @turned(
// CHECK:           arith.addf
// CHECK:         {unmess.parts}
// CHECK:           arith.mulf
// CHECK:         {unmess.parts}
func.func @turned(%x: memref<256x256xf32>, %y: memref<256x256xf32>) {
  %t = memref.alloc() : memref<256x256xf32>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<256x256xf32>) outs(%t : memref<256x256xf32>) {
  ^bb0(%in0: f32, %o: f32):
    %0 = arith.addf %in0, %in0 : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel"]} ins(%t : memref<256x256xf32>) outs(%y : memref<256x256xf32>) {
  ^bb0(%in0: f32, %o: f32):
    %0 = arith.mulf %in0, %in0 : f32
    linalg.yield %0 : f32
  }
  memref.dealloc %t : memref<256x256xf32>
  return
}

// Not merged: the operation between them reads the first result, and writes what the last one reads.
// CHECK-LABEL: func.func @between(
// CHECK:           arith.addf
// CHECK:         {unmess.parts}
// CHECK:         memref.load
// CHECK:         memref.store
// CHECK:           arith.mulf
// CHECK:         {unmess.parts}
func.func @between(%x: memref<256x256xf32>, %y: memref<256x256xf32>) {
  %t = memref.alloc() : memref<256x256xf32>
  %zero = arith.constant 0 : index
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<256x256xf32>) outs(%t : memref<256x256xf32>) {
  ^bb0(%in0: f32, %o: f32):
    %0 = arith.addf %in0, %in0 : f32
    linalg.yield %0 : f32
  }
  %first = memref.load %t[%zero, %zero] : memref<256x256xf32>
  memref.store %first, %t[%zero, %zero] : memref<256x256xf32>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%t : memref<256x256xf32>) outs(%y : memref<256x256xf32>) {
  ^bb0(%in0: f32, %o: f32):
    %0 = arith.mulf %in0, %in0 : f32
    linalg.yield %0 : f32
  }
  memref.dealloc %t : memref<256x256xf32>
  return
}

// Halves of the channels: the second operation writes the inside of a padded buffer, and the third
// one, a sum over windows, reads all of it. Half of the rows of an image: a window reads rows of the
// other half.
#image = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#window = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1 + d3, d2 + d4)>
#taps = affine_map<(d0, d1, d2, d3, d4) -> (d3, d4)>
#out = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>
// CHECK-LABEL: func.func @channels(
// CHECK:           linalg.yield %in
// CHECK:           arith.negf
// CHECK:           arith.maximumf
// CHECK:         {unmess.parts}
// CHECK-NOT:     {unmess.parts}
func.func @channels(%x: memref<16x64x64xf32>, %w: memref<3x3xf32>, %y: memref<16x64x64xf32>) {
  %p = memref.alloc() : memref<16x66x66xf32>
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> ()>, #image], iterator_types = ["parallel", "parallel", "parallel"]} ins(%zero : f32) outs(%p : memref<16x66x66xf32>) {
  ^bb0(%in: f32, %o: f32):
    linalg.yield %in : f32
  }
  %inside = memref.subview %p[0, 1, 1] [16, 64, 64] [1, 1, 1] : memref<16x66x66xf32> to memref<16x64x64xf32, strided<[4356, 66, 1], offset: 67>>
  linalg.generic {indexing_maps = [#image, #image], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : memref<16x64x64xf32>) outs(%inside : memref<16x64x64xf32, strided<[4356, 66, 1], offset: 67>>) {
  ^bb0(%in0: f32, %o: f32):
    %0 = arith.negf %in0 : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#window, #taps, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%p, %w : memref<16x66x66xf32>, memref<3x3xf32>) outs(%y : memref<16x64x64xf32>) {
  ^bb0(%in: f32, %tap: f32, %o: f32):
    %0 = arith.maximumf %in, %o : f32
    linalg.yield %0 : f32
  }
  memref.dealloc %p : memref<16x66x66xf32>
  return
}

// CHECK-LABEL: func.func @rows(
// CHECK:           arith.negf
// CHECK:         {unmess.parts}
// CHECK:           arith.maximumf
// CHECK:         {unmess.parts}
func.func @rows(%x: memref<1x256x256xf32>, %w: memref<3x3xf32>, %y: memref<1x256x256xf32>) {
  %p = memref.alloc() : memref<1x258x258xf32>
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> ()>, #image], iterator_types = ["parallel", "parallel", "parallel"]} ins(%zero : f32) outs(%p : memref<1x258x258xf32>) {
  ^bb0(%in: f32, %o: f32):
    linalg.yield %in : f32
  }
  %inside = memref.subview %p[0, 1, 1] [1, 256, 256] [1, 1, 1] : memref<1x258x258xf32> to memref<1x256x256xf32, strided<[66564, 258, 1], offset: 259>>
  linalg.generic {indexing_maps = [#image, #image], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : memref<1x256x256xf32>) outs(%inside : memref<1x256x256xf32, strided<[66564, 258, 1], offset: 259>>) {
  ^bb0(%in0: f32, %o: f32):
    %0 = arith.negf %in0 : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#window, #taps, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%p, %w : memref<1x258x258xf32>, memref<3x3xf32>) outs(%y : memref<1x256x256xf32>) {
  ^bb0(%in: f32, %tap: f32, %o: f32):
    %0 = arith.maximumf %in, %o : f32
    linalg.yield %0 : f32
  }
  memref.dealloc %p : memref<1x258x258xf32>
  return
}

// Not merged: all of the temporaries would be alive at once. The first axis is not that of the parts,
// so they stay in front of the loop.
// CHECK-LABEL: func.func @large(
// CHECK:           arith.addf
// CHECK:         {unmess.parts}
// CHECK:           arith.mulf
// CHECK:         {unmess.parts}
func.func @large(%x: memref<1x2048x1024xf32>, %y: memref<1x2048x1024xf32>) {
  %t = memref.alloc() : memref<1x2048x1024xf32>
  %u = memref.alloc() : memref<1x2048x1024xf32>
  linalg.generic {indexing_maps = [#image, #image], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : memref<1x2048x1024xf32>) outs(%t : memref<1x2048x1024xf32>) {
  ^bb0(%in0: f32, %o: f32):
    %0 = arith.addf %in0, %in0 : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#image, #image], iterator_types = ["parallel", "parallel", "parallel"]} ins(%t : memref<1x2048x1024xf32>) outs(%u : memref<1x2048x1024xf32>) {
  ^bb0(%in0: f32, %o: f32):
    %0 = arith.mulf %in0, %in0 : f32
    linalg.yield %0 : f32
  }
  memref.dealloc %t : memref<1x2048x1024xf32>
  memref.dealloc %u : memref<1x2048x1024xf32>
  return
}
