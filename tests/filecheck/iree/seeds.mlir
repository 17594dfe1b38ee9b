// RUN: unmess-opt --pipeline iree-seeds-as-numbers %s | filecheck %s

// CHECK:       ml_program.global private mutable @global_seed(0 : i64) : i64
// CHECK:       ml_program.global private mutable @read(dense<0> : tensor<i64>) : tensor<i64>
ml_program.global private mutable @global_seed(dense<0> : tensor<i64>) : tensor<i64>
ml_program.global private mutable @read(dense<0> : tensor<i64>) : tensor<i64>

// CHECK-LABEL: func.func @main
// CHECK:         %[[SEED:.*]] = ml_program.global_load @global_seed : i64
// CHECK-NEXT:    %[[NEXT:.*]] = arith.muli %[[SEED]], %{{.*}} : i64
// CHECK-NEXT:    ml_program.global_store @global_seed = %[[NEXT]] : i64
// CHECK-NEXT:    return %[[NEXT]] : i64
func.func @main(%x: i64) -> i64 {
  %seed = ml_program.global_load @global_seed : tensor<i64>
  %number = tensor.extract %seed[] : tensor<i64>
  %next = arith.muli %number, %x : i64
  %tensor = tensor.insert %next into %seed[] : tensor<i64>
  ml_program.global_store @global_seed = %tensor : tensor<i64>
  return %next : i64
}

// The tensor itself is used.
// CHECK-LABEL: func.func @others
// CHECK:         ml_program.global_load @read : tensor<i64>
// CHECK:         ml_program.global_store @read = %{{.*}} : tensor<i64>
func.func @others(%x: i64) -> tensor<i64> {
  %before = ml_program.global_load @read : tensor<i64>
  %tensor = tensor.insert %x into %before[] : tensor<i64>
  ml_program.global_store @read = %tensor : tensor<i64>
  return %tensor : tensor<i64>
}
