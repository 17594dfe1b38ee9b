// RUN: unmess-opt --pipeline check-sizes %s | filecheck %s

// Sizes of arguments need no check.
// CHECK-LABEL: func.func @known
// CHECK-NOT:     cf.assert
func.func @known(%x: tensor<?xf32>) -> tensor<?x4xf32> {
  %zero = arith.constant 0 : index
  %size = tensor.dim %x, %zero : tensor<?xf32>
  %0 = tensor.empty(%size) : tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// An element of f32 x 4 has 2**4 bytes, and the limit is 2**47 bytes.
// CHECK-LABEL: func.func @one
// CHECK:         %[[N:.*]] = arith.index_cast
// CHECK:         %[[MOST:.*]] = arith.constant 8796093022208 : index
// CHECK:         %[[FITS:.*]] = arith.cmpi ule, %[[N]], %[[MOST]] : index
// CHECK-NEXT:    cf.assert %[[FITS]], "a size is negative or too large for any memory"
// CHECK:         tensor.empty(%[[N]])
func.func @one(%n: tensor<i64>) -> tensor<?x4xf32> {
  %count = tensor.extract %n[] : tensor<i64>
  %size = arith.index_cast %count : i64 to index
  %0 = tensor.empty(%size) : tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// Each size is compared with what the sizes before it leave.
// CHECK-LABEL: func.func @two
// CHECK:         %[[MOST:.*]] = arith.constant 140737488355328 : index
// CHECK:         arith.cmpi ule, %[[N:.*]], %[[MOST]] : index
// CHECK:         cf.assert
// CHECK:         %[[DIVISOR:.*]] = arith.maxui %[[N]]
// CHECK:         %[[REST:.*]] = arith.divui %[[MOST]], %[[DIVISOR]]
// CHECK:         arith.cmpi ule, %{{.*}}, %[[REST]] : index
// CHECK:         cf.assert
// CHECK:         tensor.empty
func.func @two(%x: tensor<?xf32>, %n: tensor<i64>) -> tensor<?x?xi8> {
  %zero = arith.constant 0 : index
  %first = tensor.dim %x, %zero : tensor<?xf32>
  %count = tensor.extract %n[] : tensor<i64>
  %size = arith.index_cast %count : i64 to index
  %0 = tensor.empty(%size, %first) : tensor<?x?xi8>
  return %0 : tensor<?x?xi8>
}

// A tensor without elements has no bytes.
// CHECK-LABEL: func.func @none
// CHECK-NOT:     cf.assert
func.func @none(%n: tensor<i64>) -> tensor<?x0xf32> {
  %count = tensor.extract %n[] : tensor<i64>
  %size = arith.index_cast %count : i64 to index
  %0 = tensor.empty(%size) : tensor<?x0xf32>
  return %0 : tensor<?x0xf32>
}
