// RUN: unmess-opt --pipeline stablehlo %s | filecheck %s
// RUN: unmess-opt --pipeline stablehlo --pipeline stablehlo-to-linalg %s | filecheck %s --check-prefix SEED

// In StableHLO, the consumer chooses the seed. In the lowered IR, the seed is a global that each
// draw updates.

// CHECK-LABEL: func.func @main(
// CHECK:         stablehlo.rng %{{.*}}, distribution = UNIFORM : {{.*}} -> tensor<2x3xf32>
// CHECK:         stablehlo.rng %{{.*}}, distribution = UNIFORM : {{.*}} -> tensor<2x3xf16>

// SEED:        ml_program.global private mutable @[[SEED:.*]](dense<0> : tensor<i64>)
// SEED:        func.func @main(
// SEED-NOT:      {{stablehlo.rng|torch}}
// SEED:          ml_program.global_load @[[SEED]]
// SEED:          ml_program.global_store @[[SEED]]
// SEED:          arith.truncf %{{.*}} : f64 to f32
// SEED:          ml_program.global_load @[[SEED]]
// SEED:          ml_program.global_store @[[SEED]]
// SEED:          arith.truncf %{{.*}} : f64 to f16
// SEED-NOT:      {{stablehlo.rng|torch}}
func.func @main(%x: !torch.vtensor<[2,3],f32>, %y: !torch.vtensor<[2,3],f16>) -> (!torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f16>) {
  %low = torch.constant.float -2.0
  %high = torch.constant.float 5.0
  %none = torch.constant.none
  %r = torch.aten.uniform %x, %low, %high, %none : !torch.vtensor<[2,3],f32>, !torch.float, !torch.float, !torch.none -> !torch.vtensor<[2,3],f32>
  %s = torch.aten.uniform %y, %low, %high, %none : !torch.vtensor<[2,3],f16>, !torch.float, !torch.float, !torch.none -> !torch.vtensor<[2,3],f16>
  return %r, %s : !torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f16>
}
