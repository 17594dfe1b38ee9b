// RUN: unmess-opt --pipeline upstream %s | mlir-opt | filecheck %s

// 16-bit floats are summed in f32. A row that the mask excludes completely is not divided by 0.
// CHECK-LABEL: func.func @main
// CHECK:         %[[SIZE:.*]] = tensor.dim
// CHECK:         linalg.generic {{.*}}"reduction"]} ins(%{{.*}} : tensor<6x4x8xf16>, tensor<6x?x8xf16>) outs(%{{.*}} : tensor<6x4x?xf32>)
// CHECK:         arith.mulf %out, %[[SCALE:.*]] : f32
// CHECK:         arith.addf %out, %{{.*}} : f32
// CHECK:         arith.maximumf
// CHECK:         %[[EXCLUDED:.*]] = arith.cmpf oeq, %in, %[[LOWEST:.*]] : f32
// CHECK-NEXT:    %[[SHIFT:.*]] = arith.select %[[EXCLUDED]], %[[ZERO:.*]], %in
// CHECK-NEXT:    %[[SHIFTED:.*]] = arith.subf %out, %[[SHIFT]]
// CHECK-NEXT:    math.exp %[[SHIFTED]]
// CHECK:         %[[NONE:.*]] = arith.cmpf oeq, %in, %[[ZERO]]
// CHECK-NEXT:    %[[DIVISOR:.*]] = arith.select %[[NONE]]
// CHECK-NEXT:    arith.divf %out, %[[DIVISOR]]
// CHECK:         linalg.generic {{.*}}"reduction"]} ins(%{{.*}} : tensor<6x4x?xf32>, tensor<6x?x2xf16>)
// CHECK:         arith.truncf
func.func @main(%q: tensor<6x4x8xf16>, %k: tensor<6x?x8xf16>, %v: tensor<6x?x2xf16>, %m: tensor<6x4x?xf16>, %o: tensor<6x4x2xf16>) -> tensor<6x4x2xf16> {
  %0 = tm_tensor.attention ins(%q, %k, %v, %m : tensor<6x4x8xf16>, tensor<6x?x8xf16>, tensor<6x?x2xf16>, tensor<6x4x?xf16>) outs(%o : tensor<6x4x2xf16>) -> tensor<6x4x2xf16>
  return %0 : tensor<6x4x2xf16>
}
