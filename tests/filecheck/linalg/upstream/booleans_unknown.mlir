// RUN: not unmess-opt --pipeline upstream-booleans %s 2>&1 | filecheck %s

// CHECK:      linalg: cannot store the booleans of arith.cmpi in bytes
// CHECK-NEXT:   at: model.py:7
func.func @main(%x: tensor<4xi64>) -> tensor<4xi1> {
  %0 = arith.cmpi slt, %x, %x : tensor<4xi64> loc("model.py":7:0)
  return %0 : tensor<4xi1>
}
