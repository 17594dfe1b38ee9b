// RUN: unmess-opt --pipeline tosa-strict-sizes %s | filecheck %s

// The sizes are equal, so the operand need not be copied, and either of them is the larger one.
// CHECK-LABEL: func.func @add(
// CHECK-NOT:     unmess.strict_sizes
// CHECK-NOT:     arith.maxui
// CHECK-NOT:     scf.if
// CHECK:         %[[SIZE:.*]] = tensor.dim %arg0
// CHECK:         tensor.empty(%[[SIZE]])
// CHECK:         linalg.generic {{.*}} ins(%arg0, %arg1 :
// The same in a function without the mark does not change.
// CHECK-LABEL: func.func @unknown(
// CHECK:         arith.maxui
// CHECK:         scf.if
#rows = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (0, d1)>
func.func @add(%x: tensor<?x3xf32>, %y: tensor<?x3xf32>) -> tensor<?x3xf32> attributes {unmess.strict_sizes} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %n = tensor.dim %x, %0 : tensor<?x3xf32>
  %m = tensor.dim %y, %0 : tensor<?x3xf32>
  %size = arith.maxui %n, %m : index
  %one = arith.cmpi eq, %n, %1 : index
  %wide = scf.if %one -> tensor<?x3xf32> {
    %e = tensor.empty(%size) : tensor<?x3xf32>
    %copy = linalg.generic {indexing_maps = [#row, #rows], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x3xf32>) outs(%e : tensor<?x3xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<?x3xf32>
    scf.yield %copy : tensor<?x3xf32>
  } else {
    scf.yield %x : tensor<?x3xf32>
  }
  %e = tensor.empty(%size) : tensor<?x3xf32>
  %sum = linalg.generic {indexing_maps = [#rows, #rows, #rows], iterator_types = ["parallel", "parallel"]} ins(%wide, %y : tensor<?x3xf32>, tensor<?x3xf32>) outs(%e : tensor<?x3xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<?x3xf32>
  return %sum : tensor<?x3xf32>
}
func.func @unknown(%x: tensor<?x3xf32>, %m: index) -> tensor<?x3xf32> {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %n = tensor.dim %x, %0 : tensor<?x3xf32>
  %size = arith.maxui %n, %m : index
  %one = arith.cmpi eq, %n, %1 : index
  %wide = scf.if %one -> tensor<?x3xf32> {
    %e = tensor.empty(%size) : tensor<?x3xf32>
    %copy = linalg.generic {indexing_maps = [#row, #rows], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x3xf32>) outs(%e : tensor<?x3xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<?x3xf32>
    scf.yield %copy : tensor<?x3xf32>
  } else {
    scf.yield %x : tensor<?x3xf32>
  }
  return %wide : tensor<?x3xf32>
}

// A branch of the program stays: it is on a value, and does not copy.
// CHECK-LABEL: func.func @branch(
// CHECK:         scf.if
func.func @branch(%x: tensor<?x3xf32>, %p: i1) -> tensor<?x3xf32> attributes {unmess.strict_sizes} {
  %0 = arith.constant 0 : index
  %n = tensor.dim %x, %0 : tensor<?x3xf32>
  %r = scf.if %p -> tensor<?x3xf32> {
    %e = tensor.empty(%n) : tensor<?x3xf32>
    %half = linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x3xf32>) outs(%e : tensor<?x3xf32>) {
    ^bb0(%in: f32, %out: f32):
      %s = arith.addf %in, %in : f32
      linalg.yield %s : f32
    } -> tensor<?x3xf32>
    scf.yield %half : tensor<?x3xf32>
  } else {
    scf.yield %x : tensor<?x3xf32>
  }
  return %r : tensor<?x3xf32>
}
