// RUN: unmess-opt --pipeline stablehlo-to-linalg %s | filecheck %s

// arith has no unsigned types. Signatures become signless, and operations stay unsigned.

// CHECK-LABEL: func.func @main(%arg0: tensor<4xi8>, %arg1: tensor<4xi8>) -> (tensor<4xi8>, tensor<4xi1>, tensor<4xf32>)
// CHECK-NOT:     unrealized_conversion_cast
// CHECK:         arith.maxui
// CHECK:         arith.cmpi ult
// CHECK:         arith.uitofp
func.func @main(%x: tensor<4xui8>, %y: tensor<4xui8>) -> (tensor<4xui8>, tensor<4xi1>, tensor<4xf32>) {
  %0 = stablehlo.maximum %x, %y : tensor<4xui8>
  %1 = stablehlo.compare LT, %x, %y, UNSIGNED : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xi1>
  %2 = stablehlo.convert %0 : (tensor<4xui8>) -> tensor<4xf32>
  return %0, %1, %2 : tensor<4xui8>, tensor<4xi1>, tensor<4xf32>
}
