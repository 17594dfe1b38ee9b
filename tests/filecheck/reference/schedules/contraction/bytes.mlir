// RUN: unmess-opt --pipeline reference-outline --pipeline reference-vectorize-avx512-vnni %s | filecheck %s --check-prefixes CHECK,WIDE
// RUN: unmess-opt --pipeline reference-outline --pipeline reference-vectorize-avx2-vnni %s | filecheck %s --check-prefix CHECK
// RUN: unmess-opt --pipeline reference-outline --pipeline reference-vectorize-avx512 %s | filecheck %s --check-prefix PLAIN

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#t = affine_map<(m, n, k) -> (n, k)>
#s = affine_map<(m, n, k) -> ()>
#c = affine_map<(m, n, k) -> (m, n)>
#image = affine_map<(n, o, h, i, y, x, w) -> (n, i, h + y, w * 2 + x)>
#weight = affine_map<(n, o, h, i, y, x, w) -> (o, i, y, x)>
#none = affine_map<(n, o, h, i, y, x, w) -> ()>
#out = affine_map<(n, o, h, i, y, x, w) -> (n, o, h, w)>

// Processors without the instruction keep plain loops.
// PLAIN-NOT:   vector

// Four rows of the right operand are interleaved in a panel, plus 128 (an exclusive or with the
// sign). 6 is no multiple of 4: the last row of the panel has two rows and zeros. The zero points are
// 0 and -128, so there are no terms for rows and columns.
// CHECK-LABEL: func.func private @linalg_generic_0(
// CHECK:         %[[ZEROS:.*]] = arith.constant dense<0> : vector<{{16|8}}xi8>
// WIDE:          %[[PANEL:.*]] = memref.alloc() {{.*}} : memref<2x64xi8>
// CHECK:         arith.xori
// CHECK:         vector.shuffle %[[ZEROS]], %[[ZEROS]]
// CHECK:         arith.xori
// WIDE:          %[[RIGHT:.*]] = vector.load %[[PANEL]]
// WIDE:          llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"(%{{.*}}, %[[RIGHT]], %{{.*}}) : (vector<16xi32>, vector<64xi8>, vector<64xi8>) -> vector<16xi32>
// The last two bytes of each row are loaded one by one: four bytes may exceed the operand.
// CHECK-COUNT-8: memref.load %arg0
// CHECK:         llvm.call_intrinsic
// CHECK-NOT:     arith.subi
// CHECK:         return

// A matrix that is contiguous along the sum is transposed in squares, four bytes at a time. A row has
// the sum of its bytes times 128 + 3 as a term, and a column that of the panel times 5.
// CHECK-LABEL: func.func private @linalg_generic_1(
// CHECK-DAG:     %[[ONES:.*]] = arith.constant dense<1> : vector<{{64|32}}xi8>
// CHECK-DAG:     %[[OF_ROWS:.*]] = arith.constant dense<131> :
// CHECK-DAG:     %[[OF_COLUMNS:.*]] = arith.constant dense<5> :
// CHECK:         vector.bitcast {{.*}} to vector<{{16|8}}xi32>
// CHECK:         vector.shuffle {{.*}} : vector<{{16|8}}xi32>
// CHECK:         vector.reduction <add>
// CHECK:         arith.muli %{{.*}}, %[[OF_ROWS]]
// CHECK:         arith.muli %{{.*}}, %[[OF_COLUMNS]]

// Every other byte of a row is taken from two loads.
// CHECK-LABEL: func.func private @linalg_generic_2(
// WIDE:          vector.maskedload %arg0
// WIDE:          vector.maskedload %arg0
// WIDE:          vector.shuffle {{.*}} [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30] : vector<16xi8>
// CHECK:         llvm.call_intrinsic

// Unsigned bytes, and sums of few rows, keep plain loops.
// CHECK-LABEL: func.func private @linalg_generic_3(
// CHECK-NOT:     call_intrinsic
// CHECK-LABEL: func.func private @linalg_generic_4(
// CHECK-NOT:     call_intrinsic
func.func @main(%a: memref<4x6xi8>, %b: memref<6x9xi8>, %c: memref<4x9xi32>,
                %d: memref<4x64xi8>, %e: memref<16x64xi8>, %f: memref<4x16xi32>,
                %image: memref<1x4x6x40xi8>, %weight: memref<5x4x2x3xi8>, %result: memref<1x5x5x16xi32>,
                %g: memref<2x6xi8>, %h: memref<2x9xi32>) {
  %zero = arith.constant 0 : i32
  %least = arith.constant -128 : i32
  %three = arith.constant 3 : i32
  %five = arith.constant 5 : i32
  linalg.generic {indexing_maps = [#a, #b, #s, #s, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b, %zero, %least : memref<4x6xi8>, memref<6x9xi8>, i32, i32) outs(%c : memref<4x9xi32>) {
  ^bb0(%x: i8, %y: i8, %p: i32, %q: i32, %z: i32):
    %0 = arith.extsi %x : i8 to i32
    %1 = arith.subi %0, %p : i32
    %2 = arith.extsi %y : i8 to i32
    %3 = arith.subi %2, %q : i32
    %4 = arith.muli %1, %3 : i32
    %5 = arith.addi %z, %4 : i32
    linalg.yield %5 : i32
  }
  linalg.generic {indexing_maps = [#a, #t, #s, #s, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%d, %e, %five, %three : memref<4x64xi8>, memref<16x64xi8>, i32, i32) outs(%f : memref<4x16xi32>) {
  ^bb0(%x: i8, %y: i8, %p: i32, %q: i32, %z: i32):
    %0 = arith.extsi %x : i8 to i32
    %1 = arith.subi %0, %p : i32
    %2 = arith.extsi %y : i8 to i32
    %3 = arith.subi %2, %q : i32
    %4 = arith.muli %1, %3 : i32
    %5 = arith.addi %z, %4 : i32
    linalg.yield %5 : i32
  }
  linalg.generic {indexing_maps = [#image, #weight, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "parallel"]} ins(%image, %weight : memref<1x4x6x40xi8>, memref<5x4x2x3xi8>) outs(%result : memref<1x5x5x16xi32>) {
  ^bb0(%x: i8, %y: i8, %z: i32):
    %0 = arith.extsi %x : i8 to i32
    %1 = arith.extsi %y : i8 to i32
    %2 = arith.muli %0, %1 : i32
    %3 = arith.addi %2, %z : i32
    linalg.yield %3 : i32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<4x6xi8>, memref<6x9xi8>) outs(%c : memref<4x9xi32>) {
  ^bb0(%x: i8, %y: i8, %z: i32):
    %0 = arith.extui %x : i8 to i32
    %1 = arith.extsi %y : i8 to i32
    %2 = arith.muli %0, %1 : i32
    %3 = arith.addi %z, %2 : i32
    linalg.yield %3 : i32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%g, %b : memref<2x6xi8>, memref<6x9xi8>) outs(%h : memref<2x9xi32>) {
  ^bb0(%x: i8, %y: i8, %z: i32):
    %0 = arith.extsi %x : i8 to i32
    %1 = arith.extsi %y : i8 to i32
    %2 = arith.muli %0, %1 : i32
    %3 = arith.addi %z, %2 : i32
    linalg.yield %3 : i32
  }
  return
}
