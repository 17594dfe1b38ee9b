// RUN: unmess-opt --pipeline reference-prepare --pipeline reference-unaliased %s | filecheck %s

// The result of a tm_tensor operation has its own buffer, marked `restrict` for bufferization.

// CHECK-LABEL: func.func @main
// CHECK:         %[[RESULT:.*]] = memref.alloc() : memref<4xi64>
// CHECK:         bufferization.to_tensor %[[RESULT]] restrict
// CHECK:         tm_tensor.scan {{.*}} outs(%[[RESULT]],
func.func @main(%x: tensor<4xi64>, %init: tensor<4xi64>, %acc: tensor<i64>) -> tensor<4xi64> {
  %0:2 = tm_tensor.scan dimension(0) inclusive(true) ins(%x : tensor<4xi64>) outs(%init, %acc : tensor<4xi64>, tensor<i64>) {
  ^bb0(%a: i64, %b: i64):
    %s = arith.addi %a, %b : i64
    tm_tensor.yield %s : i64
  } -> tensor<4xi64>, tensor<i64>
  return %0#0 : tensor<4xi64>
}
