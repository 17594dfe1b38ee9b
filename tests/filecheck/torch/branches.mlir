// RUN: unmess-opt --pipeline tosa-control-flow %s | filecheck %s --check-prefix TOSA
// RUN: unmess-opt --pipeline stablehlo-control-flow %s | filecheck %s --check-prefix STABLEHLO

// A branch becomes the output dialect's, with a tensor as condition. Regions of TOSA take the tensors
// from outside as arguments; constants are copied into them. A branch on a number stays.

// TOSA-LABEL: func.func @nested(
// TOSA:         %[[C:.*]] = torch_c.to_builtin_tensor %arg0
// TOSA-NOT:     torch.aten.Bool.Tensor
// TOSA:         tosa.cond_if %[[C]] (%[[A:.*]] = %{{.*}}, %{{.*}} = %{{.*}}) : tensor<i1> (tensor<{{.*}}>, tensor<{{.*}}>) -> tensor<2xf32>
// TOSA:         ^bb0
// TOSA:           tosa.cond_if
// TOSA:             torch.aten.neg
// TOSA:             tosa.yield
// TOSA:           } else {
// TOSA:             torch.aten.sin
// TOSA:             tosa.yield
// TOSA:         } else {
// TOSA:           torch.constant.int 1
// TOSA:           torch.aten.add.Scalar
// TOSA:         torch_c.from_builtin_tensor

// STABLEHLO-LABEL: func.func @nested(
// STABLEHLO-NOT:     torch.aten.Bool.Tensor
// STABLEHLO:         "stablehlo.if"(%{{.*}}) ({
// STABLEHLO:           "stablehlo.if"
// STABLEHLO:             torch.aten.neg %arg1
// STABLEHLO:             stablehlo.return
// STABLEHLO:           }, {
// STABLEHLO:             torch.aten.sin %arg1
// STABLEHLO:             stablehlo.return
// STABLEHLO:         }, {
// STABLEHLO:           torch.aten.add.Scalar %arg1
// STABLEHLO:           stablehlo.return
// STABLEHLO:         }) : (tensor<i1>) -> tensor<2xf32>
func.func @nested(%c: !torch.vtensor<[],i1>, %x: !torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32> {
  %one = torch.constant.int 1
  %0 = torch.aten.Bool.Tensor %c : !torch.vtensor<[],i1> -> !torch.bool
  %1 = torch.prim.If %0 -> (!torch.vtensor<[2],f32>) {
    %not = torch.aten.logical_not %c : !torch.vtensor<[],i1> -> !torch.vtensor<[],i1>
    %2 = torch.aten.Bool.Tensor %not : !torch.vtensor<[],i1> -> !torch.bool
    %3 = torch.prim.If %2 -> (!torch.vtensor<[2],f32>) {
      %4 = torch.aten.neg %x : !torch.vtensor<[2],f32> -> !torch.vtensor<[2],f32>
      torch.prim.If.yield %4 : !torch.vtensor<[2],f32>
    } else {
      %4 = torch.aten.sin %x : !torch.vtensor<[2],f32> -> !torch.vtensor<[2],f32>
      torch.prim.If.yield %4 : !torch.vtensor<[2],f32>
    }
    torch.prim.If.yield %3 : !torch.vtensor<[2],f32>
  } else {
    %3 = torch.aten.add.Scalar %x, %one, %one : !torch.vtensor<[2],f32>, !torch.int, !torch.int -> !torch.vtensor<[2],f32>
    torch.prim.If.yield %3 : !torch.vtensor<[2],f32>
  }
  return %1 : !torch.vtensor<[2],f32>
}

// TOSA-LABEL: func.func @on_a_number(
// TOSA:         torch.prim.If %arg0

// STABLEHLO-LABEL: func.func @on_a_number(
// STABLEHLO:         torch.prim.If %arg0
func.func @on_a_number(%c: !torch.bool, %x: !torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32> {
  %0 = torch.prim.If %c -> (!torch.vtensor<[2],f32>) {
    torch.prim.If.yield %x : !torch.vtensor<[2],f32>
  } else {
    %1 = torch.aten.neg %x : !torch.vtensor<[2],f32> -> !torch.vtensor<[2],f32>
    torch.prim.If.yield %1 : !torch.vtensor<[2],f32>
  }
  return %0 : !torch.vtensor<[2],f32>
}
