// RUN: unmess-opt --pipeline linalg %s | filecheck %s

// The product of two dequantized operands is computed in integers, and scaled afterwards.

// CHECK-LABEL: func.func @main(%arg0: tensor<2x4xi8>, %arg1: tensor<4x2xi8>) -> tensor<2x2xf32>
// CHECK:         %[[SCALE:.*]] = arith.constant 2.500000e-01
// CHECK:         linalg.quantized_matmul ins(%arg0, %arg1, %c3{{.*}}, %c3{{.*}} : {{.*}}) outs({{.*}} : tensor<2x2xi32>)
// CHECK:         arith.mulf %{{.*}}, %[[SCALE]]
func.func @main(%x: !torch.vtensor<[2,4],si8>, %y: !torch.vtensor<[4,2],si8>) -> !torch.vtensor<[2,2],f32> {
  %zero = torch.constant.int 3
  %scale = torch.constant.float 5.000000e-01
  %0 = torch.aten._make_per_tensor_quantized_tensor %x, %scale, %zero : !torch.vtensor<[2,4],si8>, !torch.float, !torch.int -> !torch.vtensor<[2,4],!torch.qint8>
  %1 = torch.aten.dequantize.tensor %0 : !torch.vtensor<[2,4],!torch.qint8> -> !torch.vtensor<[2,4],f32>
  %2 = torch.aten._make_per_tensor_quantized_tensor %y, %scale, %zero : !torch.vtensor<[4,2],si8>, !torch.float, !torch.int -> !torch.vtensor<[4,2],!torch.qint8>
  %3 = torch.aten.dequantize.tensor %2 : !torch.vtensor<[4,2],!torch.qint8> -> !torch.vtensor<[4,2],f32>
  %4 = torch.aten.mm %1, %3 : !torch.vtensor<[2,4],f32>, !torch.vtensor<[4,2],f32> -> !torch.vtensor<[2,2],f32>
  return %4 : !torch.vtensor<[2,2],f32>
}
